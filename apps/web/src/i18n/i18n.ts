import { createInstance, type i18n as I18n } from 'i18next';
import { getI18n, initReactI18next, useTranslation } from 'react-i18next';
import type { Memory } from '../api/memory.ts';

/** Each language is a chunk of its own; only the reader's is fetched. */
const firstTexts: Record<Language, () => Promise<object>> = {
  en: async () => (await import('./en/first.ts')).first,
  uk: async () => (await import('./uk/first.ts')).first,
};

export async function createI18n(memory: Memory, browser: readonly string[]): Promise<I18n> {
  const language = preferredLanguage(memory.get('language'), browser);
  const i18n = createInstance();
  await i18n.use(initReactI18next).init({
    lng: language,
    resources: { [language]: { translation: await firstTexts[language]() } },
    // Both languages have the same keys (a test proves it), so there is nothing to fall back to.
    fallbackLng: false,
    interpolation: { escapeValue: false },
    react: { useSuspense: false },
  });
  document.documentElement.lang = language;
  return i18n;
}

export async function speak(i18n: I18n, memory: Memory, language: Language): Promise<void> {
  if (!i18n.hasResourceBundle(language, 'translation')) {
    i18n.addResourceBundle(language, 'translation', await firstTexts[language]());
  }
  await loadLaterTexts(language);
  await i18n.changeLanguage(language);
  memory.set('language', language);
  document.documentElement.lang = language;
}

/** Texts of later pages: they are fetched with those pages, each language as a chunk of its own. */
const laterTexts: Record<Language, () => Promise<object>> = {
  en: async () => (await import('./en/later.ts')).later,
  uk: async () => (await import('./uk/later.ts')).later,
};

/** A key that only these texts have. */
const laterKey = 'members';

/** Adds them for a language, once; a page that uses them is shown after that. */
export async function loadLaterTexts(language?: Language): Promise<void> {
  const i18n = getI18n();
  const wanted = language ?? (i18n.language as Language);
  if (i18n.getResource(wanted, 'translation', laterKey) !== undefined) return;
  i18n.addResourceBundle(wanted, 'translation', await laterTexts[wanted](), true);
}

/** The locale for numbers and dates of the reader. */
export function useLocale(): string {
  const { i18n } = useTranslation();
  return localeFor(preferredLanguage(i18n.language, []), navigator.languages);
}

export const languages = ['en', 'uk'] as const;
type Language = (typeof languages)[number];

const isLanguage = (value: string): value is Language => (languages as readonly string[]).includes(value);

/** The language a reader most likely wants: the remembered one, else the first of the browser's languages that the app has. */
export function preferredLanguage(remembered: string | null, browser: readonly string[]): Language {
  if (remembered !== null && isLanguage(remembered)) return remembered;
  for (const tag of browser) {
    const primary = tag.toLowerCase().split('-')[0] ?? '';
    if (isLanguage(primary)) return primary;
  }
  return 'en';
}

/**
 * The locale for numbers and dates: the browser's own variant of the language (en-US writes dates otherwise than en-GB),
 * or a plain one when the browser speaks another language.
 */
export const localeFor = (language: Language, browser: readonly string[]): string =>
  browser.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ?? (language === 'en' ? 'en-GB' : language);
