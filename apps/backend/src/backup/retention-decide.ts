/** A kept file; `madeAt` in epoch milliseconds, from its name. */
type Kept = { name: string; madeAt: number; isGood: boolean };
export type Keep = { daily: number; weekly: number };

const dayMs = 24 * 3600_000;
/** Monday, 5 January 1970. */
const firstMondayMs = 4 * dayMs;

/**
 * The files that are no longer kept: of the last `daily` days and `weekly` weeks (UTC, from Monday) that have files, the newest file of
 * each stays, a good one before one that was not verified. The newest good file always stays.
 *
 * The clock may have been wrong. Files from the future are counted apart: they neither push out the others nor are pushed out by them. So a
 * clock at 1970, to which all files are from the future, changes nothing either.
 */
export function chooseExpired(files: readonly Kept[], keep: Keep, now: number): string[] {
  const isFuture = ({ madeAt }: Kept): boolean => madeAt > now + dayMs;
  const stays = new Set(
    [files.filter(isFuture), files.filter((file) => !isFuture(file))].flatMap((group) => [
      ...newestOfEach(group, keep.daily, ({ madeAt }) => Math.floor(madeAt / dayMs)),
      ...newestOfEach(group, keep.weekly, ({ madeAt }) => Math.floor((madeAt - firstMondayMs) / (7 * dayMs))),
      ...group
        .filter(({ isGood }) => isGood)
        .toSorted(byAge)
        .slice(0, 1)
        .map(({ name }) => name),
    ]),
  );
  return files.filter(({ name }) => !stays.has(name)).map(({ name }) => name);
}

const byAge = (a: Kept, b: Kept): number => b.madeAt - a.madeAt || (a.name < b.name ? 1 : -1);

/** The best file of each of the newest `count` periods that have one. */
function newestOfEach(files: readonly Kept[], count: number, periodOf: (file: Kept) => number): string[] {
  const periods = [...new Set(files.map(periodOf))].toSorted((a, b) => b - a).slice(0, count);
  return periods.flatMap((period) => {
    const own = files.filter((file) => periodOf(file) === period).toSorted(byAge);
    const best = own.find(({ isGood }) => isGood) ?? own[0];
    return best === undefined ? [] : [best.name];
  });
}
