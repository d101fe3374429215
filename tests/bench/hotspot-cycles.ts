/**
 * `npm run bench -- hotspot-cycles [--cycles 50]`
 *
 * Opens and closes the hotspot again and again on the real NetworkManager of the virtual station. The value is how many
 * kinds of resources have grown: profiles, programs, file descriptors (of the agent and of NetworkManager), listeners,
 * match rules, files and settings. The goal is none, and every cycle must work.
 */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { createWorkspace } from '../rig/workspace.ts';
import { openImage } from '../vstation/image.ts';
import { startMachine } from '../vstation/machine.ts';

type Line = {
  number?: number;
  startMs?: number;
  stopMs?: number;
  fault?: string | null;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
};

/** udev starts these workers for any device, and ends them after some idle time. */
const udevWorker = '(udev-worker)';

/** True for a larger number, an additional program or a changed setting. Programs that ended do not count. */
function isLeaked(before: unknown, after: unknown): boolean {
  if (typeof before === 'number' && typeof after === 'number') return after > before;
  if (!isNames(before) || !isNames(after)) return !isDeepStrictEqual(before, after);
  const count = (names: readonly string[], name: string): number => names.filter((each) => each === name).length;
  return after.some((name) => name !== udevWorker && count(after, name) > count(before, name));
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

const { values } = parseArgs({ options: { cycles: { type: 'string', default: '50' } } });
const cycles = Number(values.cycles);

await using workspace = await createWorkspace();
const payload = await workspace.subfolder('payload');
await using bundle = await rolldown({
  input: join(import.meta.dirname, 'hotspot/cycles-in-station.ts'),
  platform: 'node',
  logLevel: 'silent',
});
await bundle.write({ file: join(payload, 'cycles.mjs'), format: 'esm', codeSplitting: false });
await copyFile(process.execPath, join(payload, 'node'));

const machine = await startMachine({ workspace, image: await openImage(), payload });
process.stdout.write(`the virtual station is up after ${Math.round(machine.bootMs / 1000)} s\n`);
const output = await machine.must(`/payload/node /payload/cycles.mjs ${cycles}`, {
  timeoutMs: 60_000 + cycles * 30_000,
});
const lines = output
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line) as Line);

const done = lines.filter((line) => line.number !== undefined);
const faults = done.filter((line) => line.fault !== null);
for (const { number, fault } of faults) process.stdout.write(`cycle ${number}: ${fault}\n`);
const { before = {}, after = {} } = lines.at(-1) ?? {};
const leaked = Object.keys(before).filter((key) => isLeaked(before[key], after[key]));
for (const key of leaked) {
  process.stdout.write(`${key}: ${JSON.stringify(before[key])} before, ${JSON.stringify(after[key])} after\n`);
}
const median = (key: 'startMs' | 'stopMs'): number =>
  done.map((line) => line[key] ?? 0).sort((a, b) => a - b)[Math.floor(done.length / 2)] ?? 0;
const ok = done.length === cycles && faults.length === 0 && leaked.length === 0 && Object.keys(before).length > 0;
process.stdout.write(
  `${JSON.stringify({
    bench: 'hotspot-cycles',
    value: leaked.length,
    unit: 'leaks',
    ratio: null,
    goal: 0,
    ok,
    cycles: done.length,
    failed: faults.length,
    medianStartMs: median('startMs'),
    medianStopMs: median('stopMs'),
    stock: after,
  })}\n`,
);
process.exitCode = ok ? 0 : 1;
