import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const root = join(import.meta.dirname, '..', '..');

test('every import follows the arrows between the rooms', async () => {
  process.chdir(root);
  const options = await extractOptions('./.dependency-cruiser.mjs');
  const { output } = await cruise(['packages', 'apps', 'simulators', 'tests'], { ...options, validate: true });
  const { summary, modules } = output as ICruiseResult;
  // A cruise that understands nothing finds no fault either.
  const own = modules.filter((module) => /\.tsx?$/.test(module.source) && !module.source.includes('node_modules'));
  assert.ok(own.length > 600, `saw only ${own.length} modules`);
  assert.ok(own.filter((module) => module.dependencies.length > 0).length > 400, 'saw hardly any import');
  const faults = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
  assert.deepEqual(faults, []);
});
