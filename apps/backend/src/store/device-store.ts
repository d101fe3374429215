import { randomUUIDv7 } from 'node:crypto';
import { type RawBuilder, sql, type SqlBool } from 'kysely';
import { type Clock, isoTime } from '@station/kit/clock';
import type { Device as DeviceBody, DroppedHistory } from '@station/protocol/devices';
import type { DialectName } from '@station/protocol/gateway-systems';
import { readFault } from '../core/stored-fault.ts';
import { readState } from '../core/device-state.ts';
import { hashToken, newToken } from '../core/secrets.ts';
import { type Sight, sees, zoneList } from '../core/sight.ts';
import { readValueTimes, stateTimesOf } from '../core/value-times.ts';
import { createLoggedReports, type LoggedReports } from './logged-reports.ts';
import { forgetUnregistered, removeDevice, type RemovedDeviceRow } from './removed-device-store.ts';
import type { Database, DatabaseTransaction, DeviceStorageTable, DevicesTable } from './schema.ts';

/** A device with what its history lost; null: nothing was counted yet. */
export type DeviceRow = DevicesTable & { [K in keyof Losses]: Losses[K] | null } & {
  /** Null: it speaks with the station itself. */
  gateway_id: string | null;
  gone_at: number | null;
};
type Losses = Pick<
  DeviceStorageTable,
  'rate_events' | 'rate_values' | 'size_events' | 'size_values' | 'dropped_since' | 'dropped_at'
>;
const losses = ['rate_events', 'rate_values', 'size_events', 'size_values', 'dropped_since', 'dropped_at'] as const;

type NewDevice = { externalId: string; type: string; name: string; zoneId: string | null };

/** A device whose login exists already. `tokenHash` null: only the broker knows its token. */
type AcceptedDevice = NewDevice & { firmwareVersion: string | null; chip: string | null; tokenHash: string | null };

export type DeviceStore = {
  /** Sorted by name. */
  list(): Promise<DeviceRow[]>;
  /**
   * The next devices by name whose stored states have about `maxBytes` together, at least one.
   * @param after name and id of the last device of the previous page; null: from the first.
   * @param zones of these zones only; null: all.
   * @returns also whether no more follow.
   */
  page(
    after: { name: string; id: string } | null,
    maxBytes: number,
    zones: readonly string[] | null,
  ): Promise<{ rows: DeviceRow[]; isLast: boolean }>;
  /** For the station itself; people get `findSeen`. */
  findById(id: string): Promise<DeviceRow | null>;
  /** Null: there is no such device, or the caller may not know that there is one. */
  findSeen(sight: Sight, id: string): Promise<DeviceRow | null>;
  /** The zone of one device, and of each. */
  zoneOf(id: string): Promise<string | null>;
  zones(): Promise<{ id: string; zoneId: string | null }[]>;
  /** Ids of all devices that a caller sees. */
  seen(sight: Sight): Promise<ReadonlySet<string>>;
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

/** Rows of a page; each needs some hundred bytes without its state. */
const pageRows = 500;

/** Ids of the first rows whose states fit; at least one. */
function firstIds(sizes: readonly { id: string; bytes: number }[], maxBytes: number): string[] {
  let bytes = 0;
  const cut = sizes.findIndex((row) => (bytes += row.bytes) > maxBytes);
  return sizes.slice(0, cut === -1 ? sizes.length : Math.max(1, cut)).map(({ id }) => id);
}

/** @param logged what is newer than the tables; unset: nothing. */
export function createDeviceStore({
  db,
  logged = createLoggedReports(),
  clock,
}: {
  db: Database;
  logged?: Pick<LoggedReports, 'over'> | undefined;
  clock: Clock;
}): DeviceStore {
  const first = async (query: { executeTakeFirst(): Promise<DeviceRow | undefined> }): Promise<DeviceRow | null> => {
    const row = await query.executeTakeFirst();
    return row === undefined ? null : (logged.over([row])[0] ?? null);
  };
  const all = () =>
    db
      .selectFrom('devices')
      .leftJoin('device_storage', 'device_storage.device_id', 'devices.id')
      .leftJoin('gateway_devices', 'gateway_devices.external_id', 'devices.external_id')
      .selectAll('devices')
      .select(losses)
      .select(['gateway_devices.gateway_id', 'gateway_devices.gone_at']);

  return {
    list: async () => logged.over(await all().orderBy('devices.name').orderBy('devices.id').execute()),
    page: async (after, maxBytes, zones) => {
      // Compared as the list is ordered. SQLite knows the length of a text without reading it.
      const behind = after === null ? sql`1 = 1` : sql`(name, id) > (${after.name}, ${after.id})`;
      const rest = zones === null ? sql`where ${behind}` : sql`where ${behind} and ${inZones(zones)}`;
      const sizes = await sql<{ id: string; bytes: number }>`
        select id, octet_length(state) as bytes from devices ${rest} order by name, id limit ${pageRows + 1}`.execute(
        db,
      );
      const ids = firstIds(sizes.rows.slice(0, pageRows), maxBytes);
      const rows =
        ids.length === 0
          ? []
          : await all().where('devices.id', 'in', ids).orderBy('devices.name').orderBy('devices.id').execute();
      return { rows: logged.over(rows), isLast: ids.length === sizes.rows.length };
    },
    findById: (id) => first(all().where('devices.id', '=', id)),
    findSeen: async (sight, id) => {
      const device = await first(all().where('devices.id', '=', id));
      return device !== null && sees(sight, device.zone_id) ? device : null;
    },
    zoneOf: async (id) =>
      (await db.selectFrom('devices').select('zone_id').where('id', '=', id).executeTakeFirst())?.zone_id ?? null,
    zones: () => db.selectFrom('devices').select(['id', 'zone_id as zoneId']).execute(),
    seen: async (sight) => {
      const zones = zoneList(sight);
      const query = db.selectFrom('devices').select('id');
      const rows = await (zones === null ? query : query.where(inZones(zones))).execute();
      return new Set(rows.map(({ id }) => id));
    },
    findByExternalId: (externalId) => first(all().where('devices.external_id', '=', externalId)),
    findByTokenHash: async (tokenHash) => (await first(all().where('device_token', '=', tokenHash)))?.id ?? null,
    provision: (device) => provisionDevice(db, device, clock.now()),
    accept: (device) => db.transaction().execute((transaction) => acceptDevice(transaction, device, clock.now())),
    change: async (id, { name, zoneId }) => {
      const set = { ...(name === undefined ? {} : { name }), ...(zoneId === undefined ? {} : { zone_id: zoneId }) };
      const updated = await db.updateTable('devices').set(set).where('id', '=', id).executeTakeFirst();
      return updated.numUpdatedRows === 1n;
    },
    remove: (id) => db.transaction().execute((transaction) => removeDevice(transaction, id, clock.now())),
  };
}

async function provisionDevice(
  db: Database,
  device: Parameters<DeviceStore['provision']>[0],
  now: number,
): ReturnType<DeviceStore['provision']> {
  const token = newToken();
  const values = newDeviceRow(device, hashToken(token), now);
  const { device_token, type, name, zone_id } = values;
  return db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .insertInto('devices')
      .values(values)
      .onConflict((conflict) => conflict.column('external_id').doUpdateSet({ device_token, type, name, zone_id }))
      .returning('id')
      .executeTakeFirstOrThrow();
    await forgetUnregistered(transaction, [device.externalId]);
    return { id, token };
  });
}

/** A condition on `devices`: it speaks with the station itself, so it has firmware and a Wi-Fi of its own (ADR 82). */
export const isOwnDevice: RawBuilder<SqlBool> = sql`devices.external_id not in (select external_id from gateway_devices)`;

/** A condition on `zone_id`. */
export const inZones = (zones: readonly string[]): RawBuilder<SqlBool> =>
  zones.length === 0 ? sql`1 = 0` : sql`zone_id in (${sql.join([...zones])})`;

/** As {@link DeviceStore.accept}, within a transaction. */
export async function acceptDevice(
  transaction: DatabaseTransaction,
  { tokenHash, firmwareVersion, chip, ...device }: AcceptedDevice,
  now: number,
): Promise<string> {
  const row = newDeviceRow(device, tokenHash ?? `unknown:${randomUUIDv7()}`, now);
  await transaction
    .insertInto('devices')
    .values({ ...row, firmware_version: firmwareVersion, chip })
    .onConflict((conflict) => conflict.column('external_id').doNothing())
    .execute();
  await forgetUnregistered(transaction, [device.externalId]);
  const query = transaction.selectFrom('devices').select('id').where('external_id', '=', device.externalId);
  return (await query.executeTakeFirstOrThrow()).id;
}

/** The row of a device that was never heard. */
export function newDeviceRow(
  { externalId, type, name, zoneId }: NewDevice,
  deviceToken: string,
  now: number,
): DevicesTable {
  return {
    id: randomUUIDv7(),
    external_id: externalId,
    type,
    name,
    zone_id: zoneId,
    device_token: deviceToken,
    status: 'unknown',
    status_at: null,
    last_seen_at: null,
    state: '{}',
    state_at: null,
    value_times: null,
    state_times: null,
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
    dropped: toDropped(row),
    fault: fault && { code: fault.code, at: isoTime(fault.at), count: fault.count },
    firmwareVersion: row.firmware_version,
    chip: row.chip,
    ...originOf(row),
    createdAt: isoTime(row.created_at),
  };
}

function originOf({ external_id: id, gateway_id: gatewayId, gone_at: goneAt }: DeviceRow): Pick<DeviceBody, 'origin'> {
  // The id begins with the name of its dialect.
  const [dialect] = id.split(':', 1) as [DialectName];
  return gatewayId === null ? {} : { origin: { gatewayId, dialect, isGone: goneAt !== null } };
}

function toDropped(row: DeviceRow): DroppedHistory | null {
  const { dropped_since: since, dropped_at: at } = row;
  if (since === null || at === null) return null;
  const rateEvents = row.rate_events ?? 0;
  const rateValues = row.rate_values ?? 0;
  const sizeEvents = row.size_events ?? 0;
  const sizeValues = row.size_values ?? 0;
  const reasons = [
    ...(rateEvents + rateValues > 0 ? (['rate'] as const) : []),
    ...(sizeEvents + sizeValues > 0 ? (['size'] as const) : []),
  ];
  const events = rateEvents + sizeEvents;
  const values = rateValues + sizeValues;
  return { events, values, reasons, since: isoTime(since), at: isoTime(at) };
}
