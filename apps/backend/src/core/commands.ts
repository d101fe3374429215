import { Value } from 'typebox/value';
import { actionsOf, commandSchema } from '@station/protocol/device-command-schemas';
import type { DeviceType } from '@station/protocol/device-types';
import { errorWords } from '@station/protocol/schema-words';
import { deviceTopic } from '@station/protocol/topics';
import type { State } from './device-state.ts';
import type { CommandChange } from './device-events.ts';

export type CommandRequest = {
  deviceId: string;
  action: string;
  params: Readonly<Record<string, unknown>>;
  /** Null when the station sends it automatically. */
  userId: string | null;
  /** Left out: the person of `userId`, or the station itself. */
  cause?: CommandCause;
};

/** What gave a command, for the activity. `id`: of the automation or scene, which may not be kept yet; of a consumer its kind. */
export type CommandCause = { kind: 'person' | 'automation' | 'scene' | 'cloud' | 'consumer'; id: string | null };

type ParamFault = {
  /** RFC 6901, into the parameters. */ pointer: string;
  message: string;
};

export type CommandResult =
  /**
   * Pending, or failed immediately when the broker did not accept it. `device-events` reports later changes.
   * `mayHaveEffect`: the command failed because the broker did not confirm it; the device may still receive it.
   */
  | { kind: 'accepted'; command: CommandChange; mayHaveEffect?: true }
  | { kind: 'unknown_device' }
  | { kind: 'unknown_action'; known: string[] }
  | { kind: 'bad_params'; faults: ParamFault[] }
  /** Larger than the device can receive: it was not sent. */
  | { kind: 'too_large'; bytes: number };

export type Commands = Disposable & {
  send(request: CommandRequest): Promise<CommandResult>;
  /** Commands without confirmation, oldest first. */
  pending(): readonly CommandChange[];
  /** Loads the pending commands from disk: at the start, and after a gap in which events were lost. */
  load(): Promise<void>;
};

/**
 * @throws (rejects) when the broker refused the command; UnansweredError when the broker did not answer; CommandTooLargeError before
 * anything is sent.
 */
export type PublishCommand = (
  externalId: string,
  payload: Record<string, unknown>,
  expiresInMs: number,
) => Promise<void>;

/** `state`: as it is before the command. */
export type CommandTarget = {
  id: string;
  externalId: string;
  type: string;
  state: State;
  /** It speaks through a gateway: it has no commands but those of its type (ADR 82). */
  isForeign?: boolean;
};

/** How long a device may take to confirm. */
export const commandExpiryMs = 15_000;

/** The broker did not confirm a message that was sent: the command may still take effect. */
export class UnansweredError extends Error {
  constructor() {
    super('The broker did not answer, or its connection ended first');
    this.name = 'UnansweredError';
  }
}

/** Devices in the field receive into 1,024 bytes; the rest is for MQTT's own headers (contracts, section 8). */
export const maxCommandBytes = 900;

export class CommandTooLargeError extends Error {
  /** With the topic. */
  readonly bytes: number;

  constructor(bytes: number) {
    super(`The command has ${bytes} bytes with its topic; a device can receive ${maxCommandBytes}`);
    this.name = 'CommandTooLargeError';
    this.bytes = bytes;
  }
}

/** What goes to the device. @throws {CommandTooLargeError} */
export function commandMessage(
  stationId: string,
  externalId: string,
  payload: Readonly<Record<string, unknown>>,
): { topic: string; text: string } {
  const topic = deviceTopic(stationId, externalId, 'command');
  const text = JSON.stringify(payload);
  const bytes = Buffer.byteLength(topic) + Buffer.byteLength(text);
  if (bytes > maxCommandBytes) throw new CommandTooLargeError(bytes);
  return { topic, text };
}

type Checked =
  | { kind: 'good' }
  | { kind: 'unknown_action'; known: string[] }
  | { kind: 'bad_params'; faults: ParamFault[] };

/**
 * Whether a device of this type supports the command. Pure.
 * @param type undefined: the station does not know the type. @param isForeign it has no commands but those of its type.
 */
export function checkCommand(
  type: DeviceType | undefined,
  action: string,
  params: Readonly<Record<string, unknown>>,
  isForeign = false,
): Checked {
  const own = (type?.commands ?? []).map((command) => command.action);
  if (isForeign && !own.includes(action)) return { kind: 'unknown_action', known: own };
  const schema = commandSchema(type, action);
  if (schema === null) return { kind: 'unknown_action', known: actionsOf(type) };
  const faults = Value.Errors(schema, params).map((error) => ({
    pointer: error.instancePath,
    message: errorWords(schema, error),
  }));
  return faults.length === 0 ? { kind: 'good' } : { kind: 'bad_params', faults };
}
