import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

// `npm test` runs many files in one process: a hook outside a `describe` would run for the tests of all of them.
test('every hook of a unit test is inside a describe', async () => {
  const folders = '{packages,apps,simulators,tests/faults,tests/rig,tests/sweeps}';
  const found: string[] = [];
  let seen = 0;
  for await (const file of glob(`${folders}/**/*.test.ts`, { cwd: root, exclude: ['**/node_modules/**'] })) {
    seen += 1;
    const text = await readFile(join(root, file), 'utf8');
    if (/^(before|after|beforeEach|afterEach)\(/m.test(text)) found.push(file);
  }
  assert.ok(seen > 100, `saw only ${seen} files`);
  assert.deepEqual(found, []);
});
