import type { FindEntry } from './find-entry.ts';

/* Which entries fit what a person types, best first. Small typing mistakes are forgiven. */

/** An entry with its words ready to be compared. */
type Findable<Entry = FindEntry> = { entry: Entry; title: readonly string[]; others: readonly string[] };

/** Prepares entries once, so that each key only compares. */
export const findable = <Entry extends Pick<FindEntry, 'title' | 'words' | 'detail'>>(
  entries: readonly Entry[],
): Findable<Entry>[] =>
  entries.map((entry) => ({
    entry,
    title: wordsOf(entry.title),
    others: wordsOf(`${entry.words ?? ''} ${entry.detail ?? ''}`),
  }));

/** The entries in which every typed word is found; those with the better match come first, equals stay in their order. */
export function find<Entry>(entries: readonly Findable<Entry>[], typed: string): Entry[] {
  const wanted = wordsOf(typed);
  const rated = entries.flatMap((one) => {
    const cost = costOf(one, wanted);
    return cost === null ? [] : [{ entry: one.entry, cost }];
  });
  return rated.sort((one, other) => one.cost - other.cost).map(({ entry }) => entry);
}

/** "Café-Lämpchen" → café, lämpchen without their marks; an apostrophe is not the end of a word. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}|['’ʼ`]/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** What a match outside the title costs more. */
const besideTitle = 3;

function costOf({ title, others }: Findable<unknown>, wanted: readonly string[]): number | null {
  let sum = 0;
  for (const [place, word] of wanted.entries()) {
    const inTitle = cheapest(title, word);
    const inOthers = cheapest(others, word);
    const cost = Math.min(inTitle, inOthers + besideTitle);
    if (cost === Infinity) return null;
    // "Lamp hall" finds "Hall lamp" as well, but "Hall lamp" finds it first.
    sum += cost + (title[place]?.startsWith(word) ? 0 : 0.5);
  }
  return sum;
}

const cheapest = (words: readonly string[], wanted: string): number =>
  words.reduce((least, word) => Math.min(least, wordCost(word, wanted)), Infinity);

/** 0: the word itself; Infinity: another word. */
function wordCost(word: string, wanted: string): number {
  if (word === wanted) return 0;
  if (word.startsWith(wanted)) return 1;
  if (wanted.length > 1 && word.includes(wanted)) return 2;
  const mistakes = wanted.length < 4 ? 0 : wanted.length < 8 ? 1 : 2;
  const found = mistakes === 0 ? Infinity : startDistance(word, wanted, mistakes);
  return found <= mistakes ? 3 + found : Infinity;
}

/**
 * Typing mistakes between `wanted` and the nearest beginning of `word`: a letter too many, missing, wrong, or two exchanged.
 * Infinity when there are more than `most`.
 */
function startDistance(word: string, wanted: string, most: number): number {
  const start = word.slice(0, wanted.length + most);
  let before: number[] = [];
  let row = Array.from({ length: start.length + 1 }, (_, index) => index);
  for (let i = 1; i <= wanted.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= start.length; j += 1) {
      const same = wanted[i - 1] === start[j - 1];
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      const exchanged = i > 1 && j > 1 && wanted[i - 1] === start[j - 2] && wanted[i - 2] === start[j - 1];
      if (exchanged) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      next.push(cost);
    }
    if (Math.min(...next) > most) return Infinity;
    before = row;
    row = next;
  }
  return Math.min(...row);
}
