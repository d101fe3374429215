import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
import type { Handshake } from '@station/protocol/device-messages';
import { isExternalId } from '@station/protocol/topics';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import type { BackendConditions } from '../core/conditions.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { StationEvents } from '../core/station-events.ts';
import { isSameHash } from '../core/secrets.ts';
import type { UnregisteredAnswer, UnregisteredMessage } from '../mqtt/ports.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { Sighting, UnknownDeviceRow, UnknownDeviceStore } from './unknown-device-store.ts';

export type UnknownDevices = AsyncDisposable & {
  receive(message: UnregisteredMessage): Promise<UnregisteredAnswer>;
  /** Notes a login that the embedded broker does not know. @returns whether it is trusted all the same. */
  mayLogIn(externalId: string, tokenHash: string): Promise<boolean>;
  list(): Promise<UnknownDevice[]>;
  /** @param userId who accepts it. */
  accept(externalId: string, given: { name: string; zoneId: string | null }, userId: string): Promise<Acceptance>;
  /** Null: no such device was seen. */
  block(externalId: string, isBlocked: boolean): Promise<UnknownDevice | null>;
  forget(externalId: string): Promise<boolean>;
};

type Acceptance =
  | { kind: 'added'; deviceId: string }
  | { kind: 'trusted'; device: UnknownDevice }
  | { kind: 'not_found' }
  | { kind: 'contested' };

export type UnknownDeviceParts = {
  store: UnknownDeviceStore;
  devices: Pick<DeviceStore, 'accept'>;
  conditions: Pick<BackendConditions, 'set'>;
  events: DeviceEvents;
  /** For the activity. */
  stationEvents: StationEvents;
  clock: Clock;
  logger: BackendLogger;
};

/** How long an accepted login of the embedded broker is trusted. */
const trustMs = 10 * 60_000;
/** How long an accepted device that the broker let in may take for its next handshake. */
const awaitedMs = 30 * 24 * 60 * 60_000;
/** A device that waits is written again after this time; what it says changes earlier at most every `pauseMs`. */
const writeEveryMs = 60_000;
const pauseMs = 1_000;
/** A device in the field repeats an unanswered handshake after 5 minutes. One that is silent for longer left. */
const waitingMs = 24 * 60 * 60_000;
const checkEveryMs = 60_000;
const retryMs = 10_000;
/** Sightings of one second; more are left out. */
const maxPending = 50;
const maxWritten = 1_000;

/** Sightings that wait to be written, and when each device was written last. */
type Recorder = {
  pending: Map<string, Sighting>;
  written: Map<string, { content: string; atMs: number }>;
  wake(): void;
};

/** Keeps the devices that want to connect and that the station does not have. None of them gets an answer before it is accepted. */
export function startUnknownDevices(parts: UnknownDeviceParts): UnknownDevices {
  const { store, events, clock, logger } = parts;
  const ending = new AbortController();
  const waker = createWaker(clock);
  const recorder: Recorder = { pending: new Map(), written: new Map(), wake: waker.wake };
  const following = events.subscribe((event) => {
    if (event.kind !== 'added') return;
    recorder.pending.delete(event.externalId);
    waker.wake();
  });
  const turn = async (signal: AbortSignal): Promise<number> => {
    await flush(parts, recorder);
    await judge(parts);
    await clock.sleep(pauseMs, signal);
    return checkEveryMs;
  };
  const onFailure = ({ error }: { error: unknown }): void => logger.failed('recording unknown devices', error);
  const backoff = constantBackoff(retryMs);
  const recording = runLoop({ turn, waker, clock, signal: ending.signal, backoff, onFailure });
  const find = async (externalId: string): Promise<UnknownDevice | null> => {
    const row = await store.find(externalId);
    return row && toUnknownDevice(row);
  };
  return {
    receive: (message) => receive(parts, recorder, message),
    mayLogIn: (externalId, tokenHash) => mayLogIn(parts, recorder, externalId, tokenHash),
    list: async () => (await store.list()).map(toUnknownDevice),
    accept: (externalId, given, userId) => accept(parts, externalId, given, userId),
    block: async (externalId, isBlocked) => {
      await store.block(externalId, isBlocked);
      await judge(parts);
      return find(externalId);
    },
    forget: async (externalId) => {
      recorder.written.delete(externalId);
      const isForgotten = await store.forget(externalId);
      await judge(parts);
      return isForgotten;
    },
    [Symbol.asyncDispose]: async () => {
      following[Symbol.dispose]();
      ending.abort();
      await recording;
    },
  };
}

async function flush({ store, clock }: UnknownDeviceParts, { pending, written }: Recorder): Promise<void> {
  const sightings = [...pending.values()];
  if (sightings.length === 0) return;
  await store.record(sightings);
  if (written.size > maxWritten) written.clear();
  for (const sighting of sightings) {
    if (pending.get(sighting.externalId) === sighting) pending.delete(sighting.externalId);
    written.set(sighting.externalId, { content: contentOf(sighting), atMs: clock.monotonic() });
  }
}

async function judge({ store, conditions, clock }: UnknownDeviceParts): Promise<void> {
  const count = await store.countWaiting(clock.now() - waitingMs);
  conditions.set('unknown_devices', count > 0, { count });
}

/** A device that floods costs no write for each of its messages. */
function note({ clock }: UnknownDeviceParts, { pending, written, wake }: Recorder, sighting: Sighting): void {
  const { externalId, tokenHash } = sighting;
  const last = written.get(externalId);
  const isRecent = last !== undefined && clock.monotonic() - last.atMs < writeEveryMs;
  const saysNothing = sighting.handshake === null && tokenHash === null;
  const isNews = !isRecent || !(saysNothing || last.content === contentOf(sighting));
  const waiting = pending.get(externalId);
  if (!isNews || (waiting === undefined && pending.size >= maxPending)) return;
  const earlier = waiting?.tokenHash ?? null;
  const isContested = waiting?.isContested === true || (earlier ?? tokenHash) !== (tokenHash ?? earlier);
  pending.set(externalId, {
    ...sighting,
    handshake: sighting.handshake ?? waiting?.handshake ?? null,
    tokenHash: tokenHash ?? earlier,
    isContested,
  });
  wake();
}

const contentOf = ({ handshake, tokenHash }: Sighting): string => JSON.stringify([handshake, tokenHash]);

async function receive(
  parts: UnknownDeviceParts,
  recorder: Recorder,
  { externalId, end, body }: UnregisteredMessage,
): Promise<UnregisteredAnswer> {
  const now = parts.clock.now();
  const sighting = { externalId, at: now, handshake: null, tokenHash: null, isContested: false };
  if (end !== 'handshake') {
    note(parts, recorder, sighting);
    return { kind: 'silence' };
  }
  const { type, chip, firmwareVersion } = body as Handshake;
  const handshake = { type, chip, firmwareVersion };
  const row = await parts.store.find(externalId);
  if (row !== null && isTrusted(row, now)) {
    await add(parts, row, handshake, { name: row.accepted_name ?? externalId, zoneId: row.accepted_zone_id });
    return { kind: 'added' };
  }
  note(parts, recorder, { ...sighting, handshake });
  return { kind: 'silence' };
}

const isTrusted = ({ accepted_until: until, contested }: UnknownDeviceRow, now: number): boolean =>
  until !== null && until > now && contested === 0;

async function mayLogIn(
  parts: UnknownDeviceParts,
  recorder: Recorder,
  externalId: string,
  tokenHash: string,
): Promise<boolean> {
  if (!isExternalId(externalId)) return false;
  const row = await parts.store.find(externalId);
  const now = parts.clock.now();
  if (row !== null && isTrusted(row, now)) return row.token_hash !== null && isSameHash(row.token_hash, tokenHash);
  note(parts, recorder, { externalId, at: now, handshake: null, tokenHash, isContested: false });
  return false;
}

async function accept(
  parts: UnknownDeviceParts,
  externalId: string,
  given: { name: string; zoneId: string | null },
  userId: string,
): Promise<Acceptance> {
  const { store, clock } = parts;
  const row = await store.find(externalId);
  if (row === null) return { kind: 'not_found' };
  if (row.contested === 1) return { kind: 'contested' };
  const { type, chip, firmware_version: firmwareVersion } = row;
  if (type !== null) {
    return { kind: 'added', deviceId: await add(parts, row, { type, chip, firmwareVersion }, given, userId) };
  }
  await store.trust(externalId, { ...given, until: clock.now() + (isLoginRefused(row) ? trustMs : awaitedMs) });
  const trusted = await store.find(externalId);
  return trusted === null ? { kind: 'not_found' } : { kind: 'trusted', device: toUnknownDevice(trusted) };
}

async function add(
  { devices, events, stationEvents, logger }: UnknownDeviceParts,
  { external_id: externalId, token_hash: tokenHash }: UnknownDeviceRow,
  handshake: { type: string; chip: string | null; firmwareVersion: string | null },
  given: { name: string; zoneId: string | null },
  userId?: string,
): Promise<string> {
  const deviceId = await devices.accept({ externalId, ...handshake, ...given, tokenHash });
  logger.event('unknown_device_accepted', { externalId });
  stationEvents.note('device_added', { deviceId, name: given.name }, userId === undefined ? {} : { userId });
  events.emit({ kind: 'added', deviceId, externalId, isLoginKept: true });
  return deviceId;
}

/** Only its refused login was seen. */
const isLoginRefused = ({ type, token_hash: tokenHash }: UnknownDeviceRow): boolean =>
  type === null && tokenHash !== null;

function toUnknownDevice(row: UnknownDeviceRow): UnknownDevice {
  return {
    externalId: row.external_id,
    type: row.type,
    chip: row.chip,
    firmwareVersion: row.firmware_version,
    firstSeenAt: isoTime(row.first_seen_at),
    lastSeenAt: isoTime(row.last_seen_at),
    blocked: row.blocked === 1,
    loginRefused: isLoginRefused(row),
    contested: row.contested === 1,
    acceptedUntil: row.accepted_until === null ? null : isoTime(row.accepted_until),
  };
}
