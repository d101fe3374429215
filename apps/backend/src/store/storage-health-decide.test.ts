import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calmMs, decideFiller, decideSpace, decideStorageFault, lowBytes } from './storage-health-decide.ts';

const full = { fault: 'disk full', atMs: 1_000 } as const;
const broken = { fault: 'input/output error', atMs: 1_000 } as const;

test('a fault holds until writes succeed and failures have ended for some time', () => {
  type Facts = Parameters<typeof decideStorageFault>[0];
  const facts: Facts = { nowMs: 1_001, failed: full, writtenMs: null, freeBytes: null };
  const table: [string, Partial<Facts>, string | null][] = [
    ['nothing failed', { failed: null }, null],
    ['it just failed', {}, 'disk full'],
    ['the last success was before', { nowMs: 60_000, writtenMs: 999 }, 'disk full'],
    ['a small write succeeded at once', { nowMs: 1_100, writtenMs: 1_050 }, 'disk full'],
    ['nothing was tried since', { nowMs: 60_000 }, 'disk full'],
    ['almost calm', { nowMs: 1_000 + calmMs - 1, writtenMs: 2_000 }, 'disk full'],
    ['calm', { nowMs: 1_000 + calmMs, writtenMs: 2_000 }, null],
  ];
  for (const [name, change, expected] of table) {
    assert.equal(decideStorageFault({ ...facts, ...change }), expected, name);
  }
});

test('an input/output error on a disk without space means a full disk', () => {
  const facts = { nowMs: 1_001, failed: broken, writtenMs: null };
  assert.equal(decideStorageFault({ ...facts, freeBytes: 0 }), 'disk full');
  assert.equal(decideStorageFault({ ...facts, freeBytes: 2 ** 30 }), 'input/output error');
  assert.equal(decideStorageFault({ ...facts, freeBytes: null }), 'input/output error');
});

const mebibyte = 1024 * 1024;

test('little space is told before it ends, history goes at half of that, and the warning does not come and go', () => {
  const totalBytes = 1024 * mebibyte;
  const low = lowBytes(totalBytes);
  const table: [number, boolean, boolean, number][] = [
    [low, false, false, 0],
    [low - 1, false, true, 0],
    [low * 1.25 - 1, true, true, 0],
    [low * 1.25, true, false, 0],
    [low / 2, true, true, 0],
    [low / 2 - mebibyte, true, true, mebibyte],
    [0, false, true, Math.ceil(low / 2)],
  ];
  for (const [freeBytes, wasLow, isLow, missingBytes] of table) {
    const decided = decideSpace({ freeBytes, totalBytes }, wasLow);
    assert.equal(decided.isLow, isLow, String(freeBytes));
    assert.equal(decided.hasRoom, freeBytes >= low * 1.25);
    assert.ok(Math.abs(decided.missingBytes - missingBytes) <= 1, String(freeBytes));
  }
});

test('the limit fits small and large disks', () => {
  assert.equal(lowBytes(256 * mebibyte), 32 * mebibyte);
  assert.equal(lowBytes(8 * 1024 * mebibyte), 8 * 1024 * mebibyte * 0.05);
  assert.equal(lowBytes(1024 * 1024 * mebibyte), 512 * mebibyte);
});

test('the warning names who takes most of the disk', () => {
  const space = { freeBytes: 25.5 * mebibyte, totalBytes: 1024 * mebibyte };
  const table: [number, ReturnType<typeof decideFiller>][] = [
    [39, { freeMb: 20, databaseMb: 30, otherMb: 950, filledBy: 'other' }],
    [600, { freeMb: 20, databaseMb: 600, otherMb: 390, filledBy: 'database' }],
    // On a server of its own.
    [5_000, { freeMb: 20, databaseMb: 5_000, otherMb: 0, filledBy: 'database' }],
  ];
  for (const [databaseMb, expected] of table) assert.deepEqual(decideFiller(space, databaseMb * mebibyte), expected);
});
