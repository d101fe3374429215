import { randomUUID } from 'node:crypto';
import type { Database, DatabaseTransaction, RemovalEnd, RemovedDevicesTable } from './schema.ts';

export type RemovedDeviceRow = RemovedDevicesTable;

/** How long a removed device keeps its login at most (contracts, section 8). */
const loginKeptMs = 30 * 24 * 60 * 60 * 1000;

/** Devices that were removed on this station. */
export type RemovedDevices = {
  find(externalId: string): Promise<RemovedDeviceRow | null>;
  /** Those that keep their login. */
  withLogin(): Promise<RemovedDeviceRow[]>;
  /** Its handshake is answered `unknown_device`. */
  noteAnswer(removal: RemovedDeviceRow, at: number): Promise<void>;
  /**
   * Ends its login, and notes in the same transaction that the broker must remove it.
   * @returns false when it had ended, or the device was added again.
   */
  end(removal: RemovedDeviceRow, ended: RemovalEnd, at: number): Promise<boolean>;
};

export const createRemovedDevices = (db: Database): RemovedDevices => ({
  find: async (externalId) => {
    const query = db.selectFrom('removed_devices').selectAll().where('external_id', '=', externalId);
    return (await query.executeTakeFirst()) ?? null;
  },
  withLogin: () => db.selectFrom('removed_devices').selectAll().where('ended', 'is', null).execute(),
  noteAnswer: async ({ device_id: deviceId }, at) => {
    await db
      .updateTable('removed_devices')
      .set(({ eb }) => ({ answers: eb('answers', '+', 1), answered_at: at }))
      .where('device_id', '=', deviceId)
      .execute();
  },
  end: ({ device_id: deviceId, external_id: externalId }, ended, at) =>
    db.transaction().execute(async (transaction) => {
      const updated = await transaction
        .updateTable('removed_devices')
        .set({ ended, ended_at: at, token_hash: null })
        .where('device_id', '=', deviceId)
        .where('ended', 'is', null)
        .executeTakeFirst();
      if (updated.numUpdatedRows === 0n) return false;
      await transaction
        .insertInto('removed_logins')
        .values({ device_id: deviceId, external_id: externalId })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return true;
    }),
});

/** Deletes the device and remembers it. Null: there is no such device. */
export async function removeDevice(
  transaction: DatabaseTransaction,
  id: string,
  now: number,
): Promise<RemovedDeviceRow | null> {
  const query = transaction.deleteFrom('devices').where('id', '=', id).returningAll();
  const device = await query.executeTakeFirst();
  if (device === undefined) return null;
  const { external_id, name, type, device_token } = device;
  const removal = {
    device_id: id,
    name,
    type,
    removed_at: now,
    login_until: now + loginKeptMs,
    token_hash: device_token,
    command_id: randomUUID(),
    answers: 0,
    answered_at: null,
    ended: null,
    ended_at: null,
  };
  await transaction
    .insertInto('removed_devices')
    .values({ external_id, ...removal })
    // A release that does not know this table may have added the device again.
    .onConflict((conflict) => conflict.column('external_id').doUpdateSet(removal))
    .execute();
  return { external_id, ...removal };
}

/** Devices that are added are not removed or unknown any more. */
export async function forgetUnregistered(
  transaction: DatabaseTransaction,
  externalIds: readonly string[],
): Promise<void> {
  for (const table of ['removed_devices', 'unknown_devices'] as const) {
    await transaction.deleteFrom(table).where('external_id', 'in', externalIds).execute();
  }
}

/** Logins that still have to be removed at the broker. They are noted when a removed device's login ends. */
export const createRemovedLogins = (db: Database) => ({
  list: (): Promise<{ deviceId: string; externalId: string }[]> =>
    db
      .selectFrom('removed_logins')
      .select(['device_id as deviceId', 'external_id as externalId'])
      .orderBy('device_id')
      .execute(),
  /** The login was removed at the broker, or belongs to a device that was added again. */
  forget: async ({ deviceId }: { deviceId: string }): Promise<void> => {
    await db.deleteFrom('removed_logins').where('device_id', '=', deviceId).execute();
  },
});
