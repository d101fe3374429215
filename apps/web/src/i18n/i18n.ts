import { useTranslation } from 'react-i18next';
import type { Language } from '@station/protocol/languages';
import type { Memory } from '../api/memory.ts';
import { loadTexts, preferredLanguage } from './languages.ts';
import { createTranslation, type Translation } from './translation.ts';

/** The one translation of the page: texts are also loaded where there is no component. */
let current: Translation | null = null;

export async function createI18n(memory: Memory, browser: readonly string[]): Promise<Translation> {
  const language = preferredLanguage(memory.get('language'), browser);
  const translation = createTranslation(language);
  translation.add(language, await loadTexts(language, 'first'));
  document.documentElement.lang = language;
  current = translation;
  return translation;
}

/** Shows the page in another language from now on. */
export async function speak(memory: Memory, language: Language): Promise<void> {
  if (current === null) return;
  if (!current.has(language)) current.add(language, await loadTexts(language, 'first'));
  await loadLaterTexts(language);
  current.change(language);
  memory.set('language', language);
  document.documentElement.lang = language;
}

/** A key that only these texts have. */
const laterKey = 'members';

/** Adds the later texts of a language, once; a page that uses them is shown after that. */
export async function loadLaterTexts(language = current?.language as Language | undefined): Promise<void> {
  if (current === null || language === undefined || current.has(language, laterKey)) return;
  current.add(language, await loadTexts(language, 'later'));
}

/** The locale for numbers and dates of the reader. */
export function useLocale(): string {
  const { i18n } = useTranslation();
  return localeFor(preferredLanguage(i18n.language, []), navigator.languages);
}

/**
 * The locale for numbers and dates: the browser's own variant of the language (en-US writes dates otherwise than en-GB),
 * or a plain one when the browser speaks another language.
 */
export const localeFor = (language: Language, browser: readonly string[]): string =>
  browser.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ?? (language === 'en' ? 'en-GB' : language);
