import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');

test('a module exports what it declares, and no other module whole', () => {
  const files = globSync('{apps,packages,scripts,simulators,tests}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  });
  assert.ok(files.length > 1000, `saw only ${files.length} files`);
  const barrels = files.filter((file) => /^export \*/m.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(barrels, []);
});
