import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { createAttempts } from './firmware-fetch.ts';

const entry: FirmwareEntry = {
  name: 'lamp',
  version: '1.0.0',
  url: 'https://releases.test/lamp.bin',
  checksum: `sha256:${'ab'.repeat(32)}`,
  size: null,
  chip: null,
  minVersion: null,
};
const create = () =>
  createAttempts({ clock: { ...systemClock, monotonic: () => 1000 }, checkIntervalMs: 3600_000, random: () => 0.5 });

it('pauses grow while nothing comes, up to the check interval', () => {
  const attempts = create();
  const pauses = Array.from({ length: 12 }, () => attempts.note(entry, 'failed', 'ECONNREFUSED', 0));
  assert.deepEqual(pauses.slice(0, 4), [15_000, 30_000, 60_000, 120_000]);
  assert.equal(pauses.at(-1), 3600_000);
  assert.deepEqual([attempts.failures(entry), [...attempts.all().values()][0]?.dueMs], [12, 1000 + 3600_000]);
});

it('a file that comes in pieces is continued soon', () => {
  const attempts = create();
  const pauses = [10, 20, 30, 30, 30, 40].map((doneBytes) => attempts.note(entry, 'failed', 'cut', doneBytes));
  assert.deepEqual(pauses, [15_000, 15_000, 15_000, 30_000, 60_000, 15_000]);
});

it('refused firmware is not tried again for hours', () => {
  const attempts = create();
  attempts.note(entry, 'failed', 'cut', 10);
  const pauses = Array.from({ length: 7 }, () => attempts.note(entry, 'refused', 'a bootloader', 0) / 3600_000);
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 24, 24]);
});

it('another content under the same version is another attempt, and a requested check does not wait', () => {
  const attempts = create();
  attempts.note(entry, 'refused', 'a bootloader', 0);
  const other = { ...entry, checksum: `sha256:${'cd'.repeat(32)}` };
  assert.equal(attempts.failures(other), 0);
  const isDue = (): boolean => ([...attempts.all().values()][0]?.dueMs ?? 0) < 0;
  attempts.hurry('failed');
  assert.equal(isDue(), false, 'it would be fetched as a whole');
  attempts.hurry('all');
  assert.ok(isDue());
  attempts.keepOnly([other]);
  assert.equal(attempts.all().size, 0);
});
