import { randomUUIDv7 } from 'node:crypto';
import type { Member, NewMember, Role } from '@station/protocol/rest';
import { isoTime, type Clock } from '@station/kit/clock';
import type { AccessTokens } from '../auth/access-tokens.ts';
import type { Passwords } from '../auth/passwords.ts';
import type { Sessions } from '../auth/sessions.ts';
import { insertUser } from '../auth/user-store.ts';
import type { Database } from '../store/schema.ts';

export type AddResult = { kind: 'added'; member: Member } | { kind: 'exists' };
export type ChangeResult = { kind: 'changed'; member: Member } | { kind: 'unknown' } | { kind: 'is_owner' };
export type RemoveResult = { kind: 'removed' } | { kind: 'unknown' } | { kind: 'is_owner' } | { kind: 'needs_owner' };

/** People of the station. A person's global role and role on the station are kept the same. */
export type MemberService = {
  /** The owner first, then by name. */
  list(): Promise<Member[]>;
  add(member: NewMember): Promise<AddResult>;
  changeRole(userId: string, role: 'admin' | 'member'): Promise<ChangeResult>;
  /** Removes the user with their sessions; an admin may remove members only. */
  remove(userId: string, by: { role: Role | null }): Promise<RemoveResult>;
};

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
      .select(['users.id', 'users.email', 'users.name', 'users.role', 'users.created_at as joined_at']);
    const members = db
      .selectFrom('station_members')
      .innerJoin('users', 'users.id', 'station_members.user_id')
      .select(['users.id', 'users.email', 'users.name', 'station_members.role', 'station_members.joined_at'])
      .orderBy('users.name')
      .orderBy('users.id');
    return [...(await owner.execute()), ...(await members.execute())].map(toMember);
  };

  const find = async (userId: string): Promise<Member | null> =>
    (await list()).find((member) => member.userId === userId) ?? null;

  return {
    list,
    add: async ({ email, name, password, role }) => {
      const passwordHash = await passwords.hash(password);
      const id = randomUUIDv7();
      const now = clock.now();
      const inserted = await db.transaction().execute(async (transaction) => {
        const fresh = await insertUser(transaction, { id, email, name, role, passwordHash, createdAt: now });
        if (fresh)
          await transaction.insertInto('station_members').values({ user_id: id, role, joined_at: now }).execute();
        return fresh;
      });
      const member = inserted ? await find(id) : null;
      return member === null ? { kind: 'exists' } : { kind: 'added', member };
    },
    changeRole: async (userId, role) => {
      const before = await find(userId);
      if (before === null) return { kind: 'unknown' };
      if (before.role === 'owner') return { kind: 'is_owner' };
      await db.transaction().execute(async (transaction) => {
        await transaction.updateTable('users').set({ role }).where('id', '=', userId).execute();
        await transaction.updateTable('station_members').set({ role }).where('user_id', '=', userId).execute();
      });
      accessTokens.revoke(userId);
      return { kind: 'changed', member: { ...before, role } };
    },
    remove: async (userId, by) => {
      const before = await find(userId);
      if (before === null) return { kind: 'unknown' };
      if (before.role === 'owner') return { kind: 'is_owner' };
      if (before.role === 'admin' && by.role !== 'owner') return { kind: 'needs_owner' };
      await sessions.endAll(userId);
      await db.deleteFrom('users').where('id', '=', userId).execute();
      accessTokens.revoke(userId);
      return { kind: 'removed' };
    },
  };
}

type MemberRow = { id: string; email: string; name: string; role: Role; joined_at: number };

const toMember = ({ id, email, name, role, joined_at }: MemberRow): Member => ({
  userId: id,
  email,
  name,
  role,
  joinedAt: isoTime(joined_at),
});
