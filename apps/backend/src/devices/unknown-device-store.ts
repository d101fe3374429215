import { sql } from 'kysely';
import type { Database, DatabaseTransaction, UnknownDevicesTable } from '../store/schema.ts';

export type UnknownDeviceRow = UnknownDevicesTable;

/** What was seen of a device that the station does not have. */
export type Sighting = {
  externalId: string;
  at: number;
  handshake: { type: string; chip: string; firmwareVersion: string } | null;
  /** SHA-256 (hex) of the token of a refused login. */
  tokenHash: string | null;
  /** Several tokens were presented. */
  isContested: boolean;
};

export type UnknownDeviceStore = {
  /** The latest first. */
  list(): Promise<UnknownDeviceRow[]>;
  find(externalId: string): Promise<UnknownDeviceRow | null>;
  /** Writes sightings in one transaction, and keeps the table small. */
  record(sightings: readonly Sighting[]): Promise<void>;
  /** Until `until` it is added with its handshake, and may log in to the embedded broker with its token. */
  trust(externalId: string, given: { name: string; zoneId: string | null; until: number }): Promise<void>;
  block(externalId: string, isBlocked: boolean): Promise<void>;
  forget(externalId: string): Promise<boolean>;
  /** Number of devices that wait: not blocked, and seen since then. */
  countWaiting(since: number): Promise<number>;
};

const maxRows = 500;
/** Anybody may present any name to the embedded broker; this must not displace devices that can log in. */
const maxRefusedLogins = 50;

export const createUnknownDeviceStore = (db: Database): UnknownDeviceStore => ({
  list: () => db.selectFrom('unknown_devices').selectAll().orderBy('last_seen_at', 'desc').limit(maxRows).execute(),
  find: async (externalId) => {
    const query = db.selectFrom('unknown_devices').selectAll().where('external_id', '=', externalId);
    return (await query.executeTakeFirst()) ?? null;
  },
  record: (sightings) =>
    db.transaction().execute(async (transaction) => {
      for (const sighting of sightings) await recordOne(transaction, sighting);
      await dropOldest(transaction, maxRefusedLogins, sql`type is null and token_hash is not null and blocked = 0`);
      await dropOldest(transaction, maxRows, sql`1 = 1`);
    }),
  trust: async (externalId, { name, zoneId, until }) => {
    await db
      .updateTable('unknown_devices')
      .set({ accepted_name: name, accepted_zone_id: zoneId, accepted_until: until, blocked: 0 })
      .where('external_id', '=', externalId)
      .execute();
  },
  block: async (externalId, isBlocked) => {
    await db
      .updateTable('unknown_devices')
      .set({ blocked: isBlocked ? 1 : 0, accepted_until: null })
      .where('external_id', '=', externalId)
      .execute();
  },
  forget: async (externalId) => {
    const deleted = await db.deleteFrom('unknown_devices').where('external_id', '=', externalId).executeTakeFirst();
    return deleted.numDeletedRows > 0n;
  },
  countWaiting: async (since) => {
    const { count } = await db
      .selectFrom('unknown_devices')
      .select(({ fn }) => fn.countAll<number | string>().as('count'))
      .where('blocked', '=', 0)
      .where('last_seen_at', '>=', since)
      .executeTakeFirstOrThrow();
    return Number(count);
  },
});

async function recordOne(
  transaction: DatabaseTransaction,
  { externalId, at, handshake, tokenHash, isContested }: Sighting,
): Promise<void> {
  const device = transaction.selectFrom('devices').select('id').where('external_id', '=', externalId);
  // It was added meanwhile.
  if ((await device.executeTakeFirst()) !== undefined) return;
  const { type = null, chip = null, firmwareVersion = null } = handshake ?? {};
  await sql`
    insert into unknown_devices
      (external_id, type, chip, firmware_version, first_seen_at, last_seen_at, token_hash, contested)
    values (${externalId}, ${type}, ${chip}, ${firmwareVersion}, cast(${at} as bigint), cast(${at} as bigint),
      ${tokenHash}, ${isContested ? 1 : 0})
    on conflict (external_id) do update set
      type = coalesce(excluded.type, unknown_devices.type),
      chip = coalesce(excluded.chip, unknown_devices.chip),
      firmware_version = coalesce(excluded.firmware_version, unknown_devices.firmware_version),
      last_seen_at = excluded.last_seen_at,
      token_hash = coalesce(unknown_devices.token_hash, excluded.token_hash),
      contested = case
        when coalesce(unknown_devices.accepted_until, 0) > excluded.last_seen_at then unknown_devices.contested
        when excluded.contested = 1 or excluded.token_hash <> unknown_devices.token_hash then 1
        else unknown_devices.contested
      end`.execute(transaction);
}

/** Blocked devices stay longest: they would come back unblocked. */
async function dropOldest(
  transaction: DatabaseTransaction,
  kept: number,
  among: ReturnType<typeof sql>,
): Promise<void> {
  await sql`delete from unknown_devices where external_id in (
    select external_id from unknown_devices where ${among}
    order by blocked desc, case when type is null and token_hash is not null then 0 else 1 end desc, last_seen_at desc, external_id
    limit 1000 offset ${sql.lit(kept)})`.execute(transaction);
}
