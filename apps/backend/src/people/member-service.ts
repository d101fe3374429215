import { randomUUIDv7 } from 'node:crypto';
import { sql } from 'kysely';
import { type AddedMember, type Member, type NewMember } from '@station/protocol/rest';
import { isLimited, type Role } from '@station/protocol/roles';
import { isoTime, type Clock } from '@station/kit/clock';
import { newCode } from '@station/kit/codes';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { Passwords } from './passwords.ts';
import type { Sessions } from './sessions.ts';
import { insertUser } from '../store/station-store.ts';
import { type Limitation, limitedRole, type Rights, setLimits } from '../store/member-limits.ts';
import type { Database, StoredRole } from '../store/schema.ts';

type AddResult =
  | { kind: 'added'; member: AddedMember }
  | { kind: 'exists' }
  | { kind: 'needs_owner' }
  | { kind: 'no_such_zone' };
type ChangeResult = { kind: 'changed'; member: Member } | Refused | { kind: 'no_such_zone' };
/** The user who makes the request, with their role on the station. */
type Caller = { role: Role | null };
export type Refused = { kind: 'unknown' } | { kind: 'is_owner' } | { kind: 'needs_owner' };
type RemoveResult = { kind: 'removed'; member: Member } | Refused;
type PasswordMadeResult = { kind: 'made'; password: string } | Refused;

type Person = Pick<NewMember, 'email' | 'name' | 'password'>;

/** People of the station. A person's global role and role on the station are kept the same. */
export type MemberService = {
  /** The owner first, then by name. */
  list(): Promise<Member[]>;
  /**
   * Without a password in the request the new member gets a generated one, which only the result contains. Only the owner may add an
   * admin.
   */
  add(member: Person, rights: Rights, by: Caller): Promise<AddResult>;
  /** An admin may neither change an admin nor make one. */
  changeRights(userId: string, rights: Rights, by: Caller): Promise<ChangeResult>;
  /** Removes the user with their sessions; an admin may not remove an admin. */
  remove(userId: string, by: Caller): Promise<RemoveResult>;
  /** Replaces a forgotten password by a generated one and ends the user's sessions and passkeys; an admin may not do that for an admin. */
  makePassword(userId: string, by: Caller): Promise<PasswordMadeResult>;
};

type Parts = {
  db: Database;
  passwords: Passwords;
  sessions: Sessions;
  accessTokens: AccessTokens;
  clock: Clock;
};

export function createMemberService(parts: Parts): MemberService {
  return {
    list: () => list(parts.db),
    add: (member, rights, by) => add(parts, member, rights, by),
    changeRights: (userId, rights, by) => changeRights(parts, userId, rights, by),
    remove: (userId, by) => remove(parts, userId, by),
    makePassword: (userId, by) => makePassword(parts, userId, by),
  };
}

async function list(db: Database): Promise<Member[]> {
  const person = ['users.id', 'users.email', 'users.name', 'users.cloud_user_id'] as const;
  const owner = db
    .selectFrom('users')
    .innerJoin('station', 'station.owner_id', 'users.id')
    .select([...person, 'users.role', 'users.created_at as joined_at'])
    .select(() => [sql<null>`null`.as('limited'), sql<null>`null`.as('ends_at')]);
  const members = db
    .selectFrom('station_members')
    .innerJoin('users', 'users.id', 'station_members.user_id')
    .leftJoin('member_limits', 'member_limits.user_id', 'users.id')
    .select([...person, 'station_members.role', 'station_members.joined_at'])
    .select(['member_limits.user_id as limited', 'member_limits.ends_at'])
    .where('users.closed_at', 'is', null)
    .orderBy('users.name')
    .orderBy('users.id');
  const zones = Map.groupBy(await db.selectFrom('member_zones').selectAll().execute(), (row) => row.user_id);
  const rows: MemberRow[] = [...(await owner.execute()), ...(await members.execute())];
  return rows.map((row) =>
    toMember(
      row,
      (zones.get(row.id) ?? []).map((zone) => zone.zone_id),
    ),
  );
}

const find = async (db: Database, userId: string): Promise<Member | null> =>
  (await list(db)).find((member) => member.userId === userId) ?? null;

/** 77 bits: strong enough, even if it is never changed. */
export const firstPasswordGroups = 4;

async function add(parts: Parts, { email, name, password }: Person, rights: Rights, by: Caller): Promise<AddResult> {
  const { db, passwords, clock } = parts;
  const role = storedRole(rights);
  if (!(await areZones(db, rights.zoneIds))) return { kind: 'no_such_zone' };
  if (role === 'admin' && by.role !== 'owner') return { kind: 'needs_owner' };
  const firstPassword = password === undefined ? newCode(firstPasswordGroups) : null;
  const passwordHash = await passwords.hash(password ?? firstPassword ?? '');
  const id = randomUUIDv7();
  const now = clock.now();
  const isInserted = await db.transaction().execute(async (transaction) => {
    const isNew = await insertUser(transaction, { id, email, name, role, passwordHash, createdAt: now });
    if (isNew) {
      await transaction.insertInto('station_members').values({ user_id: id, role, joined_at: now }).execute();
      await setLimits(transaction, id, rights);
    }
    return isNew;
  });
  const member = isInserted ? await find(db, id) : null;
  return member === null ? { kind: 'exists' } : { kind: 'added', member: { ...member, firstPassword } };
}

async function changeRights(
  { db, accessTokens }: Parts,
  userId: string,
  rights: Rights,
  by: Caller,
): Promise<ChangeResult> {
  const refused = refusal(await find(db, userId), by);
  if (refused !== null) return refused;
  const role = storedRole(rights);
  if (role === 'admin' && by.role !== 'owner') return { kind: 'needs_owner' };
  if (!(await areZones(db, rights.zoneIds))) return { kind: 'no_such_zone' };
  await db.transaction().execute(async (transaction) => {
    await transaction.updateTable('users').set({ role }).where('id', '=', userId).execute();
    // A role that is set here is also the local one from now on, except for the local owner.
    const home = transaction.updateTable('users').set({ home_role: null }).where('id', '=', userId);
    await home.where('home_role', '!=', 'owner').execute();
    await transaction.updateTable('station_members').set({ role }).where('user_id', '=', userId).execute();
    await setLimits(transaction, userId, rights);
  });
  accessTokens.revoke(userId);
  const member = await find(db, userId);
  return member === null ? { kind: 'unknown' } : { kind: 'changed', member };
}

const storedRole = ({ role }: Rights): 'admin' | 'member' => (role === 'admin' ? 'admin' : 'member');

async function areZones(db: Database, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return true;
  return (await db.selectFrom('zones').select('id').where('id', 'in', ids).execute()).length === ids.length;
}

async function remove({ db, sessions, accessTokens }: Parts, userId: string, by: Caller): Promise<RemoveResult> {
  const member = await find(db, userId);
  const refused = refusal(member, by);
  if (member === null || refused !== null) return refused ?? { kind: 'unknown' };
  await sessions.endAll(userId);
  await db.deleteFrom('users').where('id', '=', userId).execute();
  accessTokens.revoke(userId);
  return { kind: 'removed', member };
}

async function makePassword(parts: Parts, userId: string, by: Caller): Promise<PasswordMadeResult> {
  const { db, passwords, sessions, accessTokens } = parts;
  const refused = refusal(await find(db, userId), by);
  if (refused !== null) return refused;
  const password = newCode(firstPasswordGroups);
  if (!(await sessions.replacePassword(userId, await passwords.hash(password)))) return { kind: 'unknown' };
  accessTokens.revoke(userId);
  return { kind: 'made', password };
}

/** Why `by` may not change this member; null when it is allowed. */
function refusal(member: Member | null, by: Caller): Refused | null {
  if (member === null) return { kind: 'unknown' };
  if (member.role === 'owner') return { kind: 'is_owner' };
  return member.role === 'admin' && by.role !== 'owner' ? { kind: 'needs_owner' } : null;
}

type MemberRow = {
  id: string;
  email: string;
  name: string;
  role: StoredRole;
  joined_at: number;
  cloud_user_id: string | null;
} & Limitation;

function toMember({ id, email, name, joined_at, cloud_user_id, ...row }: MemberRow, zoneIds: string[]): Member {
  const role = limitedRole(row);
  return {
    userId: id,
    email,
    name,
    role,
    zoneIds: isLimited(role) ? zoneIds : null,
    endsAt: role === 'guest' && row.ends_at !== null ? isoTime(row.ends_at) : null,
    joinedAt: isoTime(joined_at),
    isFromCloud: cloud_user_id !== null,
  };
}
