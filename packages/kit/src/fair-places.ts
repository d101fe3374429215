/** From the largest sharer to the smallest: the person, then one of their sessions. */
type Holder = readonly [string, ...string[]];

/** Few places that many share. `all`: places; `each`: of them for one first part of a holder, a person for example. */
export type FairPlaces<T> = {
  /**
   * Takes a place.
   * @returns who must go for it, or null. Above its share a holder loses its own; when all places are taken, whoever holds most loses one.
   */
  enter(one: T, holder: Holder): T | null;
  leave(one: T): void;
};

/**
 * The newest gets its place and the oldest goes, so that forgotten or dead connections keep nobody out. Nobody can push out somebody who
 * holds less than they do.
 */
export function createFairPlaces<T>(limits: { each: number; all: number }): FairPlaces<T> {
  /** In the order of arrival. */
  const taken = new Map<T, Holder>();
  return {
    enter: (one, holder) => {
      const places = [...taken];
      const own = places.filter(([, [first]]) => first === holder[0]);
      const losing = own.length >= limits.each ? own : places.length >= limits.all ? places : [];
      const leaving = oldestOfMost(losing, holder, 0);
      if (leaving !== null) taken.delete(leaving);
      taken.set(one, holder);
      return leaving;
    },
    leave: (one) => void taken.delete(one),
  };
}

/** Of equally large holders the new one's own loses, else the one with the oldest place. */
function oldestOfMost<T>(places: readonly (readonly [T, Holder])[], holder: Holder, level: number): T | null {
  const [oldest] = places;
  if (oldest === undefined) return null;
  if (level === holder.length) return oldest[0];
  const groups = Map.groupBy(places, ([, parts]) => parts[level]);
  const most = Math.max(...[...groups.values()].map((group) => group.length));
  const largest = [...groups].filter(([, group]) => group.length === most);
  const [, losing] = largest.find(([part]) => part === holder[level]) ?? largest[0] ?? [];
  return oldestOfMost(losing ?? [], holder, level + 1);
}
