import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
import type { DeviceEventMessage, Heartbeat } from '@station/protocol/device-messages';
import type { DeviceRemoval } from '@station/protocol/devices';
import type { PublishCommand } from '../core/commands.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import { isSameHash } from '../core/secrets.ts';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import type { UnregisteredAnswer, UnregisteredMessage } from '../mqtt/ports.ts';
import type { DeviceRow, DeviceStore } from '../store/device-store.ts';
import type { RemovedDeviceRow, RemovedDevices } from '../store/removed-device-store.ts';
import type { RemovalEnd } from '../store/schema.ts';
import { decideLoginEnd } from './removal-decide.ts';

export type RemovedDeviceService = AsyncDisposable & {
  /** Null: the device was never removed on this station. */
  receive(message: UnregisteredMessage): Promise<UnregisteredAnswer | null>;
  /** Whether a removed device may log in; null: it is not remembered with a login. */
  mayLogIn(externalId: string, tokenHash: string): Promise<boolean | null>;
};

export type RemovedDeviceParts = {
  removed: RemovedDevices;
  /** Whether the device was added again although the database, an older copy, does not say so. */
  wasAddedAgain: (removal: { externalId: string; deviceId: string }) => boolean;
  events: DeviceEvents;
  trustedTime?: TrustedTime;
  clock: Clock;
  logger: BackendLogger;
};

/** Devices in the field repeat their handshake after 5 s; a flood is answered no faster. */
const answerEveryMs = 3_000;
/** A removed device that goes on is told again. */
const tellEveryMs = 60_000;
const checkEveryMs = 10_000;
/** For the last messages of a device whose login ended. Later it is a device like any other that the station does not have. */
const leavingMs = 60 * 60_000;
/** Another replica may have removed or added the device, and its event may be lost. */
const freshMs = 5_000;
const maxRemembered = 1_000;

type Memory = {
  /** What the database said, by external id. */
  found: Map<string, { removal: RemovedDeviceRow | null; untilMs: number }>;
  /** When a device was told last, monotonic milliseconds, by device id. */
  toldMs: Map<string, number>;
};

/** Tells removed devices that they were removed, and ends their logins. Only these devices are ever told so (contracts, section 8). */
export function startRemovedDevices(parts: RemovedDeviceParts): RemovedDeviceService {
  const { removed, events, trustedTime = alwaysTrusted, clock, logger } = parts;
  const memory: Memory = { found: new Map(), toldMs: new Map() };
  const ending = new AbortController();
  const following = events.subscribe((event) => {
    if (event.kind === 'removed' || event.kind === 'added') memory.found.delete(event.externalId);
  });
  const turn = async (): Promise<number> => {
    for (const removal of await removed.withLogin()) {
      const { login_until: loginUntil, answers, answered_at: answeredAt } = removal;
      const ended = decideLoginEnd({
        now: clock.now(),
        isNowTrue: trustedTime.areAgesTrue(),
        loginUntil,
        answers,
        answeredAt,
      });
      if (ended !== null) await endLogin(parts, memory, removal, ended);
    }
    return checkEveryMs;
  };
  const onFailure = ({ error }: { error: unknown }): void => logger.failed('ending logins of removed devices', error);
  const backoff = constantBackoff(checkEveryMs);
  const checking = runLoop({ turn, waker: createWaker(clock), clock, signal: ending.signal, backoff, onFailure });
  return {
    receive: async (message) => {
      const removal = await find(parts, memory, message.externalId);
      return removal && answer(parts, memory, removal, message);
    },
    mayLogIn: async (externalId, tokenHash) => {
      const removal = await removed.find(externalId);
      // An older copy of the database does not know the new token of a device that was added again.
      if (removal === null || parts.wasAddedAgain({ externalId, deviceId: removal.device_id })) return null;
      if (removal.ended !== null || removal.token_hash === null) return isLeaving(removal, clock.now()) ? false : null;
      return isSameHash(removal.token_hash, tokenHash);
    },
    [Symbol.asyncDispose]: async () => {
      following[Symbol.dispose]();
      ending.abort();
      await checking;
    },
  };
}

const isLeaving = ({ ended_at: endedAt }: RemovedDeviceRow, now: number): boolean =>
  endedAt !== null && now - endedAt < leavingMs;

async function find(
  { removed, clock, wasAddedAgain }: RemovedDeviceParts,
  { found }: Memory,
  externalId: string,
): Promise<RemovedDeviceRow | null> {
  const known = found.get(externalId);
  if (known !== undefined && clock.monotonic() < known.untilMs) return known.removal;
  const removal = await removed.find(externalId);
  const isGone =
    removal !== null &&
    // A device that obeyed was given its login again since, which only a lost database does not know: it is unknown.
    ((removal.ended === 'obeyed' && !isLeaving(removal, clock.now())) ||
      wasAddedAgain({ externalId, deviceId: removal.device_id }));
  if (found.size >= maxRemembered) found.clear();
  found.set(externalId, { removal: isGone ? null : removal, untilMs: clock.monotonic() + freshMs });
  return isGone ? null : removal;
}

async function answer(
  parts: RemovedDeviceParts,
  memory: Memory,
  removal: RemovedDeviceRow,
  { end, body }: UnregisteredMessage,
): Promise<UnregisteredAnswer> {
  const { removed, clock } = parts;
  const { device_id: deviceId, command_id: commandId } = removal;
  if (removal.ended === 'obeyed') return { kind: 'silence' };
  if (end === 'event' && isAcknowledgement(body as DeviceEventMessage, commandId)) {
    await endLogin(parts, memory, removal, 'obeyed');
    return { kind: 'silence' };
  }
  // The last will comes from the broker: nobody is there to be told.
  if (end === 'heartbeat' && (body as Heartbeat).status === 'offline') return { kind: 'silence' };
  const isHandshake = end === 'handshake';
  const toldMs = memory.toldMs.get(deviceId) ?? -Infinity;
  // A removal that is new here was told by the request that removed it.
  const quietMs = isHandshake ? answerEveryMs : tellEveryMs;
  if (clock.monotonic() - toldMs < quietMs) return { kind: 'silence' };
  if (!isHandshake && clock.now() - removal.removed_at < tellEveryMs) return { kind: 'silence' };
  if (memory.toldMs.size >= maxRemembered) memory.toldMs.clear();
  memory.toldMs.set(deviceId, clock.monotonic());
  if (isHandshake) await removed.noteAnswer(removal, clock.now());
  return { kind: 'removed', isHandshake, command: resetCommand(removal) };
}

const isAcknowledgement = ({ data }: DeviceEventMessage, commandId: string): boolean =>
  data.action === 'command_ack' && (data as Record<string, unknown>)['commandId'] === commandId;

const resetCommand = ({ command_id: commandId }: RemovedDeviceRow) => ({ action: 'factory_reset', commandId });

async function endLogin(
  { removed, events, clock, logger }: RemovedDeviceParts,
  { found }: Memory,
  removal: RemovedDeviceRow,
  ended: RemovalEnd,
): Promise<void> {
  const { device_id: deviceId, external_id: externalId } = removal;
  found.delete(externalId);
  if (!(await removed.end(removal, ended, clock.now()))) return;
  logger.event('device_login_ended', { externalId, ended });
  events.emit({ kind: 'login_ended', deviceId, externalId });
}

/** The command must not wait at the broker until the device was perhaps added again. */
const tellWithinMs = 15_000;

/** Removes a device and tells it to erase itself. Null: it was removed meanwhile. */
export async function removeDevice(
  parts: {
    devices: Pick<DeviceStore, 'remove'>;
    publish: PublishCommand;
    events: DeviceEvents;
    logger: BackendLogger;
  },
  { id, external_id: externalId, status }: DeviceRow,
): Promise<DeviceRemoval | null> {
  const { devices, publish, events, logger } = parts;
  const removal = await devices.remove(id);
  if (removal === null) return null;
  events.emit({ kind: 'removed', deviceId: id, externalId });
  const told = status === 'online' && (await isTaken(publish(externalId, resetCommand(removal), tellWithinMs)));
  logger.event('device_removed', { externalId, told });
  return { told, loginUntil: isoTime(removal.login_until) };
}

const isTaken = (publishing: Promise<void>): Promise<boolean> =>
  publishing.then(
    () => true,
    () => false,
  );
