import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heightOf, listHeight, rowsOf, sizes } from './compact-rows.ts';

test('each part has its head and as many rows as its tiles need', () => {
  const rows = rowsOf([4, 0, 1], 3);
  assert.deepEqual(
    rows.map((row) => [row.kind, row.part, 'index' in row ? row.index : null]),
    [
      ['head', 0, null],
      ['tiles', 0, 0],
      ['tiles', 0, 1],
      ['head', 1, null],
      ['empty', 1, null],
      ['head', 2, null],
      ['tiles', 2, 0],
    ],
  );
  assert.deepEqual(rowsOf([], 2), []);
});

test('the rows are together as high as the parts that are drawn', () => {
  const tiles = [7, 0, 500];
  const rows = rowsOf(tiles, 2);
  const total = rows.reduce((sum, row, index) => sum + heightOf(row, rows[index + 1]), 0);
  const drawn = tiles
    .map((count) => sizes.head + (count === 0 ? sizes.empty : listHeight(Math.ceil(count / 2))))
    .reduce((sum, height) => sum + height, sizes.section * (tiles.length - 1));
  assert.equal(total, drawn);
});
