import type { Language } from '@station/protocol/languages';
import type { first } from '../src/i18n/en/first.ts';
import type { later } from '../src/i18n/en/later.ts';

type All = typeof first & typeof later;

/** All texts of a language. */
export async function textsOf(language: Language): Promise<All> {
  const [one, two] = (await Promise.all([
    import(`../src/i18n/${language}/first.ts`),
    import(`../src/i18n/${language}/later.ts`),
  ])) as [{ first: typeof first }, { later: typeof later }];
  return { ...one.first, ...two.later };
}
