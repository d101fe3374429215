import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { deviceTypeOf } from '@station/protocol/device-types';
import { Value } from 'typebox/value';
import type { CommandChange, DeviceEvents, DeviceHappening } from './device-events.ts';
import type { DeviceReport } from './device-report.ts';

export type CommandRequest = {
  deviceId: string;
  action: string;
  params: Readonly<Record<string, unknown>>;
  /** Null when the station sends it by itself. */
  userId: string | null;
};

export type ParamFault = {
  /** RFC 6901, into the parameters. */ pointer: string;
  message: string;
};

export type CommandResult =
  /** The broker has it; `device-events` tells when it is acknowledged, or has failed. */
  | { kind: 'sent'; commandId: string; expiresAt: number }
  | { kind: 'unknown_device' }
  | { kind: 'unknown_action'; known: string[] }
  | { kind: 'bad_params'; faults: ParamFault[] }
  /** The broker cannot be reached, or too many commands wait. */
  | { kind: 'not_delivered' };

export type Commands = Disposable & {
  send(request: CommandRequest): Promise<CommandResult>;
  /** Those that nobody has confirmed yet, oldest first. */
  pending(): readonly CommandChange[];
};

/** What is needed of the broker. @throws (rejects) when it did not take the command. */
export type PublishCommand = (
  externalId: string,
  payload: Record<string, unknown>,
  expiresInMs: number,
) => Promise<void>;

export type CommandTarget = { id: string; externalId: string; type: string };

/** How long a device may take to confirm. */
export const commandExpiryMs = 15_000;
/** More than all devices of a large station at once; beyond it something is wrong with the broker. */
const maxPending = 10_000;

type Pending = CommandChange & { timer: NodeJS.Timeout };

/**
 * Sends commands to devices: validated against the type's registry, followed until the device confirms (`command_ack` with the id, or, from a
 * device that never does so, its next state or handshake) or the command expires.
 */
export function createCommands(options: {
  findDevice: (deviceId: string) => Promise<CommandTarget | null>;
  publish: PublishCommand;
  events: DeviceEvents;
  clock: Clock;
  expiryMs?: number;
}): Commands {
  const { events, clock, expiryMs = commandExpiryMs } = options;
  const pending = new Map<string, Pending>();
  /** Devices that have confirmed with an event: their state alone confirms nothing. */
  const confirming = new Set<string>();

  const end = (command: Pending, status: 'acknowledged' | 'failed', reason: CommandChange['reason']): void => {
    clearTimeout(command.timer);
    if (!pending.delete(command.commandId)) return;
    tell({ ...command, status, reason, at: clock.now() });
  };
  const tell = ({ commandId, deviceId, action, status, userId, at, reason }: CommandChange): void =>
    events.tell({ kind: 'command', command: { commandId, deviceId, action, status, userId, at, reason } });

  const hear = (report: DeviceReport): void => {
    const { deviceId } = report;
    if (report.kind === 'event' && report.data['action'] === 'command_ack') {
      confirming.add(deviceId);
      const command = pending.get(String(report.data['commandId']));
      // By its id alone a device could confirm what another was told.
      if (command?.deviceId === deviceId) end(command, 'acknowledged', null);
    } else if ((report.kind === 'state' || report.kind === 'handshake') && !confirming.has(deviceId)) {
      for (const command of pending.values()) if (command.deviceId === deviceId) end(command, 'acknowledged', null);
    }
  };
  const listening = events.subscribe((happening: DeviceHappening) => {
    if (pending.size > 0 && happening.kind === 'reports') happening.reports.forEach(hear);
    if (happening.kind !== 'removed') return;
    confirming.delete(happening.deviceId);
    for (const command of pending.values()) {
      if (command.deviceId === happening.deviceId) end(command, 'failed', 'not_delivered');
    }
  });

  return {
    send: async ({ deviceId, action, params, userId }) => {
      const device = await options.findDevice(deviceId);
      if (device === null) return { kind: 'unknown_device' };
      const checked = checkCommand(device.type, action, params);
      if (checked.kind !== 'good') return checked;
      if (pending.size >= maxPending) return { kind: 'not_delivered' };
      const commandId = randomUUID();
      const at = clock.now();
      const change: CommandChange = { commandId, deviceId, action, status: 'sent', userId, at, reason: null };
      // Before it is sent: the device may be quicker than the broker's answer.
      const timer = setTimeout(() => end(command, 'failed', 'expired'), expiryMs).unref();
      const command: Pending = { ...change, timer };
      pending.set(commandId, command);
      tell(change);
      try {
        await options.publish(device.externalId, { ...params, action, commandId }, expiryMs);
      } catch {
        end(command, 'failed', 'not_delivered');
        return { kind: 'not_delivered' };
      }
      return { kind: 'sent', commandId, expiresAt: at + expiryMs };
    },
    pending: () => [...pending.values()].map(({ timer: _timer, ...change }) => change),
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]();
      for (const { timer } of pending.values()) clearTimeout(timer);
      pending.clear();
    },
  };
}

type Checked =
  { kind: 'good' } | { kind: 'unknown_action'; known: string[] } | { kind: 'bad_params'; faults: ParamFault[] };

/** Whether a device of this type understands it. Pure. */
export function checkCommand(type: string, action: string, params: Readonly<Record<string, unknown>>): Checked {
  const { commands } = deviceTypeOf(type);
  const command = commands.find((known) => known.action === action);
  if (!command) return { kind: 'unknown_action', known: commands.map((known) => known.action) };
  const faults = Value.Errors(command.params, params).map(({ instancePath, message }) => ({
    pointer: instancePath,
    message,
  }));
  return faults.length === 0 ? { kind: 'good' } : { kind: 'bad_params', faults };
}
