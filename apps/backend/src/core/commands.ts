import { Value } from 'typebox/value';
import { actionsOf, commandSchema } from '@station/protocol/device-command-schemas';
import type { CommandChange } from './device-events.ts';

export type CommandRequest = {
  deviceId: string;
  action: string;
  params: Readonly<Record<string, unknown>>;
  /** Null when the station sends it by itself. */
  userId: string | null;
};

type ParamFault = {
  /** RFC 6901, into the parameters. */ pointer: string;
  message: string;
};

export type CommandResult =
  /**
   * Pending, or failed at once when the broker did not take it. How it goes on is told by `device-events`.
   * `mayHaveEffect`: of one that failed, because the broker did not say whether it took it.
   */
  | { kind: 'accepted'; command: CommandChange; mayHaveEffect?: true }
  | { kind: 'unknown_device' }
  | { kind: 'unknown_action'; known: string[] }
  | { kind: 'bad_params'; faults: ParamFault[] };

export type Commands = Disposable & {
  send(request: CommandRequest): Promise<CommandResult>;
  /** Those that nobody has confirmed yet, oldest first. */
  pending(): readonly CommandChange[];
  /** Follows what is pending on disk: at the start, and when something may have been missed. */
  load(): Promise<void>;
};

/** What is needed of the broker. @throws (rejects) when it did not take the command; UnansweredError when it did not say so. */
export type PublishCommand = (
  externalId: string,
  payload: Record<string, unknown>,
  expiresInMs: number,
) => Promise<void>;

export type CommandTarget = { id: string; externalId: string; type: string };

/** How long a device may take to confirm. */
export const commandExpiryMs = 15_000;

/** A message went out, and the broker did not say whether it took it: what it asks for may happen, or have happened. */
export class UnansweredError extends Error {
  constructor() {
    super('The broker did not answer, or went away before it did');
    this.name = 'UnansweredError';
  }
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
