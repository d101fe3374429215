import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QuietHours } from '@station/protocol/notifications';
import { type Alert, isUrgent } from './alert.ts';
import { quietFor, retryAfter, settleHeld } from './delivery-decide.ts';
import { localTime, untilTime } from '../core/local-time.ts';

const minute = 60_000;
const night: QuietHours = { from: '22:00', to: '07:00' };
const noon: QuietHours = { from: '13:00', to: '14:30' };

/** Minutes that a message must wait. */
function quietAt(quiet: QuietHours, at: string, timeZone: string): number {
  const now = Date.parse(at);
  const { minutes } = localTime(now, timeZone);
  return quietFor(quiet, { minutes, until: (time) => untilTime(time, now, timeZone) }) / minute;
}

describe('quiet hours', () => {
  const rows: [string, QuietHours, string, number][] = [
    ['none are set', null, '03:00', 0],
    ['before them', night, '21:59', 0],
    ['from their first minute', night, '22:00', 9 * 60],
    ['after midnight', night, '03:30', 3.5 * 60],
    ['their last minute', night, '06:59', 1],
    ['their end', night, '07:00', 0],
    ['within a day', noon, '13:30', 60],
    ['within a day, after them', noon, '14:30', 0],
    ['an empty span', { from: '08:00', to: '08:00' }, '08:00', 0],
  ];
  for (const [name, quiet, at, minutes] of rows) {
    it(name, () => {
      assert.equal(quietAt(quiet, `2026-06-01T${at}Z`, 'UTC'), minutes);
    });
  }

  const changes: [zone: string, quiet: QuietHours, at: string, hours: number][] = [
    ['Europe/Kyiv', night, '2026-03-28T21:00Z', 7],
    ['Europe/Kyiv', night, '2026-10-24T20:00Z', 9],
    ['Europe/Berlin', night, '2026-03-28T22:00Z', 7],
    ['Europe/Berlin', night, '2026-10-24T21:00Z', 9],
    // By half an hour.
    ['Australia/Lord_Howe', night, '2026-04-04T12:00Z', 8.5],
    ['Asia/Kolkata', night, '2026-03-28T17:30Z', 8],
    // It ends in the hour that is skipped, or that comes twice.
    ['Europe/Berlin', { from: '22:00', to: '02:30' }, '2026-03-29T00:30Z', 1],
    ['Europe/Berlin', { from: '22:00', to: '02:30' }, '2026-10-25T00:00Z', 0.5],
    ['Europe/Berlin', { from: '22:00', to: '02:30' }, '2026-10-25T01:00Z', 0.5],
    // Samoa left out 30 December 2011.
    ['Pacific/Apia', night, '2011-12-30T09:00Z', 8],
  ];
  for (const [zone, quiet, at, hours] of changes) {
    it(`in ${zone} end by the clock, also at its change: ${at}`, () => {
      assert.equal(quietAt(quiet, at, zone), hours * 60);
    });
  }

  it('only a station in trouble and what automations say pass them', () => {
    const device = [{ id: 'a', name: 'Lamp' }];
    const urgent: Alert[] = [
      { kind: 'conditions_raised', conditions: ['storage_full'], isFault: true },
      { kind: 'rollback_failed', version: null, kept: null },
      { kind: 'automations', messages: [], more: 0 },
    ];
    const calm: Alert[] = [
      { kind: 'conditions_raised', conditions: ['backup_old'], isFault: false },
      { kind: 'devices_offline', devices: device },
      { kind: 'update_rolled_back', version: null, kept: null },
    ];
    assert.ok(urgent.every(isUrgent));
    assert.ok(!calm.some(isUrgent));
  });
});

describe('another try', () => {
  it('waits longer each time, and an hour at most', () => {
    const waits = [1, 2, 3, 4, 20].map((attempts) => retryAfter(attempts, null, 0.5));
    assert.deepEqual(waits, [30_000, 60_000, 120_000, 240_000, 60 * minute]);
  });
  it('waits as long as the service asks for, within that hour', () => {
    assert.equal(retryAfter(1, 10 * minute, 0.5), 10 * minute);
    assert.equal(retryAfter(1, 999 * minute, 0.5), 60 * minute);
  });
});

describe('a device that is back before anybody heard of its outage', () => {
  const lamp = { id: 'a', name: 'Lamp' };
  const door = { id: 'b', name: 'Door' };
  const off = (...devices: (typeof lamp)[]): Alert => ({ kind: 'devices_offline', devices });
  const back = (...devices: (typeof lamp)[]): Alert => ({ kind: 'devices_back', devices });

  it('is not told at all', () => {
    const settled = settleHeld([{ id: '1', alert: off(lamp) }], back(lamp));
    assert.deepEqual(settled, { changes: [{ id: '1', alert: null }], alert: null });
  });
  it('leaves the others in their messages', () => {
    const settled = settleHeld([{ id: '1', alert: off(lamp, door) }], back(lamp, { id: 'c', name: 'Pump' }));
    assert.deepEqual(settled.changes, [{ id: '1', alert: off(door) }]);
    assert.deepEqual(settled.alert, back({ id: 'c', name: 'Pump' }));
  });
  it('changes nothing for other messages', () => {
    const alert = off(lamp);
    assert.deepEqual(settleHeld([{ id: '1', alert: off(lamp) }], alert), { changes: [], alert });
    assert.deepEqual(settleHeld([{ id: '1', alert: off(door) }], back(lamp)), { changes: [], alert: back(lamp) });
  });
});
