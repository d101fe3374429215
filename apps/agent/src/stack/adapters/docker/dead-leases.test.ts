import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findDeadLeases } from './dead-leases.ts';

const boot = '2026-06-01T10:00:00Z';
const now = '2026-06-01T12:00:00Z';
const id = (digit: string): string => digit.repeat(64);
const moment = { bootMs: Date.parse(boot), nowMs: Date.parse(now), containerIds: new Set([id('b')]) };

/** As `ctr leases list` of containerd 1.7 prints it. */
const table = `ID                       CREATED AT           LABELS
moby-image-1             2026-06-01T09:59:58Z containerd.io/gc.expire=2026-06-02T09:59:58Z
moby-image-2             2026-06-01T10:30:00Z containerd.io/gc.expire=2026-06-02T10:30:00Z
somebody-else            2026-06-01T09:00:00Z -
clock-was-wrong          2026-06-03T09:00:00Z containerd.io/gc.expire=2026-06-04T09:00:00Z,a=b
${id('a')} 2026-06-01T09:00:00Z -
${id('b')} 2026-06-01T09:00:00Z -
${id('c')} 2026-06-01T11:00:00Z -
`;

test('leases of pulls and of lost containers are dead in a later boot, and no other', () => {
  assert.deepEqual(findDeadLeases(table, moment), ['moby-image-1', 'clock-was-wrong', id('a')]);
  assert.deepEqual(findDeadLeases('', moment), []);
});
