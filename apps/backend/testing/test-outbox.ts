import { systemClock } from '@station/kit/clock';
import { eventChannels } from '@station/protocol/cloud';
import { createOutboxStore, enqueueReports } from '../src/cloud/outbox-store.ts';
import type { DeviceReport } from '../src/core/device-events.ts';
import { createEventIds } from '../src/core/event-ids.ts';
import { createDeviceStore } from '../src/store/device-store.ts';
import { writeReports } from '../src/history/report-store.ts';
import { openTestStore } from './test-store.ts';

/** A store of a station with one device, claimed by a cloud that wants all channels. */
export async function openTestOutbox(options: { claimed?: boolean; channels?: readonly string[] } = {}) {
  const { claimed = true, channels = eventChannels } = options;
  const store = await openTestStore();
  const { db } = store;
  const devices = createDeviceStore({ db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'x', type: 'pir', name: 'Hall', zoneId: null });
  const token = claimed ? 'sealed' : null;
  await db
    .insertInto('cloud_config')
    .values({ id: 'cloud', station_token: token, active_channels: JSON.stringify(channels), dropped: 0 } as never)
    .execute();
  const newId = createEventIds(Date.now);
  const outbox = createOutboxStore(store);
  const write = (...reports: DeviceReport[]) => writeReports(store, reports, newId, enqueueReports);
  return { store, db, devices, id, outbox, write, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

export const eventReport = (deviceId: string, n: number): DeviceReport => ({
  kind: 'event',
  deviceId,
  at: 1_000 + n,
  eventKind: 'device_event',
  data: { action: 'motion_detected', n },
});
export const statusReport = (deviceId: string, to: 'online' | 'offline', at: number): DeviceReport => ({
  kind: 'status',
  deviceId,
  at,
  status: to,
});
