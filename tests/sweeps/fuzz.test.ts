import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tryRun } from '../rig/program.ts';

const benches = join(import.meta.dirname, '../bench/run.ts');

const counts = [
  ['manifest-fuzz', 200_000],
  ['backend-fuzz', 100_000],
  ['cloud-fuzz', 100_000],
  ['ssid-fuzz', 10_000],
] as const;

for (const [name, count] of counts) {
  test(`${count} inputs of ${name} do no harm`, async () => {
    const { exitCode, stdout, stderr } = await tryRun(process.execPath, [benches, name, '--count', String(count)]);
    assert.equal(exitCode, 0, `${stderr}\n${stdout}`.slice(-10_000));
  });
}
