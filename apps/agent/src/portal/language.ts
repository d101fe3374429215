export const languages = ['en', 'uk'] as const;
export type Language = (typeof languages)[number];

const isLanguage = (text: string): text is Language => (languages as readonly string[]).includes(text);

/**
 * The language of the page.
 * @param chosen what the switch of the page has put into the address or the form; wins when it is one of ours.
 * @param accepted Accept-Language (RFC 9110, 12.5.4): the one with the highest weight that is ours, English without one.
 */
export function pickLanguage(chosen: string | null | undefined, accepted: string | null | undefined): Language {
  if (chosen && isLanguage(chosen)) return chosen;
  let best: { language: Language; weight: number } | null = null;
  for (const part of (accepted ?? '').split(',').slice(0, 50)) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const language = range === '*' ? 'en' : (range.split('-')[0] ?? '');
    const weight = weightOf(parameters);
    if (isLanguage(language) && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language ?? 'en';
}

function weightOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (text === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
