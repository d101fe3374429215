import type { Database, DatabaseTransaction } from './schema.ts';
import type { Confirmation } from '../core/command-decide.ts';
import type { CommandCause } from '../core/commands.ts';
import type { CommandChange, DeviceEvents } from '../core/device-events.ts';

export type Ending = Pick<CommandChange, 'status' | 'reason'>;

/** The device confirmed by event. Emitted like any confirmation; the reason stays on disk. */
export const acknowledged = { status: 'confirmed', reason: 'acknowledged' } as const satisfies Ending;

type AddedCommand = {
  expiresAt: number;
  confirmation: Confirmation;
  cause: CommandCause | null;
  /** Those that may be kept. */
  params: Readonly<Record<string, unknown>>;
};

export type CommandStore = {
  /** Writes a command before it is sent, and publishes it. */
  add(command: CommandChange, more: AddedCommand): Promise<void>;
  /** Ends the ones that are still pending, and publishes those. If several replicas end a command, only the first succeeds. */
  end(commandIds: readonly string[], ending: Ending, at: number): Promise<void>;
  /** What confirms it from now on. */
  confirmBy(commandId: string, confirmation: Confirmation): Promise<void>;
  /** Oldest first. */
  pending(): Promise<{ command: CommandChange; expiresAt: number; confirmation: Confirmation | null }[]>;
  /** Ids of devices that acknowledged a command which is still on disk. */
  acknowledging(): Promise<string[]>;
};

/** Runs `work` in a transaction, and emits its result once it is on disk. */
export type CommandTransaction = (work: (db: DatabaseTransaction) => Promise<CommandChange[]>) => Promise<void>;

/** For a single backend. */
export function localCommandTransaction(db: Database, events: DeviceEvents): CommandTransaction {
  return async (work) => {
    const commands = await db.transaction().execute(work);
    for (const command of commands) events.emit({ kind: 'command', command });
  };
}

/** Commands on disk, so that the next run can finish pending ones. Other parameters than those of the state are not stored. */
export function createCommandStore({ db, transact }: { db: Database; transact: CommandTransaction }): CommandStore {
  const rowsPending = () => db.selectFrom('device_commands').selectAll().where('status', '=', 'pending');
  return {
    add: (command, { expiresAt, confirmation, cause, params }) =>
      transact(async (transaction) => {
        const { commandId: id, deviceId: device_id, action, userId: user_id, status, reason, at } = command;
        const row = { id, device_id, action, user_id, status, reason, at, expires_at: expiresAt };
        const stored = {
          ...row,
          confirmation: JSON.stringify(confirmation),
          cause: cause?.kind ?? null,
          cause_id: cause?.id ?? null,
          params: JSON.stringify(params),
        };
        await transaction.insertInto('device_commands').values(stored).execute();
        return [command];
      }),
    end: (commandIds, { status, reason }, at) =>
      transact(async (transaction) => {
        const rows = await transaction
          .updateTable('device_commands')
          .set({ status, reason, at })
          .where('id', 'in', commandIds)
          .where('status', '=', 'pending')
          .returningAll()
          .execute();
        return rows.map(toChange);
      }),
    confirmBy: async (commandId, confirmation) => {
      const stored = { confirmation: JSON.stringify(confirmation) };
      await db.updateTable('device_commands').set(stored).where('id', '=', commandId).execute();
    },
    pending: async () => {
      const rows = await rowsPending().orderBy('at').orderBy('id').execute();
      return rows.map((row) => ({
        command: toChange(row),
        expiresAt: row.expires_at,
        confirmation: readConfirmation(row.confirmation),
      }));
    },
    acknowledging: async () => {
      const { status, reason } = acknowledged;
      const devices = db.selectFrom('device_commands').select('device_id').distinct();
      const rows = await devices.where('status', '=', status).where('reason', '=', reason).execute();
      return rows.map(({ device_id }) => device_id);
    },
  };
}

/** Null when it is missing or unreadable: then only an acknowledgement confirms. */
function readConfirmation(text: string | null): Confirmation | null {
  try {
    return text === null ? null : (JSON.parse(text) as Confirmation);
  } catch {
    return null;
  }
}

type Row = {
  id: string;
  device_id: string;
  action: string;
  user_id: string | null;
  status: CommandChange['status'];
  reason: string | null;
  at: number;
};

const toChange = (row: Row): CommandChange => ({
  commandId: row.id,
  deviceId: row.device_id,
  action: row.action,
  status: row.status,
  reason: row.status === 'failed' ? row.reason : null,
  userId: row.user_id,
  at: row.at,
});
