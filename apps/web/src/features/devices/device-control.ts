import { createContext } from 'react';
import type { CommandRequest, DeviceCommand } from '@station/protocol/device-commands';
import type { Device } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import { asProblem, type Problem } from '../../api/request.ts';
import { createStore, type Store } from '../../api/store.ts';

/** Values of the state that a command is about to bring. */
export type Values = Readonly<Record<string, unknown>>;

/** Why a command is no longer shown. After `no_answer` it may still have worked. */
export type Refusal =
  | { because: 'no_answer' }
  | { because: 'refused' }
  /** The station itself did not take the command. */
  | { because: 'not_sent'; problem: Problem };

/** A command to one device, besides the state that the device reports. */
export type Wish = {
  /** Shown as if they were so already, until the device confirms. */
  values: Values;
  /** Null while it is under way. */
  refusal: Refusal | null;
};

export type DeviceControl = {
  /** By device; one without a wish is not in it. */
  wishes: Store<ReadonlyMap<string, Wish>>;
  /** Shows `values` at once and sends the command; a later one for the same device replaces it. */
  ask(deviceId: string, request: CommandRequest, values: Values): Promise<void>;
  hear(message: ServerMessage): void;
  /** The known state of the devices, from any source: a command that took effect needs no other confirmation. */
  see(devices: readonly Device[]): void;
  clear(): void;
};

/** Where tiles and pages of devices find the one control. */
export const DeviceControlContext = createContext<DeviceControl | null>(null);

/** Longer than the station itself waits for a device, so that its answer comes first. If that is lost, the state is read. */
export const readAfterMs = 15_000;
/** A while after that, for the reading. */
export const giveUpAfterMs = 5_000;
const rememberedOutcomes = 50;

type Outcome = DeviceCommand['status'];
type Asked = {
  turn: number;
  commandId: string | null;
  values: Values;
  /** Of when the state was that was known then. */
  stateAt: string | null;
  stop: () => void;
};

/**
 * Optimistic commands: the wish is shown at once, and taken back with a reason when the device does not confirm it.
 * @param onConfirmed the device did it: its values are true from now on, also before its own report of them.
 */
export function createDeviceControl(deps: {
  send: (deviceId: string, request: CommandRequest) => Promise<DeviceCommand>;
  onConfirmed: (deviceId: string, values: Values) => void;
  /** Reads the devices again and passes them to `see`. */
  readDevices: () => void;
  after: (ms: number, run: () => void) => () => void;
}): DeviceControl {
  const wishes = createStore<ReadonlyMap<string, Wish>>(new Map());
  /** The latest command for each device, by its number; also one that timed out, because it may still take effect. */
  const current = new Map<string, Asked>();
  /** Of when the state of each device is that was seen last. */
  const seen = new Map<string, string | null>();
  /** The result of a device may arrive before the response with its command id. */
  const outcomes = new Map<string, Outcome>();
  let turns = 0;

  const set = (deviceId: string, wish: Wish | null): void => {
    const next = new Map(wishes.get());
    if (wish === null) next.delete(deviceId);
    else next.set(deviceId, wish);
    wishes.set(next);
  };
  const settle = (deviceId: string, refusal: Refusal | null): void => {
    const waiting = current.get(deviceId);
    if (waiting === undefined) return;
    waiting.stop();
    if (refusal === null) {
      current.delete(deviceId);
      // A newer report of the device wins, even when the command's result arrives after it.
      if ((seen.get(deviceId) ?? null) === waiting.stateAt) deps.onConfirmed(deviceId, waiting.values);
    }
    set(deviceId, refusal && { values: {}, refusal });
  };
  const conclude = (deviceId: string, outcome: Outcome): void => {
    if (outcome === 'pending') return;
    settle(
      deviceId,
      outcome === 'confirmed'
        ? null
        : { because: outcome === 'expired' ? ('no_answer' as const) : ('refused' as const) },
    );
  };

  return {
    wishes,
    ask: async (deviceId, request, values) => {
      current.get(deviceId)?.stop();
      const turn = ++turns;
      const asked: Asked = {
        turn,
        commandId: null,
        values,
        stateAt: seen.get(deviceId) ?? null,
        stop: () => undefined,
      };
      asked.stop = deps.after(readAfterMs, () => {
        asked.stop = deps.after(giveUpAfterMs, () => settle(deviceId, { because: 'no_answer' }));
        deps.readDevices();
      });
      current.set(deviceId, asked);
      set(deviceId, { values, refusal: null });
      const isCurrent = (): boolean => current.get(deviceId)?.turn === turn;
      try {
        const { commandId, status } = await deps.send(deviceId, request);
        if (!isCurrent()) return;
        asked.commandId = commandId;
        conclude(deviceId, outcomes.get(commandId) ?? status);
      } catch (error) {
        if (isCurrent()) settle(deviceId, { because: 'not_sent', problem: asProblem(error) });
      }
    },
    hear: (message) => {
      if (message.type === 'device_removed') {
        current.get(message.deviceId)?.stop();
        current.delete(message.deviceId);
        set(message.deviceId, null);
      }
      if (message.type !== 'device_command') return;
      const { commandId, deviceId, status } = message;
      if (status === 'pending') return;
      outcomes.set(commandId, status);
      const oldest = outcomes.keys().next().value;
      if (outcomes.size > rememberedOutcomes && oldest !== undefined) outcomes.delete(oldest);
      if (current.get(deviceId)?.commandId === commandId) conclude(deviceId, status);
    },
    see: (devices) => {
      for (const { id, state, stateAt } of devices) {
        seen.set(id, stateAt);
        const asked = current.get(id);
        // The state of before the tap proves nothing: of two taps in a row the first may not be done yet.
        if (asked === undefined || stateAt === asked.stateAt) continue;
        if (Object.entries(asked.values).every(([name, value]) => state[name] === value)) settle(id, null);
      }
    },
    clear: () => {
      for (const asked of current.values()) asked.stop();
      current.clear();
      seen.clear();
      wishes.set(new Map());
    },
  };
}
