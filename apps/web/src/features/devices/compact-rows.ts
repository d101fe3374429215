/* Where the rows of home stand when it has many devices: every height is known before anything is drawn. */

/** Heights in rem; the styles of `compact-grid.tsx` are made of the same ones. */
export const sizes = { head: 3, row: 4.5, gap: 0.5, section: 1.5, empty: 1.5 } as const;

/** `index` counts within its part. */
export type Row = { kind: 'head' | 'empty'; part: number } | { kind: 'tiles'; part: number; index: number };

/** All rows from the top, for parts with so many tiles each. */
export function rowsOf(tiles: readonly number[], columns: number): Row[] {
  return tiles.flatMap((count, part): Row[] => {
    const rows = Array.from({ length: Math.ceil(count / columns) }, (_, index): Row => ({
      kind: 'tiles',
      part,
      index,
    }));
    return [{ kind: 'head', part }, ...(count === 0 ? [{ kind: 'empty', part } as const] : rows)];
  });
}

/** In rem, with the space below it. */
export function heightOf(row: Row, next: Row | undefined): number {
  const space = next === undefined ? 0 : next.part !== row.part ? sizes.section : row.kind === 'head' ? 0 : sizes.gap;
  return { head: sizes.head, tiles: sizes.row, empty: sizes.empty }[row.kind] + space;
}

/** Of all rows of tiles in one part, in rem. */
export const listHeight = (rows: number): number => rows * sizes.row + (rows - 1) * sizes.gap;
