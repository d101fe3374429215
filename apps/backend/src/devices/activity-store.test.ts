import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { openTestStore } from '../../testing/test-store.ts';
import { createActivityStore } from './activity-store.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createEventIds } from '../core/event-ids.ts';
import { writeReports } from '../history/report-store.ts';

const everything = {
  about: null,
  deviceId: null,
  userId: null,
  reader: { userId: '01890000-0000-7000-8000-000000000009', role: 'owner' },
  zones: null,
} as const;

test('technical events of devices are not in the activity list', async () => {
  await using store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'x', type: 'light', name: 'lamp', zoneId: null });
  const event = (at: number, data: { action?: string } & Record<string, unknown>): DeviceReport => ({
    kind: 'event',
    deviceId: id,
    at,
    eventKind: 'device_event',
    data,
  });
  const own = Array.from({ length: 20 }, (_, n) => [
    event(10 + n, { action: 'ota_progress', percent: n }),
    event(10 + n, { commandId: `c${n}`, action: 'command_ack' }),
  ]).flat();
  const worthALine = [event(1, { action: 'button_pressed' }), event(2, { n: 1 }), event(3, { action: 'ota_failed' })];
  await writeReports(store, [...worthALine, ...own], createEventIds(Date.now));
  const activity = createActivityStore(store.db);
  const pages = [
    (before: string | null) => activity.ofDevice({ deviceId: id, before, limit: 2 }),
    (before: string | null) => activity.page({ ...everything, before, limit: 2 }),
    (before: string | null) => activity.page({ ...everything, deviceId: id, about: 'devices', before, limit: 2 }),
  ];
  for (const page of pages) {
    const first = await page(null);
    assert.deepEqual(
      first.map(({ at }) => at),
      [3, 2],
    );
    const older = await page(first[1]?.id ?? null);
    assert.deepEqual(
      older.map(({ at }) => at),
      [1],
    );
  }
});
