import { getI18n } from 'react-i18next';
import type { Language } from './languages.ts';

/** Texts of pages that are not needed for the first one: they come beside those pages, each language as a chunk of its own. */
const texts: Record<Language, () => Promise<object>> = {
  en: async () => (await import('./more-en.ts')).moreEn,
  uk: async () => (await import('./more-uk.ts')).moreUk,
};

/** A key that only these texts have. */
const mark = 'members';

/** Adds them for a language, once; a page that uses them is shown after that. */
export async function loadMoreTexts(language?: Language): Promise<void> {
  const i18n = getI18n();
  const wanted = language ?? (i18n.language as Language);
  if (i18n.getResource(wanted, 'translation', mark) !== undefined) return;
  i18n.addResourceBundle(wanted, 'translation', await texts[wanted](), true);
}
