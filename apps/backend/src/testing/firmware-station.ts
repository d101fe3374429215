import assert from 'node:assert/strict';
import { createDeviceEvents, type DeviceReport } from '../core/device-events.ts';
import { createImageStore, type FirmwareImage } from '../firmware/image-store.ts';
import { defaultSettings, type RolloutSettings } from '../firmware/rollout-decide.ts';
import { createRolloutStore, type RolloutRecord } from '../firmware/rollout-store.ts';
import { type Rollouts, startRollouts } from '../firmware/rollouts.ts';
import type { Store } from '../store/database.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { manualClock } from './manual-clock.ts';
import { recordedLog } from './recorded-log.ts';
import { openTestStore } from './test-store.ts';
import type { CommandRequest } from '../core/commands.ts';

export const quick: RolloutSettings = { ...defaultSettings, soakMs: 1_000 };
export const contentOf = (version: string): Omit<FirmwareImage, 'ready_at'> => ({
  type: 'climate',
  version,
  file: `climate@${version}.bin`,
  path: null,
  checksum: `sha256:${version.padEnd(64, '0').replaceAll('.', 'a')}`,
  size: 1_000,
  chip: null,
  min_version: null,
});

/** A station with devices that do as the test says; `restart` is what a crash leaves. */
export async function firmwareStation(count: number, settings = quick) {
  await using opening = new AsyncDisposableStack();
  const store: Store = opening.use(await openTestStore());
  const clock = manualClock();
  const logger = recordedLog();
  const { db } = store;
  const devices = createDeviceStore({ db, clock });
  const events = createDeviceEvents(logger);
  const images = createImageStore({ db, clock });
  const rolloutStore = createRolloutStore({ db, clock });
  const sent: CommandRequest[] = [];
  const told: RolloutRecord[] = [];
  let failing = false;
  const start = (): Rollouts =>
    startRollouts({
      store: rolloutStore,
      images,
      events,
      urlOf: ({ file }) => `http://station/firmware/${file}`,
      commands: {
        send: async (request) => {
          if (!failing) sent.push(request);
          const { deviceId, action, userId } = request;
          const reason = failing ? 'The broker did not take the command.' : null;
          const status = failing ? 'failed' : 'pending';
          const command = { commandId: 'c', deviceId, action, status, reason, userId, at: clock.now() } as const;
          return { kind: 'accepted', command };
        },
      },
      tell: ({ rollout }) => told.push(rollout),
      clock,
      logger,
      settings,
    });
  let rollouts = start();
  opening.defer(async () => rollouts[Symbol.asyncDispose]());
  const ids: string[] = [];
  const add = async (version: string | null = '1.0.0', status: 'online' | 'offline' = 'online'): Promise<string> => {
    const { id } = await devices.provision({ externalId: `d${ids.length}`, type: 'climate', name: 'd', zoneId: null });
    await db.updateTable('devices').set({ status, firmware_version: version }).where('id', '=', id).execute();
    ids.push(id);
    return id;
  };
  for (let index = 0; index < count; index += 1) await add();
  const hear = async (...reports: DeviceReport[]): Promise<void> => {
    for (const report of reports) {
      if (report.kind !== 'handshake') continue;
      const set = { firmware_version: report.firmwareVersion, status: 'online' as const, last_seen_at: report.at };
      await db.updateTable('devices').set(set).where('id', '=', report.deviceId).execute();
    }
    events.emit({ kind: 'reports', reports });
    await rollouts.settled();
  };
  const greeting = (deviceId: string, firmwareVersion: string): DeviceReport => {
    return { kind: 'handshake', deviceId, at: clock.now(), firmwareVersion, chip: 'esp32', kitTag: null };
  };
  const handshake = (deviceId: string, firmwareVersion: string) => hear(greeting(deviceId, firmwareVersion));
  const progress = (deviceId: string, percent: number) =>
    hear({
      kind: 'event',
      deviceId,
      at: clock.now(),
      eventKind: 'device_event',
      data: { action: 'ota_progress', percent },
    });
  const ready = async (version: string): Promise<void> => {
    const image = await images.put(contentOf(version));
    assert.ok(image);
    await rollouts.offer(image);
    await rollouts.settled();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await rollouts.settled();
  };
  const rollout = async (version = '2.0.0'): Promise<RolloutRecord> => {
    const found = await rolloutStore.findFor('climate', version);
    assert.ok(found, `a rollout of ${version}`);
    return found;
  };
  const states = async (version = '2.0.0'): Promise<Record<string, string>> => {
    const targets = await rolloutStore.targets((await rollout(version)).id);
    return Object.fromEntries(targets.map(({ deviceId, state }) => [deviceId, state]));
  };
  const restart = async (): Promise<void> => {
    await rollouts[Symbol.asyncDispose]();
    rollouts = start();
    await rollouts.settled();
  };
  const opened = opening.move();
  return {
    ids,
    sent,
    /** How many of them devices have done. */
    obeyed: { count: 0 },
    told,
    images,
    add,
    hear,
    greeting,
    handshake,
    progress,
    ready,
    pass,
    rollout,
    states,
    restart,
    rollouts: () => rollouts,
    setFailing: (value: boolean) => (failing = value),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Lets every device that was told to update do so, until nobody is told any more. */
export async function obey(all: Awaited<ReturnType<typeof firmwareStation>>, version = '2.0.0'): Promise<void> {
  while (all.obeyed.count < all.sent.length) {
    for (const { deviceId } of all.sent.slice(all.obeyed.count)) {
      all.obeyed.count += 1;
      await all.progress(deviceId, 50);
      await all.progress(deviceId, 100);
      await all.handshake(deviceId, version);
    }
    await all.pass(quick.soakMs);
    await all.pass(60_000);
  }
}
