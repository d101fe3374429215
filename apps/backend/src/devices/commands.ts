import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { constantBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import { commonCommands } from '@station/protocol/device-command-schemas';
import { builtInDeviceTypes } from '@station/protocol/device-types';
import {
  checkCommand,
  commandExpiryMs,
  type CommandRequest,
  type CommandResult,
  type Commands,
  type CommandTarget,
  type PublishCommand,
  UnansweredError,
} from '../core/commands.ts';
import type { CommandChange, DeviceEvent, DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { acknowledged, type CommandStore, type Ending } from '../store/command-store.ts';

/** More than one command for each device of a large station; beyond it the broker has a fault. */
const maxPending = 10_000;

const notTaken: Ending = { status: 'failed', reason: 'The broker did not take the command.' };
const unanswered: Ending = { status: 'failed', reason: 'The broker did not say whether it took the command.' };
const deviceRemoved: Ending = { status: 'failed', reason: 'The device was removed.' };
const confirmed: Ending = { status: 'confirmed', reason: null };
const expired: Ending = { status: 'expired', reason: null };
const retryMs = 1_000;

export type CommandsParts = {
  findDevice: (deviceId: string) => Promise<CommandTarget | null>;
  publish: PublishCommand;
  store: CommandStore;
  events: DeviceEvents;
  clock: Clock;
  logger: BackendLogger;
  expiryMs?: number;
};

/**
 * Sends commands to devices: validates them by device type and tracks them until they are confirmed or expire. A device confirms by a
 * `command_ack` event; a device that never sends one, by its next state or handshake (see `isSignOf`). Pending commands are on disk:
 * `load` resumes those of an earlier run or of another replica.
 */
export function createCommands({ expiryMs = commandExpiryMs, ...parts }: CommandsParts): Commands {
  const tracker: Tracker = {
    ...parts,
    expiryMs,
    pending: new Map(),
    acknowledging: new Set(),
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
      for (const { timer } of tracker.pending.values()) clearTimeout(timer);
      tracker.pending.clear();
    },
  };
}

type Tracker = Omit<Required<CommandsParts>, 'events'> & {
  pending: Map<string, Pending>;
  /** Devices that acknowledge by event, also in earlier runs: their states confirm nothing. */
  acknowledging: Set<string>;
  stop: AbortController;
};

type Pending = {
  change: CommandChange;
  /** Null: the expected state is unknown, because parameters are not stored. */
  expected: readonly ExpectedValue[] | null;
  timer: NodeJS.Timeout;
};

async function send(tracker: Tracker, { deviceId, action, params, userId }: CommandRequest): Promise<CommandResult> {
  const { store, clock, expiryMs } = tracker;
  const device = await tracker.findDevice(deviceId);
  if (device === null) return { kind: 'unknown_device' };
  const checked = checkCommand(device.type, action, params);
  if (checked.kind !== 'good') return checked;
  const commandId = randomUUID();
  const at = clock.now();
  const change: CommandChange = { commandId, deviceId, action, status: 'pending', reason: null, userId, at };
  if (tracker.pending.size >= maxPending) return { kind: 'accepted', command: { ...change, ...notTaken } };
  // Tracked before it is sent: the device may answer before the broker does.
  track(tracker, change, at + expiryMs, expectedOf(device.type, action, params));
  try {
    await store.add(change, at + expiryMs);
  } catch (error) {
    forget(tracker, commandId);
    throw error;
  }
  try {
    await tracker.publish(device.externalId, { ...params, action, commandId }, expiryMs);
  } catch (error) {
    const mayHaveEffect = error instanceof UnansweredError;
    const ending = mayHaveEffect ? unanswered : notTaken;
    await end(tracker, [commandId], ending);
    const command = { ...change, ...ending, at: clock.now() };
    return { kind: 'accepted', command, ...(mayHaveEffect ? { mayHaveEffect } : {}) };
  }
  return { kind: 'accepted', command: change };
}

async function load(tracker: Tracker): Promise<void> {
  const { store, pending, acknowledging } = tracker;
  for (const deviceId of await store.acknowledging()) acknowledging.add(deviceId);
  const known = await store.pending();
  const ids = new Set(known.map(({ command }) => command.commandId));
  for (const id of [...pending.keys()]) if (!ids.has(id)) forget(tracker, id);
  for (const { command, expiresAt } of known) track(tracker, command, expiresAt);
}

function handleEvent(tracker: Tracker, event: DeviceEvent): void {
  if (event.kind === 'reports' && tracker.pending.size > 0) {
    handleReports(tracker, event.reports);
  } else if (event.kind === 'command') {
    // Also for commands of another replica: the replica that receives the confirmation ends it.
    const { command } = event;
    if (command.status === 'pending') track(tracker, command, command.at + tracker.expiryMs);
    else forget(tracker, command.commandId);
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
      acknowledging.add(deviceId);
      const { commandId } = report.data;
      const command = typeof commandId === 'string' ? pending.get(commandId) : undefined;
      // Checks the device too: otherwise a device could confirm a command of another one.
      if (command?.change.deviceId === deviceId) acks.add(command.change.commandId);
    } else if (!acknowledging.has(deviceId) && (report.kind === 'state' || report.kind === 'handshake')) {
      for (const { change, expected } of pending.values()) {
        if (change.deviceId === deviceId && isSignOf(report, change.action, expected)) signs.add(change.commandId);
      }
    }
  }
  void end(tracker, [...acks], acknowledged);
  void end(tracker, [...signs], confirmed);
}

function track(
  tracker: Tracker,
  change: CommandChange,
  expiresAt: number,
  expected = expectedWithoutParameters(change.action),
): void {
  const { pending, clock, expiryMs } = tracker;
  if (pending.has(change.commandId)) return;
  const expire = (): void => void end(tracker, [change.commandId], expired);
  const timer = setTimeout(expire, Math.min(expiryMs, Math.max(0, expiresAt - clock.now()))).unref();
  pending.set(change.commandId, { change, expected, timer });
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
  clearTimeout(pending.get(commandId)?.timer);
  pending.delete(commandId);
}

const idsOf = ({ pending }: Tracker, deviceId: string): string[] =>
  [...pending.values()].flatMap(({ change }) => (change.deviceId === deviceId ? [change.commandId] : []));

/** Share of the range: some lamps have only ten brightness steps and choose the nearest one. */
const coarsestStep = 0.1;

/** A state value that a command should cause. `tolerance`: for devices that round to their own steps. */
type ExpectedValue = { capability: string; value: unknown; tolerance: number };

/** The state values after a command was carried out. */
function expectedOf(type: string, action: string, params: Readonly<Record<string, unknown>>): readonly ExpectedValue[] {
  const command = builtInDeviceTypes
    .find((known) => known.type === type)
    ?.commands.find((one) => one.action === action);
  return (command?.parameters ?? []).flatMap(({ name, capability, min, max }) => {
    if (capability === null) return [];
    return [
      { capability, value: params[name], tolerance: min === null || max === null ? 0 : (max - min) * coarsestStep },
    ];
  });
}

/** As {@link expectedOf}, for a command whose parameters are no longer known; null when they matter. */
const expectedWithoutParameters = (action: string): readonly ExpectedValue[] | null =>
  Object.hasOwn(commonCommands, action) ? [] : null;

/**
 * Whether a report counts as a confirmation, for a device that never confirms by event: a state that does not contradict the command.
 * A handshake confirms only commands that restart the device, because each connect causes a handshake.
 */
function isSignOf(report: DeviceReport, action: string, expected: readonly ExpectedValue[] | null): boolean {
  if (report.kind === 'handshake') return Object.hasOwn(commonCommands, action);
  if (report.kind !== 'state' || expected === null) return false;
  return expected.every(({ capability, value, tolerance }) => {
    const reported = report.state[capability];
    if (typeof reported === 'number' && typeof value === 'number') return Math.abs(reported - value) <= tolerance;
    return reported === undefined || reported === value;
  });
}
