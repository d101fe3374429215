import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

for (const app of ['agent', 'backend'])
  test(`a file of the ${app} is found by its name alone`, () => {
    const files = globSync(`apps/${app}/{src,testing}/**/*.ts`, { cwd: root });
    assert.ok(files.length > 200, `saw only ${files.length} files`);
    const places = Map.groupBy(files, (file) => basename(file));
    assert.deepEqual(
      [...places.values()].filter((same) => same.length > 1),
      [],
    );
  });
