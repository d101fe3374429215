import { hashToken } from '../core/secrets.ts';
import type { DatabaseTransaction, StoredRole, UsersTable } from '../store/schema.ts';

/** Local accounts that the cloud linked later, and how they are restored. */

export const isFromHome = (user: UsersTable): boolean => user.home_email !== null;

/**
 * No log-in from now on, until the cloud links the account again or is removed. The account of somebody who owned the house stays open:
 * they must be able to remove the cloud.
 */
export async function close(
  db: DatabaseTransaction,
  user: UsersTable,
  now: number,
  revoked: Set<string>,
): Promise<void> {
  if ((user.home_role ?? user.role) === 'owner') return;
  await db.updateTable('users').set({ closed_at: now }).where('id', '=', user.id).execute();
  await db.deleteFrom('sessions').where('user_id', '=', user.id).execute();
  revoked.add(user.id);
}

/** A user from before the cloud keeps the account, with the previous login. */
export async function unlink(
  db: DatabaseTransaction,
  user: UsersTable,
  now: number,
  revoked: Set<string>,
): Promise<void> {
  const address = user.home_email ?? user.email;
  // Another user with this address may have been added meanwhile.
  const other = db.selectFrom('users').select('id').where('email', '=', address).where('id', '!=', user.id);
  const email = (await other.executeTakeFirst()) === undefined ? address : user.email;
  if (user.home_password_hash !== null) await setPassword(db, user, user.home_password_hash, revoked);
  const set = { email, cloud_user_id: null, home_email: null, home_password_hash: null };
  await db.updateTable('users').set(set).where('id', '=', user.id).execute();
  // While the station is linked, the cloud decides who owns it.
  const { home_role: role } = user;
  if (role === null || role === 'owner' || user.id === (await ownerOf(db))) return;
  await changeRole(db, user, role, now, revoked);
  await db.updateTable('users').set({ home_role: null }).where('id', '=', user.id).execute();
}

/** Whether the hash is the stored one, or the one in whose place it was computed. */
export const isPasswordOf = (user: UsersTable, passwordHash: string): boolean =>
  user.station_password_hash === passwordHash || user.replaced_hash === hashToken(passwordHash);

export async function setPassword(
  db: DatabaseTransaction,
  user: UsersTable,
  passwordHash: string,
  revoked: Set<string>,
): Promise<void> {
  if (isPasswordOf(user, passwordHash)) return;
  const home = isFromHome(user) ? { home_password_hash: user.home_password_hash ?? user.station_password_hash } : {};
  const set = { station_password_hash: passwordHash, replaced_hash: null, ...home };
  await db.updateTable('users').set(set).where('id', '=', user.id).execute();
  // It may be a reset: nothing but the new password opens the account.
  for (const table of ['sessions', 'passkeys'] as const) {
    await db.deleteFrom(table).where('user_id', '=', user.id).execute();
  }
  revoked.add(user.id);
}

/** Changes a user's role; for a local account it remembers the previous role. */
export async function changeRole(
  db: DatabaseTransaction,
  user: UsersTable,
  role: StoredRole,
  now: number,
  revoked: Set<string>,
): Promise<void> {
  if (user.role === role) return;
  const isOfHouse = user.cloud_user_id === null || isFromHome(user);
  const home = isOfHouse ? { home_role: user.home_role ?? user.role } : {};
  await db
    .updateTable('users')
    .set({ role, ...home })
    .where('id', '=', user.id)
    .execute();
  await setRole(db, user.id, role, now);
  revoked.add(user.id);
}

/** Keeps global role and station role equal. The owner is in the station's record and not among the members. */
export async function setRole(db: DatabaseTransaction, userId: string, role: StoredRole, now: number): Promise<void> {
  await db.updateTable('users').set({ role }).where('id', '=', userId).execute();
  if (role === 'owner') {
    await db.deleteFrom('station_members').where('user_id', '=', userId).execute();
    return;
  }
  await db
    .insertInto('station_members')
    .values({ user_id: userId, role, joined_at: now })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ role }))
    .execute();
}

export async function ownerOf(db: DatabaseTransaction): Promise<string | null> {
  const station = db.selectFrom('station').select('owner_id').where('id', '=', 'station');
  return (await station.executeTakeFirstOrThrow()).owner_id;
}

/** The caller must also set the roles of the new and the previous owner. */
export async function setOwnership(db: DatabaseTransaction, userId: string): Promise<void> {
  await db.updateTable('station').set({ owner_id: userId }).where('id', '=', 'station').execute();
}

/** Until the transaction ends, no other transaction can change the owner, also in another backend. */
export async function lockStation(db: DatabaseTransaction): Promise<void> {
  await db
    .updateTable('station')
    .set(({ ref }) => ({ owner_id: ref('owner_id') }))
    .where('id', '=', 'station')
    .execute();
}

/**
 * The cloud is removed: local users log in as before, also those whose account it closed, and the previous owner is the owner again. If that user no longer exists, the owner
 * named by the cloud stays.
 * @returns ids of users whose tokens are out of date.
 */
export async function restoreHomeAccounts(db: DatabaseTransaction, now: number): Promise<string[]> {
  const revoked = new Set<string>();
  await lockStation(db);
  const linked = await db.selectFrom('users').selectAll().where('home_email', 'is not', null).execute();
  for (const user of linked) await unlink(db, user, now, revoked);
  const ownerId = await ownerOf(db);
  const owners = db.selectFrom('users').selectAll();
  const ofHome = await owners.where('home_role', '=', 'owner').executeTakeFirst();
  if (ofHome !== undefined && ofHome.id !== ownerId) {
    const ofCloud = await owners.where('id', '=', ownerId).executeTakeFirst();
    await setOwnership(db, ofHome.id);
    await changeRole(db, ofHome, 'owner', now, revoked);
    if (ofCloud !== undefined) await changeRole(db, ofCloud, ofCloud.home_role ?? 'admin', now, revoked);
  }
  await db.updateTable('users').set({ home_role: null }).where('home_role', 'is not', null).execute();
  await db.updateTable('users').set({ closed_at: null }).where('closed_at', 'is not', null).execute();
  return [...revoked];
}
