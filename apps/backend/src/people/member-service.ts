import { randomUUIDv7 } from 'node:crypto';
import type { AddedMember, Member, NewMember, Role } from '@station/protocol/rest';
import { isoTime, type Clock } from '@station/kit/clock';
import { newCode } from '@station/kit/codes';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { Passwords } from './passwords.ts';
import type { Sessions } from './sessions.ts';
import { insertUser } from '../store/station-store.ts';
import type { Database } from '../store/schema.ts';

type AddResult = { kind: 'added'; member: AddedMember } | { kind: 'exists' } | { kind: 'needs_owner' };
type ChangeResult = { kind: 'changed'; member: Member } | { kind: 'unknown' } | { kind: 'is_owner' };
/** The user who makes the request, with their role on the station. */
type Caller = { role: Role | null };
export type Refused = { kind: 'unknown' } | { kind: 'is_owner' } | { kind: 'needs_owner' };
type RemoveResult = { kind: 'removed' } | Refused;
type PasswordMadeResult = { kind: 'made'; password: string } | Refused;

/** People of the station. A person's global role and role on the station are kept the same. */
export type MemberService = {
  /** The owner first, then by name. */
  list(): Promise<Member[]>;
  /**
   * Without a password in the request the new member gets a generated one, which only the result contains. Only the owner may add an
   * admin.
   */
  add(member: NewMember, by: Caller): Promise<AddResult>;
  changeRole(userId: string, role: 'admin' | 'member'): Promise<ChangeResult>;
  /** Removes the user with their sessions; an admin may remove members only. */
  remove(userId: string, by: Caller): Promise<RemoveResult>;
  /** Replaces a forgotten password by a generated one and ends the user's sessions; an admin may do that for members only. */
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
    add: (member, by) => add(parts, member, by),
    changeRole: (userId, role) => changeRole(parts, userId, role),
    remove: (userId, by) => remove(parts, userId, by),
    makePassword: (userId, by) => makePassword(parts, userId, by),
  };
}

async function list(db: Database): Promise<Member[]> {
  const person = ['users.id', 'users.email', 'users.name', 'users.cloud_user_id'] as const;
  const owner = db
    .selectFrom('users')
    .innerJoin('station', 'station.owner_id', 'users.id')
    .select([...person, 'users.role', 'users.created_at as joined_at']);
  const members = db
    .selectFrom('station_members')
    .innerJoin('users', 'users.id', 'station_members.user_id')
    .select([...person, 'station_members.role', 'station_members.joined_at'])
    .orderBy('users.name')
    .orderBy('users.id');
  return [...(await owner.execute()), ...(await members.execute())].map(toMember);
}

const find = async (db: Database, userId: string): Promise<Member | null> =>
  (await list(db)).find((member) => member.userId === userId) ?? null;

/** 77 bits: strong enough, even if it is never changed. */
export const firstPasswordGroups = 4;

async function add(parts: Parts, { email, name, password, role }: NewMember, by: Caller): Promise<AddResult> {
  const { db, passwords, clock } = parts;
  if (role === 'admin' && by.role !== 'owner') return { kind: 'needs_owner' };
  const firstPassword = password === undefined ? newCode(firstPasswordGroups) : null;
  const passwordHash = await passwords.hash(password ?? firstPassword ?? '');
  const id = randomUUIDv7();
  const now = clock.now();
  const isInserted = await db.transaction().execute(async (transaction) => {
    const isNew = await insertUser(transaction, { id, email, name, role, passwordHash, createdAt: now });
    if (isNew) {
      await transaction.insertInto('station_members').values({ user_id: id, role, joined_at: now }).execute();
    }
    return isNew;
  });
  const member = isInserted ? await find(db, id) : null;
  return member === null ? { kind: 'exists' } : { kind: 'added', member: { ...member, firstPassword } };
}

async function changeRole(
  { db, accessTokens }: Parts,
  userId: string,
  role: 'admin' | 'member',
): Promise<ChangeResult> {
  const before = await find(db, userId);
  if (before === null) return { kind: 'unknown' };
  if (before.role === 'owner') return { kind: 'is_owner' };
  await db.transaction().execute(async (transaction) => {
    await transaction.updateTable('users').set({ role }).where('id', '=', userId).execute();
    // A role that is set here is also the local one from now on, except for the local owner.
    const home = transaction.updateTable('users').set({ home_role: null }).where('id', '=', userId);
    await home.where('home_role', '!=', 'owner').execute();
    await transaction.updateTable('station_members').set({ role }).where('user_id', '=', userId).execute();
  });
  accessTokens.revoke(userId);
  return { kind: 'changed', member: { ...before, role } };
}

async function remove({ db, sessions, accessTokens }: Parts, userId: string, by: Caller): Promise<RemoveResult> {
  const refused = refusal(await find(db, userId), by);
  if (refused !== null) return refused;
  await sessions.endAll(userId);
  await db.deleteFrom('users').where('id', '=', userId).execute();
  accessTokens.revoke(userId);
  return { kind: 'removed' };
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
  role: Role;
  joined_at: number;
  cloud_user_id: string | null;
};

const toMember = ({ id, email, name, role, joined_at, cloud_user_id }: MemberRow): Member => ({
  userId: id,
  email,
  name,
  role,
  joinedAt: isoTime(joined_at),
  isFromCloud: cloud_user_id !== null,
});
