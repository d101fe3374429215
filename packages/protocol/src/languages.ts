/** The languages of pages and messages, by their own names, in the order in which they are offered. */
export const languageNames = {
  de: 'Deutsch',
  en: 'English',
  pl: 'Polski',
  uk: 'Українська',
} as const;

export type Language = keyof typeof languageNames;
export const languages = Object.keys(languageNames) as Language[];

export const isLanguage = (text: string): text is Language => Object.hasOwn(languageNames, text);

/** English for one that only a newer release has. */
export const knownLanguage = (text: string): Language => (isLanguage(text) ? text : 'en');
