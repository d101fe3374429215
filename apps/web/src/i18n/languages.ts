import { isLanguage, type Language } from '@station/protocol/languages';

type Texts = { first: () => Promise<object>; later: () => Promise<object> };

/** Each is a chunk of its own: only the reader's language is fetched, and its later texts with the pages that use them. */
export const texts: Record<Language, Texts> = {
  de: {
    first: async () => (await import('./de/first.ts')).first,
    later: async () => (await import('./de/later.ts')).later,
  },
  en: {
    first: async () => (await import('./en/first.ts')).first,
    later: async () => (await import('./en/later.ts')).later,
  },
  pl: {
    first: async () => (await import('./pl/first.ts')).first,
    later: async () => (await import('./pl/later.ts')).later,
  },
  uk: {
    first: async () => (await import('./uk/first.ts')).first,
    later: async () => (await import('./uk/later.ts')).later,
  },
};

/** The language a reader most likely wants: the remembered one, else the first of the browser's languages that the app has. */
export function preferredLanguage(remembered: string | null, browser: readonly string[]): Language {
  if (remembered !== null && isLanguage(remembered)) return remembered;
  for (const tag of browser) {
    const primary = tag.toLowerCase().split('-')[0] ?? '';
    if (isLanguage(primary)) return primary;
  }
  return 'en';
}
