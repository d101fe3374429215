import { createInstance, type i18n as I18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Memory } from '../api/memory.ts';
import { type Language, preferredLanguage } from './languages.ts';
import { loadMoreTexts } from './more-texts.ts';

/** Each language is a chunk of its own; only the reader's is fetched. */
const texts: Record<Language, () => Promise<object>> = {
  en: async () => (await import('./en.ts')).en,
  uk: async () => (await import('./uk.ts')).uk,
};

export async function createI18n(memory: Memory, browser: readonly string[]): Promise<I18n> {
  const language = preferredLanguage(memory.get('language'), browser);
  const i18n = createInstance();
  await i18n.use(initReactI18next).init({
    lng: language,
    resources: { [language]: { translation: await texts[language]() } },
    // Both files have the same keys (a test proves it), so there is nothing to fall back to.
    fallbackLng: false,
    interpolation: { escapeValue: false },
    react: { useSuspense: false },
  });
  document.documentElement.lang = language;
  return i18n;
}

export async function speak(i18n: I18n, memory: Memory, language: Language): Promise<void> {
  if (!i18n.hasResourceBundle(language, 'translation')) {
    i18n.addResourceBundle(language, 'translation', await texts[language]());
  }
  await loadMoreTexts(language);
  await i18n.changeLanguage(language);
  memory.set('language', language);
  document.documentElement.lang = language;
}
