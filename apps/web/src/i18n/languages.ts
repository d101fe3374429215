import { isLanguage, type Language } from '@station/protocol/languages';
import { areas } from './areas.ts';

/** Names of conditions stand in the protocol: messages of the station have them too. */
const conditionTitles: Record<Language, () => Promise<object>> = {
  de: () => import('@station/protocol/condition-titles-de'),
  en: () => import('@station/protocol/condition-titles-en'),
  pl: () => import('@station/protocol/condition-titles-pl'),
  uk: () => import('@station/protocol/condition-titles-uk'),
};

/** Texts of a language by area. The build makes one chunk of what is loaded together (vite.config.ts). */
export async function loadTexts(language: Language, phase: keyof typeof areas): Promise<object> {
  const load = async (area: string): Promise<[area: string, texts: object]> => {
    const file = (await import(`./${language}/${area}.json`, { with: { type: 'json' } })) as { default: object };
    return [area, file.default];
  };
  const titles = phase === 'first' ? conditionTitles[language]() : null;
  const loaded = await Promise.all(areas[phase].map(load));
  return { ...Object.fromEntries(loaded), ...(await titles) };
}

/** The language a reader most likely wants: the remembered one, else the first of the browser's languages that the app has. */
export function preferredLanguage(remembered: string | null, browser: readonly string[]): Language {
  if (remembered !== null && isLanguage(remembered)) return remembered;
  for (const tag of browser) {
    const primary = tag.toLowerCase().split('-')[0] ?? '';
    if (isLanguage(primary)) return primary;
  }
  return 'en';
}
