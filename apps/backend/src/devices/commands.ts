import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { actionsOf, commandSchema } from '@station/protocol/device-command-schemas';
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
  /** Pending, or failed at once when the broker did not take it. How it goes on is told by `device-events`. */
  | { kind: 'accepted'; command: CommandChange }
  | { kind: 'unknown_device' }
  | { kind: 'unknown_action'; known: string[] }
  | { kind: 'bad_params'; faults: ParamFault[] };

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

type Ending = Pick<CommandChange, 'status' | 'reason'>;
type Pending = { change: CommandChange; timer: NodeJS.Timeout };

const notTaken: Ending = { status: 'failed', reason: 'The broker did not take the command.' };
const deviceRemoved: Ending = { status: 'failed', reason: 'The device was removed.' };

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
  /** Devices that confirm with an event: a state of theirs confirms nothing. */
  const confirming = new Set<string>();

  /** @returns how it ended; also when it had ended before. */
  const end = ({ change, timer }: Pending, ending: Ending): CommandChange => {
    clearTimeout(timer);
    const ended = { ...change, ...ending, at: clock.now() };
    if (pending.delete(change.commandId)) events.tell({ kind: 'command', command: ended });
    return ended;
  };
  const endAllOf = (deviceId: string, ending: Ending): void => {
    for (const command of pending.values()) if (command.change.deviceId === deviceId) end(command, ending);
  };

  const hear = (report: DeviceReport): void => {
    const { deviceId } = report;
    const confirmed: Ending = { status: 'confirmed', reason: null };
    if (report.kind === 'event' && report.data['action'] === 'command_ack') {
      confirming.add(deviceId);
      const { commandId } = report.data;
      const command = typeof commandId === 'string' ? pending.get(commandId) : undefined;
      // By its id alone a device could confirm what another was told.
      if (command?.change.deviceId === deviceId) end(command, confirmed);
    } else if ((report.kind === 'state' || report.kind === 'handshake') && !confirming.has(deviceId)) {
      endAllOf(deviceId, confirmed);
    }
  };
  const listening = events.subscribe((happening: DeviceHappening) => {
    if (happening.kind === 'reports' && pending.size > 0) happening.reports.forEach(hear);
    if (happening.kind !== 'removed') return;
    confirming.delete(happening.deviceId);
    endAllOf(happening.deviceId, deviceRemoved);
  });

  return {
    send: async ({ deviceId, action, params, userId }) => {
      const device = await options.findDevice(deviceId);
      if (device === null) return { kind: 'unknown_device' };
      const checked = checkCommand(device.type, action, params);
      if (checked.kind !== 'good') return checked;
      const commandId = randomUUID();
      const change: CommandChange = {
        commandId,
        deviceId,
        action,
        status: 'pending',
        reason: null,
        userId,
        at: clock.now(),
      };
      if (pending.size >= maxPending) return { kind: 'accepted', command: { ...change, ...notTaken } };
      // Before it is sent: the device may be quicker than the broker's answer.
      const expire = (): void => void end(command, { status: 'expired', reason: null });
      const command: Pending = { change, timer: setTimeout(expire, expiryMs).unref() };
      pending.set(commandId, command);
      events.tell({ kind: 'command', command: change });
      try {
        await options.publish(device.externalId, { ...params, action, commandId }, expiryMs);
      } catch {
        return { kind: 'accepted', command: end(command, notTaken) };
      }
      return { kind: 'accepted', command: change };
    },
    pending: () => [...pending.values()].map(({ change }) => change),
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
  const schema = commandSchema(type, action);
  if (schema === null) return { kind: 'unknown_action', known: actionsOf(type) };
  const faults = Value.Errors(schema, params).map(({ instancePath, message }) => ({ pointer: instancePath, message }));
  return faults.length === 0 ? { kind: 'good' } : { kind: 'bad_params', faults };
}
