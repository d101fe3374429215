import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { topics } from '../e2e/parts.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
const named = new Set([...page.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, path = '']) => path));
const trusted = globSync('tests/e2e/trust/*.test.ts', { cwd: root });

test('every test that docs/security.md names exists', () => {
  assert.ok(named.size > 10, `saw only ${named.size} tests`);
  assert.deepEqual(
    [...named].filter((path) => globSync(path, { cwd: root }).length !== 1),
    [],
  );
});

test('npm run e2e -- trust runs exactly the end-to-end tests that docs/security.md names', () => {
  assert.ok(trusted.length > 0);
  const run = [...trusted, ...(topics['trust'] ?? []).map((name) => `tests/e2e/${name}.test.ts`)];
  const endToEnd = [...named].filter((path) => path.startsWith('tests/e2e/'));
  assert.deepEqual(run.sort(), endToEnd.sort());
});

test('every row of docs/security.md names a test, or says that it is open', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !/^\| (Reach|-)/.test(line));
  assert.ok(rows.length > 20, `saw only ${rows.length} rows`);
  assert.deepEqual(
    rows.filter((row) => !/\.test\.ts` +\|$|\| open, see below +\|$/.test(row)),
    [],
  );
});
