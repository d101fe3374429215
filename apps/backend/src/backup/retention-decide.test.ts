import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseExpired, type Keep } from './retention-decide.ts';

/** `2026-11-23T03` is a good backup, `2026-11-23T03?` one that was not verified. */
const fileOf = (text: string) => ({
  name: text,
  madeAt: Date.parse(`${text.replace('?', '')}:00:00Z`),
  isGood: !text.endsWith('?'),
});
const days = (from: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) =>
    new Date(Date.parse(`${from}T03:00:00Z`) + n * 86_400_000).toISOString().slice(0, 13),
  );
const usual: Keep = { daily: 7, weekly: 4 };

const cases: { name: string; files: string[]; keep?: Keep; now: string; stay: string[] }[] = [
  { name: 'no file', files: [], now: '2026-11-23', stay: [] },
  { name: 'fewer than are kept', files: days('2026-11-20', 3), now: '2026-11-23', stay: days('2026-11-20', 3) },
  {
    name: 'seven days and the newest of four weeks, of forty nights',
    files: days('2026-10-15', 40),
    now: '2026-11-24',
    // 23 November 2026 is a Monday: its week, and the Sundays of the three before.
    stay: ['2026-11-08T03', '2026-11-15T03', ...days('2026-11-17', 7)],
  },
  {
    name: 'the newest of a day with several',
    files: ['2026-11-23T03', '2026-11-23T09', '2026-11-23T12'],
    now: '2026-11-24',
    stay: ['2026-11-23T12'],
  },
  {
    name: 'a good one before a newer one that was not verified',
    files: ['2026-11-23T03', '2026-11-23T09?'],
    keep: { daily: 1, weekly: 0 },
    now: '2026-11-24',
    stay: ['2026-11-23T03'],
  },
  {
    name: 'the newest good one, however old',
    files: ['2026-01-05T03', ...days('2026-11-01', 20).map((name) => `${name}?`)],
    keep: { daily: 2, weekly: 0 },
    now: '2026-11-24',
    stay: ['2026-01-05T03', '2026-11-19T03?', '2026-11-20T03?'],
  },
  {
    name: 'a station that was off for months loses none of its days',
    files: days('2026-01-01', 7),
    keep: { daily: 7, weekly: 0 },
    now: '2026-11-24',
    stay: days('2026-01-01', 7),
  },
  {
    name: 'files of a clock that was years ahead push out none of the present',
    files: [...days('2035-05-01', 9), ...days('2026-11-20', 3)],
    keep: { daily: 3, weekly: 0 },
    now: '2026-11-24',
    stay: [...days('2035-05-07', 3), ...days('2026-11-20', 3)],
  },
  {
    name: 'at a clock of 1970 the same files stay',
    files: days('2026-10-15', 40),
    keep: { daily: 7, weekly: 0 },
    now: '1970-01-01',
    stay: days('2026-11-17', 7),
  },
];
for (const { name, files, keep = usual, now, stay } of cases) {
  test(`keeps: ${name}`, () => {
    const expired = chooseExpired(files.map(fileOf), keep, Date.parse(now));
    assert.deepEqual(files.filter((file) => !expired.includes(file)).toSorted(), stay.toSorted());
    const turned = chooseExpired(files.toReversed().map(fileOf), keep, Date.parse(now));
    assert.deepEqual(turned.toSorted(), expired.toSorted(), 'the order of a listing does not matter');
  });
}

test('a second clean-up removes nothing more', () => {
  const files = days('2026-10-15', 40).map(fileOf);
  const expired = new Set(chooseExpired(files, usual, Date.parse('2026-11-24')));
  const rest = files.filter(({ name }) => !expired.has(name));
  assert.deepEqual(chooseExpired(rest, usual, Date.parse('2026-11-24')), []);
});
