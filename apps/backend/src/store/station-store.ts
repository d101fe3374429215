import { type Clock, isoTime } from '@station/kit/clock';
import type { Place, User } from '@station/protocol/rest';
import type { Role } from '@station/protocol/roles';
import { type Limitation, limitedRole } from './member-limits.ts';
import type { Database, DatabaseTransaction, StationTable, StoredRole, UsersTable } from './schema.ts';

type StationRow = StationTable;

export type StationStore = {
  read(): Promise<StationRow>;
  change(patch: { name?: string; timeZone?: string; place?: Place | null }): Promise<void>;
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
    change: async ({ name, timeZone, place }) => {
      const set = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(timeZone === undefined ? {} : { time_zone: timeZone }),
        ...(place === undefined ? {} : { latitude: place?.latitude ?? null, longitude: place?.longitude ?? null }),
      };
      await db.updateTable('station').set(set).where('id', '=', 'station').execute();
    },
    roleOf: async (userId) => {
      if ((await read()).owner_id === userId) return 'owner';
      const member = db
        .selectFrom('station_members')
        .innerJoin('users', 'users.id', 'station_members.user_id')
        .leftJoin('member_limits', 'member_limits.user_id', 'users.id')
        .select(['station_members.role', 'member_limits.user_id as limited', 'member_limits.ends_at'])
        .where('station_members.user_id', '=', userId)
        .where('closed_at', 'is', null);
      const found = await member.executeTakeFirst();
      return found === undefined ? null : limitedRole(found);
    },
    wasOwner: async (userId) => {
      const user = db.selectFrom('users').select('home_role').where('id', '=', userId);
      return (await user.executeTakeFirst())?.home_role === 'owner';
    },
  };
}

export const placeOf = ({ latitude, longitude }: StationRow): Place | null =>
  latitude === null || longitude === null ? null : { latitude, longitude };

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
      latitude: null,
      longitude: null,
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

/** Whether this machine knows the time zone. An offset, such as `+02:00`, is none: it never changes, and not every browser knows it. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** @returns false when the station already has an owner. */
export async function claimOwnership(
  db: DatabaseTransaction,
  owner: { userId: string; stationName: string | undefined; timeZone: string | undefined },
): Promise<boolean> {
  const name = owner.stationName?.trim();
  const updated = await db
    .updateTable('station')
    .set({
      owner_id: owner.userId,
      ...(name !== undefined && { name }),
      ...(owner.timeZone !== undefined && isTimeZone(owner.timeZone) && { time_zone: owner.timeZone }),
    })
    .where('id', '=', 'station')
    .where('owner_id', 'is', null)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

/** `ends_at`: the end of a guest; null for all others. */
export type UserRow = Omit<UsersTable, 'role'> & { role: Role; ends_at: number | null };

/** Users by id and address. Addresses are kept and compared in lower case, with composed letters (Unicode, NFC). */
export type UserStore = {
  findById(id: string): Promise<UserRow | null>;
  findByEmail(email: string): Promise<UserRow | null>;
};

export function createUserStore(db: Database): UserStore {
  const find = async (column: 'users.id' | 'users.email', values: readonly string[]): Promise<UserRow | null> => {
    const found = await db
      .selectFrom('users')
      .leftJoin('member_limits', 'member_limits.user_id', 'users.id')
      .selectAll('users')
      .select(['member_limits.user_id as limited', 'member_limits.ends_at'])
      .where(column, 'in', values)
      .execute();
    const [first] = found.toSorted((one, other) => values.indexOf(one.email) - values.indexOf(other.email));
    return first === undefined ? null : withLimits(first);
  };
  return {
    findById: (id) => find('users.id', [id]),
    findByEmail: (email) => find('users.email', emailForms(email)),
  };
}

/** A guest who becomes more than a member has no end any more. */
function withLimits({ limited, ...row }: UsersTable & Limitation): UserRow {
  const role = limitedRole({ ...row, limited });
  return { ...row, role, ends_at: role === 'guest' ? row.ends_at : null };
}

type NewUser = { id: string; email: string; name: string; role: StoredRole; passwordHash: string; createdAt: number };

/** @returns false when another user has this address. */
export async function insertUser(db: DatabaseTransaction, user: NewUser): Promise<boolean> {
  const taken = db.selectFrom('users').select('id').where('email', 'in', emailForms(user.email));
  if ((await taken.executeTakeFirst()) !== undefined) return false;
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

export const normalEmail = (email: string): string => email.trim().toLowerCase().normalize('NFC');

/** As it may be stored, the form that was typed first: earlier releases kept letters as they were typed, composed or not. */
export function emailForms(email: string): string[] {
  const typed = email.trim().toLowerCase();
  return [typed, typed.normalize('NFC'), typed.normalize('NFD')];
}

/** The fields of a user that others may see. */
export const toUser = ({ id, email, name, role, created_at, home_role }: UserRow): User => ({
  id,
  email,
  name,
  role,
  createdAt: isoTime(created_at),
  ...(home_role === 'owner' ? { wasOwner: true } : {}),
});
