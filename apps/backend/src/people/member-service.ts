import { randomUUIDv7 } from 'node:crypto';
import type { AddedMember, Member, NewMember, Role } from '@station/protocol/rest';
import { isoTime, type Clock } from '@station/kit/clock';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { Passwords } from './passwords.ts';
import type { Sessions } from './sessions.ts';
import { insertUser } from '../store/station-store.ts';
import type { Database } from '../store/schema.ts';
import { newCode } from '../core/secrets.ts';

type AddResult = { kind: 'added'; member: AddedMember } | { kind: 'exists' } | { kind: 'needs_owner' };
type ChangeResult = { kind: 'changed'; member: Member } | { kind: 'unknown' } | { kind: 'is_owner' };
type Refused = { kind: 'unknown' } | { kind: 'is_owner' } | { kind: 'needs_owner' };
type RemoveResult = { kind: 'removed' } | Refused;
type PasswordMadeResult = { kind: 'made'; password: string } | Refused;

/** People of the station. A person's global role and role on the station are kept the same. */
export type MemberService = {
  /** The owner first, then by name. */
  list(): Promise<Member[]>;
  /**
   * Without a password of its own the new member gets a made one, told in the result and never again. Who is an admin is decided by the
   * owner alone, here as in `changeRole`.
   */
  add(member: NewMember, by: { role: Role | null }): Promise<AddResult>;
  changeRole(userId: string, role: 'admin' | 'member'): Promise<ChangeResult>;
  /** Removes the user with their sessions; an admin may remove members only. */
  remove(userId: string, by: { role: Role | null }): Promise<RemoveResult>;
  /** Replaces a forgotten password by a made one and ends the user's sessions; an admin may do that for members only. */
  makePassword(userId: string, by: { role: Role | null }): Promise<PasswordMadeResult>;
};

/** 77 bits: strong enough, even if it is never changed. */
const passwordGroups = 4;

export function createMemberService(dependencies: {
  db: Database;
  passwords: Passwords;
  sessions: Sessions;
  accessTokens: AccessTokens;
  clock: Clock;
}): MemberService {
  const { db, passwords, sessions, accessTokens, clock } = dependencies;

  const list = async (): Promise<Member[]> => {
    const owner = db
      .selectFrom('users')
      .innerJoin('station', 'station.owner_id', 'users.id')
      .select([
        'users.id',
        'users.email',
        'users.name',
        'users.role',
        'users.created_at as joined_at',
        'users.cloud_user_id',
      ]);
    const members = db
      .selectFrom('station_members')
      .innerJoin('users', 'users.id', 'station_members.user_id')
      .select([
        'users.id',
        'users.email',
        'users.name',
        'station_members.role',
        'station_members.joined_at',
        'users.cloud_user_id',
      ])
      .orderBy('users.name')
      .orderBy('users.id');
    return [...(await owner.execute()), ...(await members.execute())].map(toMember);
  };

  const find = async (userId: string): Promise<Member | null> =>
    (await list()).find((member) => member.userId === userId) ?? null;

  return {
    list,
    add: async ({ email, name, password, role }, by) => {
      if (role === 'admin' && by.role !== 'owner') return { kind: 'needs_owner' };
      const firstPassword = password === undefined ? newCode(passwordGroups) : null;
      const passwordHash = await passwords.hash(password ?? firstPassword ?? '');
      const id = randomUUIDv7();
      const now = clock.now();
      const inserted = await db.transaction().execute(async (transaction) => {
        const fresh = await insertUser(transaction, { id, email, name, role, passwordHash, createdAt: now });
        if (fresh)
          await transaction.insertInto('station_members').values({ user_id: id, role, joined_at: now }).execute();
        return fresh;
      });
      const member = inserted ? await find(id) : null;
      return member === null ? { kind: 'exists' } : { kind: 'added', member: { ...member, firstPassword } };
    },
    changeRole: async (userId, role) => {
      const before = await find(userId);
      if (before === null) return { kind: 'unknown' };
      if (before.role === 'owner') return { kind: 'is_owner' };
      await db.transaction().execute(async (transaction) => {
        await transaction.updateTable('users').set({ role }).where('id', '=', userId).execute();
        // What is set here is what they are at home, but for whose the station is.
        const home = transaction.updateTable('users').set({ home_role: null }).where('id', '=', userId);
        await home.where('home_role', '!=', 'owner').execute();
        await transaction.updateTable('station_members').set({ role }).where('user_id', '=', userId).execute();
      });
      accessTokens.revoke(userId);
      return { kind: 'changed', member: { ...before, role } };
    },
    remove: async (userId, by) => {
      const refused = refusal(await find(userId), by);
      if (refused !== null) return refused;
      await sessions.endAll(userId);
      await db.deleteFrom('users').where('id', '=', userId).execute();
      accessTokens.revoke(userId);
      return { kind: 'removed' };
    },
    makePassword: async (userId, by) => {
      const refused = refusal(await find(userId), by);
      if (refused !== null) return refused;
      const password = newCode(passwordGroups);
      if (!(await sessions.replacePassword(userId, await passwords.hash(password)))) return { kind: 'unknown' };
      accessTokens.revoke(userId);
      return { kind: 'made', password };
    },
  };
}

/** Why `by` may not change this member; null when it is allowed. */
function refusal(member: Member | null, by: { role: Role | null }): Refused | null {
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
