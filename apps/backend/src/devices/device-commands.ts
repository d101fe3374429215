import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { after } from '@station/kit/timers';
import type { DeviceType } from '@station/protocol/device-types';
import { constantBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import {
  checkCommand,
  type CommandCause,
  commandExpiryMs,
  commandMessage,
  type CommandRequest,
  type CommandResult,
  type Commands,
  type CommandTarget,
  CommandTooLargeError,
  type PublishCommand,
  UnansweredError,
} from '../core/commands.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import { createEventIds } from '../core/event-ids.ts';
import type { CommandChange, DeviceEvent, DeviceEvents, DeviceReport } from '../core/device-events.ts';
import {
  afterRestart,
  type Confirmation,
  confirmationOf,
  isConfirmedBy,
  isRepeatable,
} from '../core/command-decide.ts';
import { acknowledged, type CommandStore, type Ending } from '../store/command-store.ts';

/** Pending commands: nobody uses up the room of the others. A person has less than a device, and the station (automations) less than all. */
const maxPending = {
  all: 10_000,
  station: 5_000,
  person: 2_000,
  device: 400,
  deviceAndGiver: 100,
} as const;

const notTaken: Ending = { status: 'failed', reason: 'The broker did not take the command.' };
const notReady: Ending = { status: 'failed', reason: 'The device has not answered the commands before this one.' };
const tooMany: Ending = { status: 'failed', reason: 'Too many commands wait for an answer of their devices.' };
const unanswered: Ending = { status: 'failed', reason: 'The broker did not say whether it took the command.' };
const deviceRemoved: Ending = { status: 'failed', reason: 'The device was removed.' };
const confirmed: Ending = { status: 'confirmed', reason: null };
const expired: Ending = { status: 'expired', reason: null };
const retryMs = 1_000;

export type CommandsParts = {
  stationId: string;
  findDevice: (deviceId: string) => Promise<CommandTarget | null>;
  types: DeviceTypes;
  publish: PublishCommand;
  store: CommandStore;
  events: DeviceEvents;
  clock: Clock;
  logger: BackendLogger;
  expiryMs?: number;
};

/**
 * Sends commands to devices: validates them by device type and tracks them until they are confirmed or expire. A device confirms by a
 * `command_ack` event; a device that never sends one, by a report that its type names (`command-decide.ts`). A device that restarts
 * meanwhile gets a repeatable command once more. Pending commands are on disk: `load` resumes those of an earlier run or of another replica.
 */
export function createCommands({ expiryMs = commandExpiryMs, ...parts }: CommandsParts): Commands {
  const tracker: Tracker = {
    ...parts,
    expiryMs,
    pending: new Map(),
    acknowledging: new Set(),
    newId: createEventIds(() => parts.clock.now()),
    stop: new AbortController(),
  };
  const subscription = parts.events.subscribe((event) => handleEvent(tracker, event));
  return {
    send: (request) => send(tracker, request),
    pending: () => [...tracker.pending.values()].map(({ change }) => change),
    load: () => load(tracker),
    [Symbol.dispose]: () => {
      tracker.stop.abort();
      subscription[Symbol.dispose]();
      for (const { timer } of tracker.pending.values()) timer[Symbol.dispose]();
      tracker.pending.clear();
    },
  };
}

type Tracker = Omit<Required<CommandsParts>, 'events'> & {
  pending: Map<string, Pending>;
  /** Devices that acknowledge by event, also in earlier runs: their states confirm nothing. */
  acknowledging: Set<string>;
  /** Ids sort by time: commands are part of the activity. */
  newId: () => string;
  stop: AbortController;
};

type Pending = {
  change: CommandChange;
  confirmation: Confirmation;
  /** Sends it once more; null: it must not be repeated, was repeated already, or was sent by another process. */
  repeat: ((leftMs: number) => Promise<void>) | null;
  /** Monotonic time: a clock that is set changes no wait. */
  untilMs: number;
  timer: Disposable;
};

async function send(tracker: Tracker, request: CommandRequest): Promise<CommandResult> {
  const { deviceId, action, params, userId } = request;
  const { store, clock, expiryMs } = tracker;
  const device = await tracker.findDevice(deviceId);
  if (device === null) return { kind: 'unknown_device' };
  const type = tracker.types.of(device);
  const { isForeign = false } = device;
  const checked = checkCommand(type, action, params, isForeign);
  if (checked.kind !== 'good') return checked;
  const commandId = tracker.newId();
  const at = clock.now();
  const change: CommandChange = { commandId, deviceId, action, status: 'pending', reason: null, userId, at };
  const refusal = refusalOf(tracker, request);
  if (refusal !== null) return { kind: 'accepted', command: { ...change, ...refusal } };
  const expiresAt = at + expiryMs;
  const confirmation = confirmationOf(type, action, params, device.state);
  const payload = { ...params, action, commandId };
  const excess = excessOf(tracker.stationId, device.externalId, payload);
  if (excess !== null) return excess;
  const publish = (expiresInMs: number): Promise<void> => tracker.publish(device.externalId, payload, expiresInMs);
  const repeat = isRepeatable(type, action) ? publish : null;
  // Tracked before it is sent: the device may answer before the broker does.
  track(tracker, { change, expiresAt, confirmation, repeat });
  try {
    await store.add(change, { expiresAt, confirmation, cause: causeOf(request), params: shownParams(type, request) });
  } catch (error) {
    forget(tracker, commandId);
    throw error;
  }
  try {
    await publish(expiryMs);
  } catch (error) {
    const mayHaveEffect = error instanceof UnansweredError;
    const ending = mayHaveEffect ? unanswered : notTaken;
    await end(tracker, [commandId], ending);
    const command = { ...change, ...ending, at: clock.now() };
    return { kind: 'accepted', command, ...(mayHaveEffect ? { mayHaveEffect } : {}) };
  }
  if (!isForeign || confirmation.by !== 'acknowledgement') return { kind: 'accepted', command: change };
  // No report shows the effect, and its gateway has taken it.
  await end(tracker, [commandId], confirmed);
  return { kind: 'accepted', command: { ...change, ...confirmed, at: clock.now() } };
}

/** Null: there is room for one more, in the share of whoever gives it. */
function refusalOf({ pending }: Tracker, { deviceId, userId }: CommandRequest): Ending | null {
  const changes = [...pending.values()].map(({ change }) => change);
  const given = changes.filter((change) => change.userId === userId);
  const ofDevice = changes.filter((change) => change.deviceId === deviceId);
  const both = given.filter((change) => change.deviceId === deviceId);
  if (ofDevice.length >= maxPending.device || both.length >= maxPending.deviceAndGiver) return notReady;
  const share = userId === null ? maxPending.station : maxPending.person;
  return given.length >= share || changes.length >= maxPending.all ? tooMany : null;
}

const causeOf = ({ cause, userId }: CommandRequest): CommandCause | null =>
  cause ?? (userId === null ? null : { kind: 'person', id: null });

const maxShownText = 64;

/** Parameters that the state of the device will show: any other one may be a secret. */
function shownParams(type: DeviceType | undefined, { params }: CommandRequest): Record<string, unknown> {
  const shown = Object.entries(params).filter(
    ([name, value]) =>
      type?.capabilities.some(({ key }) => key === name) === true &&
      (typeof value === 'boolean' ||
        typeof value === 'number' ||
        (typeof value === 'string' && value.length <= maxShownText)),
  );
  return Object.fromEntries(shown);
}

/** Before anything is stored. Null: the device can receive it. */
function excessOf(stationId: string, externalId: string, payload: Record<string, unknown>): CommandResult | null {
  try {
    commandMessage(stationId, externalId, payload);
    return null;
  } catch (error) {
    if (error instanceof CommandTooLargeError) return { kind: 'too_large', bytes: error.bytes };
    throw error;
  }
}

async function load(tracker: Tracker): Promise<void> {
  const { store, pending, acknowledging } = tracker;
  for (const deviceId of await store.acknowledging()) acknowledging.add(deviceId);
  const known = await store.pending();
  const ids = new Set(known.map(({ command }) => command.commandId));
  for (const id of [...pending.keys()]) if (!ids.has(id)) forget(tracker, id);
  for (const { command: change, expiresAt, confirmation } of known) {
    track(tracker, { change, expiresAt, confirmation: confirmation ?? acknowledgementOnly, repeat: null });
  }
}

function handleEvent(tracker: Tracker, event: DeviceEvent): void {
  if (event.kind === 'reports' && tracker.pending.size > 0) {
    handleReports(tracker, event.reports);
  } else if (event.kind === 'command') {
    // Also for commands of another replica: the replica that receives the confirmation ends it.
    const { command } = event;
    if (command.status === 'pending') {
      const expiresAt = command.at + tracker.expiryMs;
      track(tracker, { change: command, expiresAt, confirmation: acknowledgementOnly, repeat: null });
    } else forget(tracker, command.commandId);
  } else if (event.kind === 'removed') {
    tracker.acknowledging.delete(event.deviceId);
    void end(tracker, idsOf(tracker, event.deviceId), deviceRemoved);
  }
}

/** Ends the commands that these reports confirm. */
function handleReports(tracker: Tracker, reports: readonly DeviceReport[]): void {
  const { pending, acknowledging } = tracker;
  const acks = new Set<string>();
  const signs = new Set<string>();
  for (const report of reports) {
    const { deviceId } = report;
    if (report.kind === 'event' && report.data['action'] === 'command_ack') {
      const { commandId } = report.data;
      const command = typeof commandId === 'string' ? pending.get(commandId) : undefined;
      // Checks the device too: otherwise a device could confirm a command of another one.
      if (command?.change.deviceId !== deviceId) continue;
      acknowledging.add(deviceId);
      acks.add(command.change.commandId);
    } else if (!acknowledging.has(deviceId) && (report.kind === 'state' || report.kind === 'handshake')) {
      for (const { change, confirmation } of pending.values()) {
        if (change.deviceId === deviceId && isConfirmedBy(confirmation, report, change.at)) signs.add(change.commandId);
      }
    }
  }
  void end(tracker, [...acks], acknowledged);
  void end(tracker, [...signs], confirmed);
  for (const report of reports) if (report.kind === 'handshake') repeatCommands(tracker, report.deviceId);
}

/** The device has connected, perhaps after a restart in which it lost the command. */
function repeatCommands({ pending, store, clock, logger }: Tracker, deviceId: string): void {
  for (const command of pending.values()) {
    const leftMs = command.untilMs - clock.monotonic();
    if (command.change.deviceId !== deviceId || leftMs <= 0) continue;
    const confirmation = afterRestart(command.confirmation);
    if (confirmation !== command.confirmation) {
      command.confirmation = confirmation;
      // Stored: after a restart of the backend the difference must not confirm it either.
      store.confirmBy(command.change.commandId, confirmation).catch((error: unknown) => {
        logger.failed('storing a command', error);
      });
    }
    const { repeat } = command;
    command.repeat = null;
    // If it fails, the command expires.
    repeat?.(leftMs).catch(() => undefined);
  }
}

const acknowledgementOnly: Confirmation = { by: 'acknowledgement' };

function track(tracker: Tracker, given: Omit<Pending, 'timer' | 'untilMs'> & { expiresAt: number }): void {
  const { pending, clock, expiryMs } = tracker;
  const { expiresAt, ...command } = given;
  const { change } = command;
  if (pending.has(change.commandId)) return;
  const expire = (): void => void end(tracker, [change.commandId], expired);
  const leftMs = Math.min(expiryMs, Math.max(0, expiresAt - clock.now()));
  const timer = after(leftMs, expire);
  pending.set(change.commandId, { ...command, untilMs: clock.monotonic() + leftMs, timer });
}

/** Ends them on disk and emits it, unless another replica was first. Retries until done: no command may stay pending. */
async function end(tracker: Tracker, commandIds: readonly string[], ending: Ending): Promise<void> {
  if (commandIds.length === 0) return;
  const { store, clock, logger, stop } = tracker;
  for (const commandId of commandIds) forget(tracker, commandId);
  const onFailure = ({ error, attempt }: { error: unknown; attempt: number }): void => {
    const message = describeError(error);
    if (attempt === 1) logger.event('unexpected_error', { where: 'ending a command', message });
  };
  const options = { clock, signal: stop.signal, backoff: constantBackoff(retryMs), onFailure };
  await retry(() => store.end(commandIds, ending, clock.now()), options).catch(() => undefined);
}

function forget({ pending }: Tracker, commandId: string): void {
  pending.get(commandId)?.timer[Symbol.dispose]();
  pending.delete(commandId);
}

const idsOf = ({ pending }: Tracker, deviceId: string): string[] =>
  [...pending.values()].flatMap(({ change }) => (change.deviceId === deviceId ? [change.commandId] : []));
