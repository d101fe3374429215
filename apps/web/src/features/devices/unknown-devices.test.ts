import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import { waitingOf } from './unknown-devices.ts';

const unknown = (externalId: string, more: Partial<UnknownDevice>): UnknownDevice => ({
  externalId,
  type: 'light',
  chip: null,
  firmwareVersion: null,
  firstSeenAt: '2026-03-01T12:00:00.000Z',
  lastSeenAt: '2026-03-01T12:00:00.000Z',
  blocked: false,
  loginRefused: false,
  contested: false,
  acceptedUntil: null,
  ...more,
});

test('a device waits for a decision until it is accepted or blocked', () => {
  const devices = [
    unknown('new', {}),
    unknown('loginRefused', { loginRefused: true, type: null }),
    unknown('contested', { contested: true }),
    unknown('blocked', { blocked: true }),
    unknown('accepted', { acceptedUntil: '2026-03-01T12:10:00.000Z' }),
  ];
  assert.deepEqual(
    waitingOf(devices).map(({ externalId }) => externalId),
    ['new', 'loginRefused', 'contested'],
  );
});
