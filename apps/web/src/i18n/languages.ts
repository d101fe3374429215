export const languages = ['en', 'uk'] as const;
export type Language = (typeof languages)[number];

const isLanguage = (value: string): value is Language => (languages as readonly string[]).includes(value);

/** The language a reader most likely wants: the remembered one, else the first of the browser's that is spoken here. */
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
