/** The list with one item at another place; the same list when nothing moves. A place beyond an end is that end. */
export function moved<T>(list: readonly T[], from: number, to: number): readonly T[] {
  const item = list[from];
  const place = Math.max(0, Math.min(list.length - 1, to));
  if (item === undefined || place === from) return list;
  return list.toSpliced(from, 1).toSpliced(place, 0, item);
}
