import { randomUUIDv7 } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseJson } from '@station/kit/json';
import { Nullable } from '@station/protocol/nullable';
import { acceptDevice } from '../store/device-store.ts';
import { forgetUnregistered, removeDevice } from '../store/removed-device-store.ts';
import type { Database } from '../store/schema.ts';
import type { GatewayDevicesTable, GatewaysTable } from './gateways-tables.ts';
import { type DevicePlan, type ForeignTopics, longestWaitMs } from './dialect.ts';

export type GatewayRow = GatewaysTable;

/** A device of the station that a gateway has announced. */
export type StoredDevice = { id: string; name: string };

/** An announced device as it is kept. */
export type KeptDevice = {
  externalId: string;
  gatewayId: string;
  name: string;
  topics: ForeignTopics;
  plan: DevicePlan;
  /** Characters of JSON that it takes. */
  size: number;
  wasAdded: boolean;
  goneAt: number | null;
};

/** What a device said in its first handshake. */
type FirstWords = { type: string; firmwareVersion: string; chip: string };

export type GatewayStore = ReturnType<typeof createGatewayStore>;

/** Gateways, what they have announced, and the devices of the station that came of it. */
export const createGatewayStore = (db: Database) => ({
  list: (): Promise<GatewayRow[]> =>
    db.selectFrom('gateways').selectAll().orderBy('created_at').orderBy('id').execute(),
  add: async (gateway: Omit<GatewayRow, 'id'>): Promise<GatewayRow> => {
    const row = { id: randomUUIDv7(), ...gateway };
    await db.insertInto('gateways').values(row).execute();
    return row;
  },
  /** Trees of systems that see the station's devices (ADR 83): what it tells them comes back from none. */
  consumerTrees: async (): Promise<string[]> =>
    (await db.selectFrom('consumers').select('topic').execute()).map(({ topic }) => topic),
  changeToken: async (id: string, tokenHash: string): Promise<void> => {
    await db.updateTable('gateways').set({ token_hash: tokenHash }).where('id', '=', id).execute();
  },
  remove: async (id: string): Promise<void> => {
    await db.deleteFrom('gateways').where('id', '=', id).execute();
  },
  devices: async (): Promise<KeptDevice[]> => {
    const rows = await db.selectFrom('gateway_devices').selectAll().execute();
    return rows.flatMap((row) => keptDevice(row) ?? []);
  },
  /** Those that are devices of the station. */
  present: async (): Promise<ReadonlySet<string>> => {
    const rows = await db
      .selectFrom('gateway_devices')
      .innerJoin('devices', 'devices.external_id', 'gateway_devices.external_id')
      .select('gateway_devices.external_id as externalId')
      .execute();
    return new Set(rows.map(({ externalId }) => externalId));
  },
  save: async (devices: readonly KeptDevice[]): Promise<void> => {
    await db.transaction().execute(async (transaction) => {
      for (const { externalId, gatewayId, name, topics, plan, wasAdded, goneAt } of devices) {
        const kept = JSON.stringify({ ...plan, topics });
        const values = { gateway_id: gatewayId, name, plan: kept, gone_at: goneAt };
        await transaction
          .insertInto('gateway_devices')
          .values({ external_id: externalId, was_added: Number(wasAdded), ...values })
          .onConflict((conflict) => conflict.column('external_id').doUpdateSet(values))
          .execute();
      }
    });
  },
  /** Makes it a device of the station. @returns its id. */
  accept: (externalId: string, name: string, words: FirstWords, now: number): Promise<string> =>
    db.transaction().execute(async (transaction) => {
      const { type, firmwareVersion, chip } = words;
      const device = { externalId, type, name, zoneId: null, firmwareVersion, chip, tokenHash: null };
      const id = await acceptDevice(transaction, device, now);
      await transaction
        .updateTable('gateway_devices')
        .set({ was_added: 1 })
        .where('external_id', '=', externalId)
        .execute();
      return id;
    }),
  /** Follows a name that no person has changed. @returns the device that has another name now. */
  rename: async (externalId: string, from: string, to: string): Promise<string | null> => {
    const renaming = db.updateTable('devices').set({ name: to }).where('external_id', '=', externalId);
    return (await renaming.where('name', '=', from).returning('id').executeTakeFirst())?.id ?? null;
  },
  /** Its gateway knows better what it is. @returns the device that has another type now. */
  retype: async (externalId: string, type: string): Promise<string | null> => {
    const changing = db.updateTable('devices').set({ type }).where('external_id', '=', externalId);
    return (await changing.where('type', '!=', type).returning('id').executeTakeFirst())?.id ?? null;
  },
  /** It leaves the station, which remembers nothing of it. Null: it was no device of the station. */
  leave: (externalId: string, now: number): Promise<StoredDevice | null> =>
    db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('gateway_devices').where('external_id', '=', externalId).execute();
      const query = transaction.selectFrom('devices').select(['id', 'name']).where('external_id', '=', externalId);
      const device = (await query.executeTakeFirst()) ?? null;
      if (device !== null) await removeDevice(transaction, device.id, now);
      await forgetUnregistered(transaction, [externalId]);
      return device;
    }),
});

const Path = Type.Array(Type.String());
const Scalars = Type.Array(Type.Union([Type.String(), Type.Number(), Type.Boolean()]));
const Wait = Type.Integer({ minimum: 1, maximum: longestWaitMs });
/** What reading and writing rely on. */
const Plan = Type.Object({
  properties: Type.Array(
    Type.Object({
      path: Path,
      set: Type.Optional(Path),
      key: Type.String(),
      kind: Type.Enum(['boolean', 'number', 'enum', 'text', 'json']),
      full: Type.Optional(Type.Number()),
      offAfterMs: Type.Optional(Wait),
      values: Type.Optional(Scalars),
      reads: Type.Optional(Scalars),
      writes: Type.Optional(Scalars),
    }),
  ),
  actions: Type.Record(Type.String(), Type.Array(Type.Object({ path: Path, value: Type.Unknown() }))),
  eventKey: Nullable(Type.String()),
  availability: Type.Optional(Type.Object({ online: Type.String(), offline: Type.String() })),
  presence: Type.Optional(
    Type.Array(Type.Object({ topic: Type.String(), path: Path, online: Type.String(), offline: Type.String() })),
  ),
  silentAfterMs: Type.Optional(Wait),
  topics: Type.Object({ heard: Type.Array(Type.String()), command: Type.String() }),
});

function isPlan(value: unknown): value is DevicePlan & { topics: ForeignTopics } {
  return (
    Value.Check(Plan, value) && value.properties.every(({ kind, values }) => kind !== 'enum' || values !== undefined)
  );
}

/** Null: a newer release wrote it, or it came with a backup of somebody else. */
function keptDevice(row: GatewayDevicesTable): KeptDevice | null {
  const kept = parseJson(row.plan);
  if (!isPlan(kept)) return null;
  const { topics, ...plan } = kept;
  return {
    externalId: row.external_id,
    gatewayId: row.gateway_id,
    name: row.name,
    topics,
    plan,
    size: row.plan.length,
    wasAdded: row.was_added === 1,
    goneAt: row.gone_at,
  };
}
