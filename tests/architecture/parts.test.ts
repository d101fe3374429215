import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findStories, isWithin, parts, storiesOf, topics } from '../e2e/parts.ts';

const root = join(import.meta.dirname, '../..');
const stories = findStories();

test('every end-to-end test is in exactly one part, and every part has one', () => {
  const listed = parts.flatMap((part) => storiesOf(part, stories));
  assert.ok(stories.length > 50, `saw only ${stories.length} tests`);
  assert.deepEqual(listed.toSorted(), stories);
  assert.deepEqual(
    parts.filter((part) => storiesOf(part, stories).length === 0),
    [],
  );
});

test('what a topic adds exists', () => {
  const added = Object.values(topics).flat();
  assert.deepEqual(
    added.filter((story) => !stories.some((one) => isWithin(one, story))),
    [],
  );
});

test('what a part covers exists', () => {
  const covered = parts.flatMap(({ covers }) => covers);
  assert.deepEqual(
    covered.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test('every source file is covered by a part', () => {
  const listed = spawnSync('git', ['ls-files', 'apps', 'packages', 'deploy', 'scripts', 'simulators'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.stdout
    .split('\n')
    .filter((file) => /\.(ts|tsx|mjs|sh)$/.test(file) && !/\.test\.ts$|^apps\/[^/]+\/testing\//.test(file));
  assert.ok(files.length > 500, `saw only ${files.length} files`);
  const covered = parts.flatMap(({ covers }) => covers);
  assert.deepEqual(
    files.filter((file) => existsSync(join(root, file)) && !covered.some((place) => isWithin(file, place))),
    [],
  );
});

test('docs/flakes.md has at most five tests whose cause is not mended', () => {
  const rows = readFileSync(join(root, 'docs/flakes.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| \d{4}-/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  for (const row of rows) assert.equal(row.length, 7, row.join('|'));
  const open = rows.filter((row) => row[5] === '' || row[5] === 'open');
  assert.ok(open.length <= 5, open.map((row) => row[3]).join(', '));
});

test('the packages that the tests need are installed before them', () => {
  const run = readFileSync(join(root, '.ci/run'), 'utf8');
  const sources = globSync('tests/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));
  const calls = sources.flatMap((source) => [...source.matchAll(/needPackages\(\[([^\]]*)\]/g)]);
  const needed = new Set(calls.flatMap(([, list = '']) => [...list.matchAll(/'([\w.+-]+)'/g)].map(([, name]) => name)));
  assert.ok(needed.size > 15, `saw only ${needed.size} packages`);
  assert.deepEqual(
    [...needed].filter((name) => !new RegExp(`(?<=[\\s(])${name}\\s`).test(run)),
    [],
  );
});
