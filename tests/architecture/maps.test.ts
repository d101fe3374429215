import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'apps/*/README.md', 'docs/*.md', 'docs/adr/*.md', 'tests/*/README.md'], { cwd: root });
/** A path inside backticks that begins with a folder of this repository. */
const path = /`((?:src|apps|packages|simulators|tests|deploy|docs|scripts)\/[\w./-]+)`/g;

test('every path that a page names exists', () => {
  const named = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(path)].map(([, name = '']) => ({ page, name })),
  );
  assert.ok(named.length > 100, `saw only ${named.length} paths`);
  const missing = named.filter(
    ({ page, name }) => ![root, join(root, dirname(page))].some((at) => existsSync(join(at, name))),
  );
  assert.deepEqual(
    missing.map(({ page, name }) => `${page}: ${name}`),
    [],
  );
});
