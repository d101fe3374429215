import { randomUUIDv7 } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import type { Handshake } from '@station/protocol/device-messages';
import type { Provisioning } from '@station/protocol/provisioning';
import { hashToken } from '../core/secrets.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { SecretBox } from '../store/secret-box.ts';
import {
  addExpected,
  type Ended,
  endProvisioning,
  type EndStep,
  keptMs,
  maxKept,
  openStatuses,
  type ProvisioningRow,
} from './provisioning-ends.ts';

type OpenStatus = 'queued' | 'writing' | 'waiting';
/** `device`: of the same external id; null: the station does not have it. */
export type OpenProvisioning = {
  row: ProvisioningRow & { status: OpenStatus };
  device: { id: string; isOnline: boolean } | null;
};

export type NewProvisioning = {
  externalId: string;
  deviceType: string | null;
  /** Null: the name of the device, or `defaultName`. */
  name: string | null;
  defaultName: string;
  /** Undefined: not given. */
  zoneId: string | null | undefined;
  method: Provisioning['method'];
  address: string | null;
  status: OpenStatus;
  /** How long it may take from now; null: not limited yet. */
  withinMs: number | null;
  startedBy: string;
  secrets: Secrets;
};

/** What the device still has to get. `token`: plain text. */
export type Secrets = { wifi?: { ssid: string; password: string }; token?: string };

export type ProvisioningStore = ReturnType<typeof createProvisioningStore>;

/** Devices that are being added. `isBrokerExternal`: the broker keeps logins itself, and must be told to remove one. */
export function createProvisioningStore(parts: {
  db: Database;
  box: SecretBox;
  clock: Clock;
  trustedTime?: TrustedTime;
  isBrokerExternal: boolean;
}) {
  const { db, box, clock } = parts;
  const update = async (id: string, set: Partial<ProvisioningRow>, from: readonly OpenStatus[] = openStatuses) => {
    const query = db.updateTable('provisionings').set(set).where('id', '=', id).where('status', 'in', from);
    return (await query.returningAll().executeTakeFirst()) ?? null;
  };
  const sealed = (id: string, secrets: Secrets): string => box.seal(JSON.stringify(secrets), id);
  const openSecrets = ({ id, secrets }: ProvisioningRow): Secrets | null => {
    const text = secrets === null ? null : box.open(secrets, id);
    return text === null ? null : (JSON.parse(text) as Secrets);
  };
  return {
    /** All or none. Null: one of these devices is being added. */
    create: (all: readonly NewProvisioning[]) => create(db, all, clock.now(), sealed),
    /** In the order in which they began. */
    open: () => readOpen(db),
    find: async (id: string): Promise<ProvisioningRow | null> =>
      (await db.selectFrom('provisionings').selectAll().where('id', '=', id).executeTakeFirst()) ?? null,
    findOpen: (externalId: string): Promise<ProvisioningRow | null> => findOpen(db, externalId),
    /** The latest first. */
    list: (): Promise<ProvisioningRow[]> =>
      db
        .selectFrom('provisionings')
        .selectAll()
        .where((where) =>
          where.or([where('status', 'in', openStatuses), where('changed_at', '>=', clock.now() - keptMs)]),
        )
        .orderBy('id', 'desc')
        .limit(maxKept)
        .execute(),
    /** Null: it has ended, or the key is gone. */
    secrets: openSecrets,
    /** A token was made for it, and replaces the one before. `isKept`: it still has to be written, or given to the broker. */
    setToken: (row: ProvisioningRow, token: string, isKept: boolean): Promise<ProvisioningRow | null> => {
      const secrets = { ...openSecrets(row), ...(isKept ? { token } : {}) };
      return update(row.id, { token_hash: hashToken(token), login_at: null, secrets: sealed(row.id, secrets) });
    },
    /** The broker has the login, and no other one for this device. */
    loginMade: ({ id }: ProvisioningRow) => update(id, { login_at: clock.now() }),
    writing: ({ id }: ProvisioningRow) => update(id, { status: 'writing', changed_at: clock.now() }, ['queued']),
    awaitHandshake: (row: ProvisioningRow, withinMs: number) => {
      const { token } = openSecrets(row) ?? {};
      const now = clock.now();
      const secrets = token === undefined ? null : sealed(row.id, { token });
      return update(row.id, { status: 'waiting', changed_at: now, ends_at: now + withinMs, secrets });
    },
    /** The device logged in with the token that was made: a device that the station has loses its old one. Null: it is another token. */
    useLogin: (externalId: string, tokenHash: string): Promise<ProvisioningRow | null> =>
      db.transaction().execute((transaction) => useLogin(transaction, externalId, tokenHash, clock.now())),
    /** What was written to a device that the station has is its login, although the write was cancelled. @returns false: it has none. */
    adoptLogin: async (externalId: string, tokenHash: string): Promise<boolean> => {
      const updating = db.updateTable('devices').set({ device_token: tokenHash });
      return (await updating.where('external_id', '=', externalId).executeTakeFirst()).numUpdatedRows > 0n;
    },
    replaceLogin: (row: ProvisioningRow, at: number) =>
      db.transaction().execute((transaction) => replaceLogin(transaction, row, at)),
    /** It did not end before, and ends now. Null: it had ended. */
    end: ({ id }: ProvisioningRow, step: EndStep): Promise<Ended | null> =>
      db.transaction().execute((transaction) => endProvisioning(transaction, id, step, parts)),
    /** The handshake of a device that the station did not have. @returns null when it has ended, or no such handshake is expected. */
    succeed: ({ id }: ProvisioningRow, handshake: Handshake): Promise<ProvisioningRow | null> =>
      db.transaction().execute((transaction) => addExpected(transaction, id, handshake, clock.now())),
  };
}

async function create(
  db: Database,
  all: readonly NewProvisioning[],
  now: number,
  sealed: (id: string, secrets: Secrets) => string,
): Promise<ProvisioningRow[] | null> {
  class Taken extends Error {}
  const insert = async (transaction: DatabaseTransaction, given: NewProvisioning): Promise<ProvisioningRow> => {
    const { externalId, zoneId } = given;
    const query = transaction.selectFrom('devices').selectAll().where('external_id', '=', externalId);
    const device = await query.executeTakeFirst();
    const id = randomUUIDv7();
    const row: ProvisioningRow = {
      id,
      external_id: externalId,
      device_type: device?.type ?? given.deviceType,
      method: given.method,
      name: given.name ?? device?.name ?? given.defaultName,
      name_given: given.name === null ? 0 : 1,
      zone_id: zoneId === undefined ? (device?.zone_id ?? null) : zoneId,
      zone_given: zoneId === undefined ? 0 : 1,
      address: given.address,
      had_device: device === undefined ? 0 : 1,
      status: given.status,
      error: null,
      started_by: given.startedBy,
      started_at: now,
      changed_at: now,
      ends_at: given.withinMs === null ? null : now + given.withinMs,
      device_id: null,
      token_hash: null,
      login_at: null,
      secrets: sealed(id, given.secrets),
    };
    const adding = transaction
      .insertInto('provisionings')
      .values(row)
      .onConflict((conflict) => conflict.doNothing());
    if ((await adding.returning('id').executeTakeFirst()) === undefined) throw new Taken();
    return row;
  };
  try {
    return await db.transaction().execute(async (transaction) => {
      const rows: ProvisioningRow[] = [];
      for (const given of all) rows.push(await insert(transaction, given));
      return rows;
    });
  } catch (error) {
    if (error instanceof Taken) return null;
    throw error;
  }
}

async function readOpen(db: Database): Promise<OpenProvisioning[]> {
  const rows = await db
    .selectFrom('provisionings')
    .selectAll()
    .where('status', 'in', openStatuses)
    .orderBy('id')
    .execute();
  if (rows.length === 0) return [];
  const devices = await db
    .selectFrom('devices')
    .innerJoin('provisionings', 'provisionings.external_id', 'devices.external_id')
    .where('provisionings.status', 'in', openStatuses)
    .select(['devices.id', 'devices.external_id', 'devices.status'])
    .execute();
  const byExternalId = new Map(devices.map(({ id, external_id, status }) => [external_id, { id, status }]));
  return rows.map((row) => {
    const device = byExternalId.get(row.external_id);
    return {
      row: row as OpenProvisioning['row'],
      device: device === undefined ? null : { id: device.id, isOnline: device.status === 'online' },
    };
  });
}

async function findOpen(db: Database | DatabaseTransaction, externalId: string): Promise<ProvisioningRow | null> {
  const query = db.selectFrom('provisionings').selectAll().where('external_id', '=', externalId);
  return (await query.where('status', 'in', openStatuses).executeTakeFirst()) ?? null;
}

async function useLogin(
  transaction: DatabaseTransaction,
  externalId: string,
  tokenHash: string,
  now: number,
): Promise<ProvisioningRow | null> {
  const rows = transaction.selectFrom('provisionings').selectAll().where('external_id', '=', externalId);
  const row = await rows.where('token_hash', '=', tokenHash).where('status', '<>', 'queued').executeTakeFirst();
  if (row === undefined) return null;
  if (openStatuses.some((status) => status === row.status)) {
    return replaceLogin(transaction, row, row.login_at ?? now);
  }
  // A write that failed, as far as the station knows, had reached the device.
  const updating = transaction.updateTable('devices').set({ device_token: tokenHash });
  const updated = await updating.where('external_id', '=', externalId).executeTakeFirst();
  return updated.numUpdatedRows > 0n ? row : null;
}

/** Null: it has ended. */
async function replaceLogin(
  transaction: DatabaseTransaction,
  { id, external_id: externalId, token_hash: tokenHash }: ProvisioningRow,
  at: number,
): Promise<ProvisioningRow | null> {
  const updating = transaction.updateTable('provisionings').set({ login_at: at }).where('id', '=', id);
  const row = await updating.where('status', 'in', openStatuses).returningAll().executeTakeFirst();
  if (row === undefined || tokenHash === null) return null;
  await transaction
    .updateTable('devices')
    .set({ device_token: tokenHash })
    .where('external_id', '=', externalId)
    .execute();
  return row;
}

export function toProvisioning(row: ProvisioningRow): Provisioning {
  return {
    id: row.id,
    externalId: row.external_id,
    deviceType: row.device_type,
    name: row.name,
    zoneId: row.zone_id,
    method: row.method,
    status: row.status,
    error: row.error,
    startedBy: row.started_by,
    startedAt: isoTime(row.started_at),
    changedAt: isoTime(row.changed_at),
    endsAt: row.ends_at === null ? null : isoTime(row.ends_at),
    deviceId: row.device_id,
  };
}
