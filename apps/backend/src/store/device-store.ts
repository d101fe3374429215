import { randomUUIDv7 } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import type { Device as DeviceBody } from '@station/protocol/devices';
import { readFault } from '../core/device-faults.ts';
import { readState } from '../core/device-state.ts';
import { hashToken, newToken } from '../core/secrets.ts';
import { readValueTimes, stateTimesOf } from '../core/value-times.ts';
import type { Database, DevicesTable } from './schema.ts';

export type DeviceRow = DevicesTable;

type NewDevice = { externalId: string; type: string; name: string; zoneId: string | null };

export type DeviceStore = {
  /** Sorted by name. */
  list(): Promise<DeviceRow[]>;
  findById(id: string): Promise<DeviceRow | null>;
  findByExternalId(externalId: string): Promise<DeviceRow | null>;
  /** @returns id of the device whose token has this hash. */
  findByTokenHash(tokenHash: string): Promise<string | null>;
  /**
   * Adds a device. If the external id exists, the device is provisioned again and gets a new token.
   * @returns the token in plain text, for the device itself; only its hash is stored.
   */
  provision(device: NewDevice): Promise<{ id: string; token: string }>;
  change(id: string, patch: { name?: string; zoneId?: string | null }): Promise<boolean>;
  /** In the same transaction it notes that the login at the broker must be removed. */
  remove(id: string): Promise<boolean>;
};

export function createDeviceStore({ db, clock }: { db: Database; clock: Clock }): DeviceStore {
  const first = async (query: { executeTakeFirst(): Promise<DeviceRow | undefined> }): Promise<DeviceRow | null> =>
    (await query.executeTakeFirst()) ?? null;
  const all = () => db.selectFrom('devices').selectAll();

  return {
    list: () => all().orderBy('name').orderBy('id').execute(),
    findById: (id) => first(all().where('id', '=', id)),
    findByExternalId: (externalId) => first(all().where('external_id', '=', externalId)),
    findByTokenHash: async (tokenHash) => (await first(all().where('device_token', '=', tokenHash)))?.id ?? null,
    provision: async ({ externalId, type, name, zoneId }) => {
      const token = newToken();
      const device_token = hashToken(token);
      const values = {
        id: randomUUIDv7(),
        external_id: externalId,
        type,
        name,
        zone_id: zoneId,
        device_token,
        status: 'unknown' as const,
        status_at: null,
        last_seen_at: null,
        state: '{}',
        state_at: null,
        value_times: null,
        fault: null,
        firmware_version: null,
        chip: null,
        kit_tag: null,
        created_at: clock.now(),
      };
      const { id } = await db
        .insertInto('devices')
        .values(values)
        .onConflict((conflict) =>
          conflict.column('external_id').doUpdateSet({ device_token, type, name, zone_id: zoneId }),
        )
        .returning('id')
        .executeTakeFirstOrThrow();
      return { id, token };
    },
    change: async (id, { name, zoneId }) => {
      const set = { ...(name === undefined ? {} : { name }), ...(zoneId === undefined ? {} : { zone_id: zoneId }) };
      const updated = await db.updateTable('devices').set(set).where('id', '=', id).executeTakeFirst();
      return updated.numUpdatedRows === 1n;
    },
    remove: (id) =>
      db.transaction().execute(async (transaction) => {
        const query = transaction.deleteFrom('devices').where('id', '=', id).returning('external_id');
        const deleted = await query.executeTakeFirst();
        if (deleted === undefined) return false;
        const { external_id } = deleted;
        await transaction.insertInto('removed_logins').values({ device_id: id, external_id }).execute();
        return true;
      }),
  };
}

/** The fields of a device that people may see. */
export function toDevice(row: DeviceRow): DeviceBody {
  const time = (at: number | null): string | null => (at === null ? null : isoTime(at));
  const fault = readFault(row.fault);
  return {
    id: row.id,
    externalId: row.external_id,
    type: row.type,
    name: row.name,
    zoneId: row.zone_id,
    status: row.status,
    statusAt: time(row.status_at),
    lastSeenAt: time(row.last_seen_at),
    state: readState(row.state),
    stateAt: time(row.state_at),
    stateTimes: stateTimesOf(readValueTimes(row.value_times), row.state_at),
    fault: fault && { code: fault.code, at: isoTime(fault.at), count: fault.count },
    firmwareVersion: row.firmware_version,
    chip: row.chip,
    createdAt: isoTime(row.created_at),
  };
}

/** Logins that still have to be removed at the broker. They are noted when devices are removed. */
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
