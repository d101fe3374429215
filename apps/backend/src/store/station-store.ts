import { type Clock, isoTime } from '@station/kit/clock';
import type { Role, User } from '@station/protocol/rest';
import type { Database, DatabaseTransaction, StationTable, UsersTable } from './schema.ts';

type StationRow = StationTable;

export type StationStore = {
  read(): Promise<StationRow>;
  change(patch: { name?: string; timeZone?: string }): Promise<void>;
  /** Role on the station: owner by the station record, others by station_members; null for anyone else. */
  roleOf(userId: string): Promise<Role | null>;
  /** Whether the user was the owner before the cloud named another one. */
  wasOwner(userId: string): Promise<boolean>;
};

export function createStationStore(db: Database): StationStore {
  const read = (): Promise<StationRow> =>
    db.selectFrom('station').selectAll().where('id', '=', 'station').executeTakeFirstOrThrow();
  return {
    read,
    change: async ({ name, timeZone }) => {
      const set = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(timeZone === undefined ? {} : { time_zone: timeZone }),
      };
      await db.updateTable('station').set(set).where('id', '=', 'station').execute();
    },
    roleOf: async (userId) => {
      if ((await read()).owner_id === userId) return 'owner';
      const member = db.selectFrom('station_members').select('role').where('user_id', '=', userId);
      return (await member.executeTakeFirst())?.role ?? null;
    },
    wasOwner: async (userId) => {
      const user = db.selectFrom('users').select('home_role').where('id', '=', userId);
      return (await user.executeTakeFirst())?.home_role === 'owner';
    },
  };
}

/** Row of `settings`: the id of the station whose backup was restored here. */
const restoredIdKey = 'restored_station_id';

/** From now on the station has this id, whatever STATION_ID says: its devices know it by this one. */
export async function keepStationId(db: DatabaseTransaction, stationId: string, at: number): Promise<void> {
  await db
    .insertInto('settings')
    .values({ key: restoredIdKey, value: stationId, updated_at: at })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: stationId, updated_at: at }))
    .execute();
  await db.updateTable('station').set({ station_id: stationId }).where('id', '=', 'station').execute();
}

/**
 * Creates the station's only row at the first start. Later, a configured STATION_ID overrides the stored one, unless that one came with a
 * restored backup.
 */
export async function ensureStation(
  db: Database,
  options: { stationId: string | null; generateId: () => string; timeZone: string; clock: Clock },
): Promise<void> {
  await db
    .insertInto('station')
    .values({
      id: 'station',
      station_id: options.stationId ?? options.generateId(),
      name: 'Station',
      time_zone: options.timeZone,
      owner_id: null,
      created_at: options.clock.now(),
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  if (options.stationId === null) return;
  const restored = db.selectFrom('settings').select('value').where('key', '=', restoredIdKey);
  if ((await restored.executeTakeFirst()) !== undefined) return;
  // Only when it differs: a station whose disk is full must start.
  await db
    .updateTable('station')
    .set({ station_id: options.stationId })
    .where('id', '=', 'station')
    .where('station_id', '!=', options.stationId)
    .execute();
}

/** @returns false when the station already has an owner. */
export async function claimOwnership(
  db: DatabaseTransaction,
  owner: { userId: string; stationName: string | undefined },
): Promise<boolean> {
  const name = owner.stationName?.trim();
  const updated = await db
    .updateTable('station')
    .set({ owner_id: owner.userId, ...(name === undefined ? {} : { name }) })
    .where('id', '=', 'station')
    .where('owner_id', 'is', null)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

export type UserRow = UsersTable;

/** Users by id and address. Addresses are kept and compared in lower case. */
export type UserStore = {
  findById(id: string): Promise<UserRow | null>;
  findByEmail(email: string): Promise<UserRow | null>;
};

export function createUserStore(db: Database): UserStore {
  return {
    findById: async (id) => {
      return (await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
    },
    findByEmail: async (email) => {
      const query = db.selectFrom('users').selectAll().where('email', '=', normalEmail(email));
      return (await query.executeTakeFirst()) ?? null;
    },
  };
}

type NewUser = { id: string; email: string; name: string; role: Role; passwordHash: string; createdAt: number };

/** @returns false when another user has this address. */
export async function insertUser(db: DatabaseTransaction, user: NewUser): Promise<boolean> {
  const inserted = await db
    .insertInto('users')
    .values({
      id: user.id,
      email: normalEmail(user.email),
      name: user.name.trim(),
      role: user.role,
      station_password_hash: user.passwordHash,
      cloud_user_id: null,
      created_at: user.createdAt,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

export const normalEmail = (email: string): string => email.trim().toLowerCase();

/** The fields of a user that others may see. */
export const toUser = ({ id, email, name, role, created_at, home_role }: UserRow): User => ({
  id,
  email,
  name,
  role,
  createdAt: isoTime(created_at),
  ...(home_role === 'owner' ? { wasOwner: true } : {}),
});
