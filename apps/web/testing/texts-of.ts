import type { conditionTitle } from '@station/protocol/condition-titles-en';
import type { Language } from '@station/protocol/languages';
import type { AreaTexts } from '../src/i18n/areas.ts';
import { loadTexts } from '../src/i18n/languages.ts';

type AllTexts = AreaTexts & { conditionTitle: typeof conditionTitle };

/** All texts of a language. */
export async function textsOf(language: Language): Promise<AllTexts> {
  const first = await loadTexts(language, 'first');
  return { ...first, ...(await loadTexts(language, 'later')) } as AllTexts;
}
