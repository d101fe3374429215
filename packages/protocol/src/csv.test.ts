import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { csvCell, csvLine, textOfCell } from './csv.ts';

/** Cells as a program reads a line that takes each of these for a separator; quotes only count at the start of a cell. */
const cellsOf = (line: string, separator: string): string[] =>
  line.split(/\r\n|\r|\n/).flatMap((part) => part.split(separator));

const attacks = [
  '=1+1',
  '+1+1',
  '-1+1',
  '@SUM(A1)',
  '\t=1+1',
  '\r=1+1',
  '\n=1+1',
  ' =1+1',
  '"=1+1',
  'a;=1+1',
  'a,=1+1',
  'a\t=1+1',
  'a\n=1+1',
  'a; "=1+1',
  'a;;=1+1',
  '=a;@b',
  "'=1+1",
  "a;'=1+1",
  '\uFF1D1+1',
  '\uFE661+1',
  '\u00A0=1+1',
  '\u3000=1+1',
  '\uFEFF=1+1',
  '\u200B=1+1',
  '\v=1+1',
  '\0=1+1',
  '\x1B=1+1',
  "=cmd|' /C calc'!A0",
];

describe('a cell of a CSV file', () => {
  it('is a formula for no separator, and what was exported comes back', () => {
    for (const text of attacks) {
      const line = csvLine(['2026-01-01', text, 1]);
      for (const separator of [',', ';', '\t', '|']) {
        for (const cell of cellsOf(line, separator))
          assert.doesNotMatch(cell, /^[\p{Z}\p{Cc}\p{Cf}"]*[=+\-@\uFF1D\uFE66]/u, JSON.stringify([text, line]));
      }
      const unquoted = csvCell(text)
        .replace(/^"([^]*)"$/, '$1')
        .replaceAll('""', '"');
      assert.equal(textOfCell(unquoted), text);
    }
  });

  it('takes no longer for many blanks or quotes', () => {
    const startedMs = performance.now();
    for (const part of [' ', '"', "'", ';', ' "']) assert.match(csvCell(`${part.repeat(200_000)}x`), /x"?$/);
    assert.ok(performance.now() - startedMs < 3_000);
  });

  it('stays as it is when it is a number or a harmless text', () => {
    const harmless = [-1.5, 2, null, '-5', '+3.25', '1e-7', 'a - b', "it's", '5 = 5', 'a@b'] as const;
    for (const value of harmless) assert.equal(csvCell(value), value === null ? '' : String(value));
    assert.equal(csvCell('a "b", c'), '"a ""b"", c"');
    for (const text of ["it's", "'quoted'", 'a;b', '-5']) assert.equal(textOfCell(text), text);
  });
});
