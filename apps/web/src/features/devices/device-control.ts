import { createContext } from 'react';
import type { CommandRequest, DeviceCommand } from '@station/protocol/device-commands';
import type { Device } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import { ownValue } from '@station/protocol/own-value';
import { asProblem, type Problem } from '../../api/request.ts';
import { createStore, type Store, type WritableStore } from '../../api/store.ts';

/** Values of a device's state that a command sets. */
export type Values = Readonly<Record<string, unknown>>;

/** Why a command is no longer shown. After `no_answer` it may still have worked. */
export type Refusal =
  | { because: 'no_answer' }
  | { because: 'refused' }
  /** The station itself did not take the command. */
  | { because: 'not_sent'; problem: Problem };

/** What is shown of a command to one device, besides the state that the device reports. */
export type CommandState = {
  /** Shown as the device's state until the device confirms. */
  values: Values;
  /** Null while it is pending. */
  refusal: Refusal | null;
};

export type DeviceControl = {
  /** By device; one without a command to show is not in it. */
  commands: Store<ReadonlyMap<string, CommandState>>;
  /** Shows `values` at once and sends the command; a later one for the same device replaces it. */
  send(deviceId: string, request: CommandRequest, values: Values): Promise<void>;
  onMessage(message: ServerMessage): void;
  /** The known state of the devices, from any source: a command that took effect needs no other confirmation. */
  onDevices(devices: readonly Device[]): void;
  /** The station has become silent: a command that it has not answered is no longer shown as done. It may still have worked. */
  doubt(): void;
  clear(): void;
};

/** Where tiles and pages of devices find the one control. */
export const DeviceControlContext = createContext<DeviceControl | null>(null);

/** Longer than the station itself waits for a device, so that its answer comes first. If that is lost, the state is read. */
export const readAfterMs = 15_000;
/** How long after that the reading may take. */
export const giveUpAfterMs = 5_000;
const keptOutcomes = 50;

type Outcome = DeviceCommand['status'];

type ControlParts = {
  send: (deviceId: string, request: CommandRequest) => Promise<DeviceCommand>;
  onConfirmed: (deviceId: string, values: Values) => void;
  /** Reads the devices again and passes them to `onDevices`. */
  readDevices: () => void;
  after: (ms: number, run: () => void) => () => void;
};

/**
 * Optimistic commands: the new values are shown at once, and taken back with a reason when the device does not confirm them.
 * @param parts.onConfirmed the device did it: its values are true from now on, also before its own report of them.
 */
export function createDeviceControl(parts: ControlParts): DeviceControl {
  const control: Control = {
    ...parts,
    commands: createStore<ReadonlyMap<string, CommandState>>(new Map()),
    current: new Map(),
    stateTimes: new Map(),
    outcomes: new Map(),
    lastNumber: 0,
  };
  return {
    commands: control.commands,
    send: (deviceId, request, values) => sendCommand(control, { deviceId, request, values }),
    onMessage: (message) => {
      if (message.type === 'device_removed') dropDevice(control, message.deviceId);
      if (message.type === 'device_command' && message.status !== 'pending') noteOutcome(control, message);
    },
    onDevices: (devices) => {
      for (const device of devices) noteState(control, device);
    },
    doubt: () => {
      for (const [deviceId, { commandId }] of control.current)
        if (commandId === null) settle(control, deviceId, { because: 'no_answer' });
    },
    clear: () => {
      for (const sent of control.current.values()) sent.stop();
      control.current.clear();
      control.stateTimes.clear();
      control.commands.set(new Map());
    },
  };
}

type Control = ControlParts & {
  commands: WritableStore<ReadonlyMap<string, CommandState>>;
  /** The latest command of each device; also one that timed out, because it may still take effect. */
  current: Map<string, SentCommand>;
  /** `stateAt` of the last known state of each device. */
  stateTimes: Map<string, string | null>;
  /** Outcomes by command id: the result of a device may arrive before the response with its command id. */
  outcomes: Map<string, Outcome>;
  lastNumber: number;
};

type SentCommand = {
  number: number;
  commandId: string | null;
  values: Values;
  /** `stateAt` of the state that was known when it was sent. */
  stateAt: string | null;
  /** Cancels its timer. */
  stop: () => void;
};

async function sendCommand(
  control: Control,
  { deviceId, request, values }: { deviceId: string; request: CommandRequest; values: Values },
): Promise<void> {
  const { current } = control;
  current.get(deviceId)?.stop();
  const number = ++control.lastNumber;
  const stateAt = control.stateTimes.get(deviceId) ?? null;
  const sent: SentCommand = { number, commandId: null, values, stateAt, stop: () => undefined };
  sent.stop = control.after(readAfterMs, () => {
    sent.stop = control.after(giveUpAfterMs, () => settle(control, deviceId, { because: 'no_answer' }));
    control.readDevices();
  });
  current.set(deviceId, sent);
  show(control, deviceId, { values, refusal: null });
  const isCurrent = (): boolean => current.get(deviceId)?.number === number;
  try {
    const { commandId, status } = await control.send(deviceId, request);
    if (!isCurrent()) return;
    sent.commandId = commandId;
    conclude(control, deviceId, control.outcomes.get(commandId) ?? status);
  } catch (error) {
    if (isCurrent()) settle(control, deviceId, { because: 'not_sent', problem: asProblem(error) });
  }
}

function dropDevice(control: Control, deviceId: string): void {
  control.current.get(deviceId)?.stop();
  control.current.delete(deviceId);
  show(control, deviceId, null);
}

function noteOutcome(control: Control, { commandId, deviceId, status }: DeviceCommand): void {
  const { outcomes, current } = control;
  outcomes.set(commandId, status);
  const oldest = outcomes.keys().next().value;
  if (outcomes.size > keptOutcomes && oldest !== undefined) outcomes.delete(oldest);
  if (current.get(deviceId)?.commandId === commandId) conclude(control, deviceId, status);
}

function noteState(control: Control, { id, state, stateAt }: Device): void {
  control.stateTimes.set(id, stateAt);
  const sent = control.current.get(id);
  // The state before the tap proves nothing: of two taps in a row the first may not be done yet.
  if (sent === undefined || stateAt === sent.stateAt) return;
  // Of a command that sets no value a state proves nothing.
  if (Object.keys(sent.values).length === 0) return;
  if (Object.entries(sent.values).every(([name, value]) => ownValue(state, name) === value)) settle(control, id, null);
}

function conclude(control: Control, deviceId: string, outcome: Outcome): void {
  if (outcome === 'pending') return;
  if (outcome === 'confirmed') settle(control, deviceId, null);
  else settle(control, deviceId, { because: outcome === 'expired' ? 'no_answer' : 'refused' });
}

function settle(control: Control, deviceId: string, refusal: Refusal | null): void {
  const { current, stateTimes } = control;
  const sent = current.get(deviceId);
  if (sent === undefined) return;
  sent.stop();
  if (refusal === null) {
    current.delete(deviceId);
    // A newer report of the device wins, even when the command's result arrives after it.
    if ((stateTimes.get(deviceId) ?? null) === sent.stateAt) control.onConfirmed(deviceId, sent.values);
  }
  show(control, deviceId, refusal && { values: {}, refusal });
}

function show({ commands }: Control, deviceId: string, state: CommandState | null): void {
  const next = new Map(commands.get());
  if (state === null) next.delete(deviceId);
  else next.set(deviceId, state);
  commands.set(next);
}
