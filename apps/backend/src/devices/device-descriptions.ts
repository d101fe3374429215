import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { sql } from 'kysely';
import { type DeviceType, maxDeviceTypeBytes, readDeviceType } from '@station/protocol/device-types';
import type { AnnouncedType, TypedDevice } from '../core/type-registry.ts';
import type { DeviceEvent, DeviceEvents } from '../core/device-events.ts';
import type { Database } from '../store/schema.ts';

/** A device that describes itself anew more often is heard this often; its latest description counts then. */
const changeEveryMs = 10_000;

/** What the devices say about themselves: one description a device, which counts for that device alone (ADR 69). */
export type DeviceDescriptions = AsyncDisposable & {
  find(deviceId: string): DeviceType | undefined;
  all(): readonly AnnouncedType[];
  /** Null: the device says nothing about itself. */
  take(device: TypedDevice, description: Readonly<Record<string, unknown>> | null): Promise<void>;
  /** Reads all of them again: events of another replica may be lost. */
  load(): Promise<void>;
};

type DescriptionParts = {
  db: Database;
  events: DeviceEvents;
  log: { refused(faults: readonly string[]): void; added(deviceType: DeviceType): void };
  clock: Clock;
  logger: BackendLogger;
};

/** Devices of one make share an entry. `text`: JSON as it is stored. */
type Description = { text: string; deviceType: DeviceType };

type State = DescriptionParts & {
  known: Map<string, Description>;
  /** Null once a description has changed. */
  grouped: readonly AnnouncedType[] | null;
  /** Devices whose description changed lately. `next`: what they have said since; undefined: nothing else. */
  recent: Map<string, { next: { type: string; text: string } | undefined }>;
  writes: ReturnType<typeof createExclusiveRunner>;
  ending: AbortController;
};

export async function openDeviceDescriptions(parts: DescriptionParts): Promise<DeviceDescriptions> {
  const state: State = {
    ...parts,
    known: new Map(),
    grouped: null,
    recent: new Map(),
    writes: createExclusiveRunner(),
    ending: new AbortController(),
  };
  const listening = parts.events.subscribe((event) => follow(state, event));
  await load(state);
  return {
    find: (deviceId) => state.known.get(deviceId)?.deviceType,
    all: () => (state.grouped ??= group(state.known)),
    take: (device, description) => take(state, device, description),
    load: () => load(state),
    [Symbol.asyncDispose]: async () => {
      state.ending.abort();
      listening[Symbol.dispose]();
      await state.writes.run(async () => undefined);
    },
  };
}

async function load(state: State): Promise<void> {
  const rows = await state.db.selectFrom('device_descriptions').selectAll().execute();
  state.known.clear();
  const read = new Map<string, Description | null>();
  for (const { device_id: id, definition: text } of rows) {
    if (!read.has(text)) read.set(text, readStored(text));
    remember(state, id, read.get(text) ?? null);
  }
  state.grouped = null;
}

/** Null for a row of a newer release, which this one cannot read. */
function readStored(text: string): Description | null {
  try {
    const read = readDeviceType(JSON.parse(text));
    return read.kind === 'ok' ? { text, deviceType: read.deviceType } : null;
  } catch {
    return null;
  }
}

function remember(state: State, deviceId: string, description: Description | null): void {
  if (description === null) state.known.delete(deviceId);
  else state.known.set(deviceId, description);
  state.grouped = null;
}

function group(known: State['known']): AnnouncedType[] {
  const groups = new Map<string, { deviceType: DeviceType; deviceIds: string[] }>();
  for (const [id, { text, deviceType }] of known) {
    const entry = groups.get(text);
    if (entry === undefined) groups.set(text, { deviceType, deviceIds: [id] });
    else entry.deviceIds.push(id);
  }
  return [...groups.values()];
}

async function take(
  state: State,
  { id, type }: TypedDevice,
  description: Readonly<Record<string, unknown>> | null,
): Promise<void> {
  // A description of another type says nothing about this device.
  const text = description === null || description['type'] !== type ? '' : JSON.stringify(description);
  const recent = state.recent.get(id);
  if (recent !== undefined) {
    recent.next = { type, text };
    return;
  }
  if ((state.known.get(id)?.text ?? '') !== text) await change(state, { id, type }, text);
}

/** @param text empty: the device says nothing about itself. */
async function change(state: State, device: TypedDevice, text: string): Promise<void> {
  const { clock, logger, recent, writes, ending } = state;
  const { id } = device;
  recent.set(id, { next: undefined });
  try {
    await writes.run(() => store(state, device, text));
  } catch (error) {
    logger.failed('storing the description of a device', error);
  }
  const wait = clock.sleep(changeEveryMs, ending.signal).then(
    () => {
      const next = recent.get(id)?.next;
      recent.delete(id);
      if (next !== undefined && (state.known.get(id)?.text ?? '') !== next.text)
        void change(state, { id, type: next.type }, next.text);
    },
    () => undefined,
  );
  void wait;
}

async function store(state: State, { id }: TypedDevice, text: string): Promise<void> {
  const { db, events, log } = state;
  if (text === '') {
    await db.deleteFrom('device_descriptions').where('device_id', '=', id).execute();
    remember(state, id, null);
    events.emit({ kind: 'described', deviceId: id });
    return;
  }
  const description = checked(text);
  if (Array.isArray(description)) return log.refused(description);
  // Nothing is stored for a device that was removed meanwhile.
  const stored = await db
    .insertInto('device_descriptions')
    .columns(['device_id', 'definition'])
    .expression((from) =>
      from
        .selectFrom('devices')
        .select(['id', sql<string>`cast(${text} as text)`.as('definition')])
        .where('id', '=', id),
    )
    .onConflict((conflict) => conflict.column('device_id').doUpdateSet({ definition: text }))
    .returning('device_id')
    .executeTakeFirst();
  if (stored === undefined) return;
  remember(state, id, sharedBy(state, description));
  log.added(description.deviceType);
  events.emit({ kind: 'described', deviceId: id });
}

/** The description, or its faults. */
function checked(text: string): Description | string[] {
  if (Buffer.byteLength(text) > maxDeviceTypeBytes) return [`It is larger than ${maxDeviceTypeBytes} bytes`];
  const read = readDeviceType(JSON.parse(text));
  return read.kind === 'ok' ? { text, deviceType: read.deviceType } : read.faults;
}

/** A hundred devices of one make need the memory of one. */
function sharedBy({ known }: State, description: Description): Description {
  for (const other of known.values()) if (other.text === description.text) return other;
  return description;
}

function follow(state: State, event: DeviceEvent): void {
  if (event.kind === 'removed') {
    state.recent.delete(event.deviceId);
    remember(state, event.deviceId, null);
  } else if (event.kind === 'described') void reread(state, event.deviceId);
}

/** Another replica may have stored it. */
async function reread(state: State, deviceId: string): Promise<void> {
  const { db, logger } = state;
  try {
    const row = await db
      .selectFrom('device_descriptions')
      .selectAll()
      .where('device_id', '=', deviceId)
      .executeTakeFirst();
    const text = row?.definition ?? '';
    if (text === (state.known.get(deviceId)?.text ?? '')) return;
    const description = text === '' ? null : readStored(text);
    remember(state, deviceId, description && sharedBy(state, description));
  } catch (error) {
    logger.failed('reading the description of a device', error);
  }
}
