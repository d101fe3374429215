import type { Role, User } from '@station/protocol/rest';
import { isoTime } from '@station/kit/clock';
import type { Database, DatabaseTransaction, UsersTable } from './schema.ts';

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

export type NewUser = { id: string; email: string; name: string; role: Role; passwordHash: string; createdAt: number };

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
