import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Candidate, Provisioning } from '@station/protocol/provisioning';
import { arrange, doubtfulAddresses, shownProvisionings, signalOf } from './nearby.ts';

const near = (externalId: string, rssi: number | null, address = externalId): Candidate => ({
  address,
  name: '',
  rssi,
  service_uuids: [],
  service_data: {},
  protocol: 'station',
  externalId,
  deviceType: 'light',
  defaultName: externalId,
  deviceId: null,
  lastSeenAt: '2026-11-22T10:00:00.000Z',
});
const idsOf = (rows: ReturnType<typeof arrange>): string[] =>
  rows.map(({ candidate, isLost }) => candidate.externalId + (isLost ? ' lost' : ''));

test('at first the strongest is on top', () => {
  assert.deepEqual(idsOf(arrange([], [near('a', -80), near('b', -40), near('c', null)], true)), ['b', 'a', 'c']);
});

test('later nothing moves: new ones come last, and a lost one keeps its place while others are below it', () => {
  const first = arrange([], [near('a', -40), near('b', -60)], true);
  const second = arrange(first, [near('b', -30), near('c', -20), near('d', -10)], false);
  assert.deepEqual(idsOf(second), ['a lost', 'b', 'd', 'c']);
  assert.deepEqual(idsOf(arrange(second, [near('a', -40), near('b', -60)], false)), ['a', 'b']);
  assert.deepEqual(idsOf(arrange(second, [], false)), []);
});

test('two devices that say they are one are two rows, and a stronger one takes the place of no other', () => {
  const first = arrange([], [near('a', -80, '1'), near('b', -70, '3')], true);
  assert.deepEqual([...doubtfulAddresses(first)], []);
  const second = arrange(first, [near('a', -80, '1'), near('a', -30, '2'), near('b', -70, '3')], false);
  assert.deepEqual(
    second.map(({ candidate }) => candidate.address),
    ['3', '1', '2'],
  );
  assert.deepEqual([...doubtfulAddresses(second)], ['1', '2']);
  assert.deepEqual([...doubtfulAddresses(arrange(second, [near('a', -80, '1')], false))], []);
});

test('an id that a person takes for another one, or the same name, is a doubt as well', () => {
  const doubtful = (...candidates: Candidate[]) => [...doubtfulAddresses(arrange([], candidates, true))];
  for (const id of [' lamp7', 'Lamp7', 'lamp-7', 'larnp7', '1amp7', 'lаmp7', 'ｌamp7'])
    assert.equal(doubtful(near('lamp7', -70), near(id, -30)).length, 2, id);
  const named = { ...near('9lamp7', -30), defaultName: 'Light AMP7' };
  assert.equal(doubtful({ ...near('lamp7', -70), defaultName: 'Light AMP7' }, named).length, 2);
  assert.deepEqual(doubtful(near('lamp7', -70), near('lamp8', -30), near('küche', -50), near('köche2', -50)), []);
  const plug = { protocol: 'improv', defaultName: 'Plug' } as const;
  assert.deepEqual(doubtful({ ...near('a1', -70), ...plug }, { ...near('b2', -70), ...plug }), []);
});

test('the signal in words', () => {
  assert.deepEqual([-30, -65, -66, -80, -81, null].map(signalOf), [
    'strong',
    'strong',
    'good',
    'good',
    'weak',
    'unknown',
  ]);
});

const at = (minute: number): string => `2026-11-22T10:${String(minute).padStart(2, '0')}:00.000Z`;
const adding = (id: string, status: Provisioning['status'], more: Partial<Provisioning> = {}): Provisioning => ({
  id,
  externalId: `device-${id}`,
  deviceType: 'light',
  name: id,
  zoneId: null,
  method: 'ble',
  status,
  error: null,
  startedBy: null,
  startedAt: at(1),
  changedAt: at(1),
  endsAt: null,
  deviceId: null,
  ...more,
});

test('shown are those under way, those that ended since, and failures of the last minutes until they are dismissed', () => {
  const all = [
    adding('waits', 'waiting', { startedAt: at(5) }),
    adding('before', 'succeeded', { changedAt: at(19) }),
    adding('since', 'succeeded', { changedAt: at(21), startedAt: at(2) }),
    adding('failed-long-ago', 'failed', { changedAt: at(9) }),
    adding('failed', 'failed', { changedAt: at(11), startedAt: at(3) }),
    adding('cancelled', 'cancelled', { changedAt: at(21) }),
    adding('dismissed', 'timed_out', { changedAt: at(21) }),
    adding('again', 'queued', { externalId: 'device-x', startedAt: at(7) }),
    adding('first-try', 'failed', { externalId: 'device-x', startedAt: at(6), changedAt: at(21) }),
  ];
  const shown = shownProvisionings(all, { openedAt: Date.parse(at(20)), dismissed: new Set(['dismissed']) });
  assert.deepEqual(
    shown.map(({ id }) => id),
    ['since', 'failed', 'waits', 'again'],
  );
});
