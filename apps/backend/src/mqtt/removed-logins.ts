import type { Database } from '../store/schema.ts';

export type RemovedLogin = { deviceId: string; externalId: string };

/** Logins that the broker is still to be told to take back. They are noted where devices are removed (`devices/device-store.ts`). */
export type RemovedLogins = {
  list(): Promise<RemovedLogin[]>;
  /** It is gone from the broker, or belongs to a device that was added since. */
  forget(login: RemovedLogin): Promise<void>;
};

export function createRemovedLogins(db: Database): RemovedLogins {
  return {
    list: () =>
      db
        .selectFrom('removed_logins')
        .select(['device_id as deviceId', 'external_id as externalId'])
        .orderBy('device_id')
        .execute(),
    forget: async ({ deviceId }) => {
      await db.deleteFrom('removed_logins').where('device_id', '=', deviceId).execute();
    },
  };
}
