import { randomUUIDv7 } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import type { Device as DeviceBody } from '@station/protocol/devices';
import { readFault } from '../core/device-faults.ts';
import { readState } from '../core/device-state.ts';
import { hashToken, newToken } from '../core/secrets.ts';
import { readValueTimes, stateTimesOf } from '../core/value-times.ts';
import { forgetStrangers, removeDevice, type RemovedDeviceRow } from './removed-device-store.ts';
import type { Database, DevicesTable } from './schema.ts';

export type DeviceRow = DevicesTable;

type NewDevice = { externalId: string; type: string; name: string; zoneId: string | null };

/** A device whose login exists already. `tokenHash` null: only the broker knows its token. */
type AcceptedDevice = NewDevice & { firmwareVersion: string | null; chip: string | null; tokenHash: string | null };

export type DeviceStore = {
  /** Sorted by name. */
  list(): Promise<DeviceRow[]>;
  findById(id: string): Promise<DeviceRow | null>;
  findByExternalId(externalId: string): Promise<DeviceRow | null>;
  /** @returns id of the device whose token has this hash. */
  findByTokenHash(tokenHash: string): Promise<string | null>;
  /**
   * Adds a device. If the external id exists, the device is provisioned again and gets a new token. It is not removed or unknown any more.
   * @returns the token in plain text, for the device itself; only its hash is stored.
   */
  provision(device: NewDevice): Promise<{ id: string; token: string }>;
  /** Adds a device that keeps its login. A device that exists stays as it is. @returns its id. */
  accept(device: AcceptedDevice): Promise<string>;
  change(id: string, patch: { name?: string; zoneId?: string | null }): Promise<boolean>;
  /** In the same transaction the removal is remembered. Null: there is no such device. */
  remove(id: string): Promise<RemovedDeviceRow | null>;
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
    provision: async (device) => {
      const token = newToken();
      const values = newDeviceRow(device, hashToken(token), clock.now());
      const { device_token, type, name, zone_id } = values;
      return db.transaction().execute(async (transaction) => {
        const { id } = await transaction
          .insertInto('devices')
          .values(values)
          .onConflict((conflict) => conflict.column('external_id').doUpdateSet({ device_token, type, name, zone_id }))
          .returning('id')
          .executeTakeFirstOrThrow();
        await forgetStrangers(transaction, [device.externalId]);
        return { id, token };
      });
    },
    accept: ({ tokenHash, firmwareVersion, chip, ...device }) => {
      const row = newDeviceRow(device, tokenHash ?? `unknown:${randomUUIDv7()}`, clock.now());
      return db.transaction().execute(async (transaction) => {
        await transaction
          .insertInto('devices')
          .values({ ...row, firmware_version: firmwareVersion, chip })
          .onConflict((conflict) => conflict.column('external_id').doNothing())
          .execute();
        await forgetStrangers(transaction, [device.externalId]);
        const query = transaction.selectFrom('devices').select('id').where('external_id', '=', device.externalId);
        return (await query.executeTakeFirstOrThrow()).id;
      });
    },
    change: async (id, { name, zoneId }) => {
      const set = { ...(name === undefined ? {} : { name }), ...(zoneId === undefined ? {} : { zone_id: zoneId }) };
      const updated = await db.updateTable('devices').set(set).where('id', '=', id).executeTakeFirst();
      return updated.numUpdatedRows === 1n;
    },
    remove: (id) => db.transaction().execute((transaction) => removeDevice(transaction, id, clock.now())),
  };
}

/** The row of a device that was never heard. */
export function newDeviceRow(
  { externalId, type, name, zoneId }: NewDevice,
  deviceToken: string,
  now: number,
): DeviceRow {
  return {
    ...{ id: randomUUIDv7(), external_id: externalId, type, name, zone_id: zoneId, device_token: deviceToken },
    status: 'unknown',
    status_at: null,
    last_seen_at: null,
    state: '{}',
    state_at: null,
    value_times: null,
    fault: null,
    firmware_version: null,
    chip: null,
    kit_tag: null,
    created_at: now,
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
