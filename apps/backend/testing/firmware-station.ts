import assert from 'node:assert/strict';
import type { Clock } from '@station/kit/clock';
import { createDeviceEvents, type DeviceEvents, type DeviceReport } from '../src/core/device-events.ts';
import { createImageStore, type FirmwareImage, type ImageStore } from '../src/firmware/image-store.ts';
import { defaultSettings } from '../src/firmware/rollout-decide.ts';
import type { RolloutSettings } from '../src/firmware/target-decide.ts';
import { createRolloutStore, type RolloutRecord, type RolloutStore } from '../src/firmware/rollout-store.ts';
import { type Rollouts, startRollouts } from '../src/firmware/rollouts.ts';
import type { Database } from '../src/store/schema.ts';
import type { Store } from '../src/store/database.ts';
import { createDeviceStore, type DeviceStore } from '../src/store/device-store.ts';
import { manualClock } from './manual-clock.ts';
import { recordedLog } from './recorded-log.ts';
import { openTestStore } from './test-store.ts';
import type { CommandRequest, CommandResult } from '../src/core/commands.ts';

export const quick: RolloutSettings = { ...defaultSettings, soakMs: 1_000 };
export const contentOf = (version: string, name = 'climate'): Omit<FirmwareImage, 'ready_at'> => ({
  name,
  version,
  file: `${name}@${version}.bin`,
  path: null,
  checksum: `sha256:${version.padEnd(64, '0').replaceAll('.', 'a')}`,
  size: 1_000,
  chip: null,
  min_version: null,
  needs_approval: null,
});

/** A station whose devices do what the test requests. `restart` keeps only what remains after a crash. */
export async function firmwareStation(count: number, settings = quick) {
  await using opening = new AsyncDisposableStack();
  const store: Store = opening.use(await openTestStore());
  const clock = manualClock();
  const logger = recordedLog();
  const { db } = store;
  const world = {
    db,
    clock,
    devices: createDeviceStore({ db, clock }),
    events: createDeviceEvents(logger),
    images: createImageStore({ db, clock }),
    rolloutStore: createRolloutStore({ db, clock }),
    commands: recordedCommands(clock),
    changes: [] as RolloutRecord[],
    ids: [] as string[],
  };
  const start = (): Rollouts =>
    startRollouts({
      store: world.rolloutStore,
      images: world.images,
      events: world.events,
      urlOf: async ({ file }) => `http://station/firmware/${file}`,
      commands: world.commands,
      onChange: ({ rollout }) => world.changes.push(rollout),
      clock,
      logger,
      settings,
    });
  let rollouts = start();
  opening.defer(async () => rollouts[Symbol.asyncDispose]());
  const add = (version: string | null = '1.0.0', status: 'online' | 'offline' = 'online', kind: DeviceKind = climate) =>
    addDevice(world, { version, status, ...kind });
  for (let index = 0; index < count; index += 1) await add();
  const restart = async (): Promise<void> => {
    await rollouts[Symbol.asyncDispose]();
    rollouts = start();
    await rollouts.settled();
  };
  const opened = opening.move();
  return {
    ...actionsOf(world, () => rollouts),
    ids: world.ids,
    rolloutStore: world.rolloutStore,
    images: world.images,
    changes: world.changes,
    sent: world.commands.sent,
    setFailing: world.commands.setFailing,
    /** Number of commands that devices have executed. */
    carriedOut: { count: 0 },
    add,
    restart,
    rollouts: () => rollouts,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type World = {
  db: Database;
  clock: ReturnType<typeof manualClock>;
  devices: DeviceStore;
  events: DeviceEvents;
  images: ImageStore;
  rolloutStore: RolloutStore;
  ids: string[];
};

/** Records what is sent, or fails every command. */
function recordedCommands(clock: Clock) {
  const sent: CommandRequest[] = [];
  let isFailing = false;
  return {
    sent,
    setFailing: (value: boolean): void => void (isFailing = value),
    send: async (request: CommandRequest): Promise<CommandResult> => {
      if (!isFailing) sent.push(request);
      const { deviceId, action, userId } = request;
      const reason = isFailing ? 'The broker did not take the command.' : null;
      const status = isFailing ? 'failed' : 'pending';
      return {
        kind: 'accepted',
        command: { commandId: 'c', deviceId, action, status, reason, userId, at: clock.now() },
      };
    },
  };
}

type DeviceKind = { type: string; chip: string | null };
const climate: DeviceKind = { type: 'climate', chip: null };

async function addDevice(
  { db, devices, ids }: World,
  { version, status, type, chip }: DeviceKind & { version: string | null; status: 'online' | 'offline' },
) {
  const { id } = await devices.provision({ externalId: `d${ids.length}`, type, name: 'd', zoneId: null });
  await db.updateTable('devices').set({ status, firmware_version: version, chip }).where('id', '=', id).execute();
  ids.push(id);
  return id;
}

/** Actions of devices and of time. Each resolves when the rollouts have processed it. */
function actionsOf({ db, clock, events, images, rolloutStore }: World, rollouts: () => Rollouts) {
  const report = async (...reports: DeviceReport[]): Promise<void> => {
    for (const one of reports) {
      if (one.kind !== 'handshake') continue;
      const set = { firmware_version: one.firmwareVersion, status: 'online' as const, last_seen_at: one.at };
      await db.updateTable('devices').set(set).where('id', '=', one.deviceId).execute();
    }
    events.emit({ kind: 'reports', reports });
    await rollouts().settled();
  };
  const handshakeOf = (deviceId: string, firmwareVersion: string): DeviceReport => {
    return { kind: 'handshake', deviceId, at: clock.now(), firmwareVersion, chip: 'esp32', kitTag: null };
  };
  const rollout = async (version = '2.0.0', name = 'climate'): Promise<RolloutRecord> => {
    const found = await rolloutStore.findFor(name, version);
    assert.ok(found, `a rollout of ${version}`);
    return found;
  };
  return {
    report,
    handshakeOf,
    handshake: (deviceId: string, firmwareVersion: string) => report(handshakeOf(deviceId, firmwareVersion)),
    progress: (deviceId: string, percent: number) => {
      const data = { action: 'ota_progress', percent };
      return report({ kind: 'event', deviceId, at: clock.now(), eventKind: 'device_event', data });
    },
    ready: async (version: string, name?: string): Promise<void> => {
      const image = await images.put(contentOf(version, name));
      assert.ok(image);
      await rollouts().offer(image);
      await rollouts().settled();
    },
    pass: async (ms: number): Promise<void> => {
      clock.advance(ms);
      await rollouts().settled();
    },
    setType: async (deviceId: string, type: string): Promise<void> => {
      await db.updateTable('devices').set({ type }).where('id', '=', deviceId).execute();
    },
    rollout,
    states: async (version = '2.0.0', name?: string): Promise<Record<string, string>> => {
      const targets = await rolloutStore.targets((await rollout(version, name)).id);
      return Object.fromEntries(targets.map(({ deviceId, state }) => [deviceId, state]));
    },
  };
}

/** Every device executes its update commands, until no further ones are sent. */
export async function carryOut(all: Awaited<ReturnType<typeof firmwareStation>>, version = '2.0.0'): Promise<void> {
  while (all.carriedOut.count < all.sent.length) {
    for (const { deviceId } of all.sent.slice(all.carriedOut.count)) {
      all.carriedOut.count += 1;
      await all.progress(deviceId, 50);
      await all.progress(deviceId, 100);
      await all.handshake(deviceId, version);
    }
    await all.pass(quick.soakMs);
    await all.pass(60_000);
  }
}
