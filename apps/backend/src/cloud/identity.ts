import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { maxMembers, type CloudMember, type IdentitySync, type LegacyMessage } from '@station/protocol/cloud-messages';
import { nameForm } from '@station/protocol/text-fields';
import { emailForms, normalEmail } from '../store/station-store.ts';
import type { Database, DatabaseTransaction, StoredRole, UsersTable } from '../store/schema.ts';
import {
  changeRole,
  close,
  isFromHome,
  isPasswordOf,
  lockStation,
  ownerOf,
  setOwnership,
  setPassword,
  setRole,
  unlink,
} from './home-accounts.ts';

export type IdentityMessage = Exclude<LegacyMessage, { type: 'station_reset' }>;

export type IdentityResult =
  /** `revoked`: ids of users whose tokens are out of date. */
  | { kind: 'applied'; revoked: string[] }
  /** Nothing was changed. */
  | { kind: 'refused'; reason: string };

/** Applies the cloud's messages about people and the station, each one completely or not at all. */
export type Identity = { apply(message: IdentityMessage): Promise<IdentityResult> };

/** Ends the transaction with nothing changed. */
class Refusal extends Error {}

export function createIdentity({ db, clock }: { db: Database; clock: Clock }): Identity {
  return {
    apply: async (message) => {
      try {
        const revoked = await db.transaction().execute((transaction) => apply(transaction, message, clock.now()));
        return { kind: 'applied', revoked: [...revoked] };
      } catch (error) {
        if (error instanceof Refusal) return { kind: 'refused', reason: error.message };
        throw error;
      }
    },
  };
}

async function apply(db: DatabaseTransaction, message: IdentityMessage, now: number): Promise<Set<string>> {
  const revoked = new Set<string>();
  await lockStation(db);
  switch (message.type) {
    case 'identity_sync':
      await synchronise(db, message, now, revoked);
      break;
    case 'station_renamed':
      await rename(db, message.name);
      break;
    case 'member_added':
      await upsert(db, message.member, now, revoked);
      break;
    case 'member_updated': {
      const { cloudUserId, stationPasswordHash } = message.member;
      const user = await byCloudId(db, cloudUserId);
      if (user === null) throw new Refusal('There is no such member.');
      await upsert(db, message.member, now, revoked);
      if (isFromHome(user) && stationPasswordHash != null) await setPassword(db, user, stationPasswordHash, revoked);
      break;
    }
    case 'member_removed':
      await remove(db, message.cloudUserId, now, revoked);
      break;
    case 'station_password_changed': {
      const user = await byCloudId(db, message.cloudUserId);
      if (user === null) throw new Refusal('There is no such member.');
      await setPassword(db, user, message.stationPasswordHash, revoked);
      break;
    }
  }
  return revoked;
}

/** Applies a full list: removes cloud users who are not on it. Local users that no list named stay as they are. */
async function synchronise(
  db: DatabaseTransaction,
  { station, ownerId, members }: IdentitySync,
  now: number,
  revoked: Set<string>,
): Promise<void> {
  const ids = new Set(members.map(({ cloudUserId }) => cloudUserId));
  const emails = new Set(members.map(({ email }) => normalEmail(email)));
  if (ids.size < members.length || emails.size < members.length) throw new Refusal('Someone is on the list twice.');
  if (!ids.has(ownerId)) throw new Refusal('The owner is not on the list.');
  const linked = new Map<string, UsersTable>();
  for (const user of await db.selectFrom('users').selectAll().where('cloud_user_id', 'is not', null).execute()) {
    linked.set(user.cloud_user_id ?? '', user);
  }
  for (const cloudId of linked.keys()) if (!ids.has(cloudId)) await remove(db, cloudId, now, revoked, true);
  // Two people may have swapped addresses, so all addresses are cleared first.
  for (const member of members) {
    const user = linked.get(member.cloudUserId);
    if (user === undefined || normalEmail(member.email) === user.email) continue;
    const { id } = user;
    await db
      .updateTable('users')
      .set({ email: `${id}@moving.invalid` })
      .where('id', '=', id)
      .execute();
  }
  await setOwner(
    db,
    members.find(({ cloudUserId }) => cloudUserId === ownerId)!,
    now,
    revoked,
  );
  for (const member of members) {
    // Other queries wait during writes, and most lists contain no change.
    if (member.cloudUserId === ownerId || isAsBefore(linked.get(member.cloudUserId), member)) continue;
    await upsert(db, member, now, revoked);
  }
  await rename(db, station.name);
}

/** Whether a linked account already equals the cloud's data. It does not check the owner's role. */
function isAsBefore(user: UsersTable | undefined, member: CloudMember): boolean {
  if (user?.email !== normalEmail(member.email) || user.name !== nameOf(member)) return false;
  const hash = member.stationPasswordHash;
  const isSamePassword = hash == null || isFromHome(user) || isPasswordOf(user, hash);
  return user.role === wantedRole(member) && isSamePassword;
}

async function setOwner(
  db: DatabaseTransaction,
  member: CloudMember,
  now: number,
  revoked: Set<string>,
): Promise<void> {
  const before = await ownerOf(db);
  const userId = await upsert(db, member, now, revoked);
  if (userId === before) return;
  const users = await db
    .selectFrom('users')
    .selectAll()
    .where('id', 'in', [userId, before ?? userId])
    .execute();
  await setOwnership(db, userId);
  for (const user of users) {
    await changeRole(db, user, user.id === userId ? 'owner' : (dropped(user) ?? 'admin'), now, revoked);
  }
}

/** The local role of a user whom the list dropped; null for listed users and for the local owner. */
const dropped = ({ cloud_user_id: cloudId, home_role: role }: UsersTable): StoredRole | null =>
  cloudId === null && role !== 'owner' ? role : null;

/**
 * A local user keeps the password: a message that links the user must not replace it.
 * @returns id of the user: with this cloud id; else with this address and no cloud id; else a new one.
 */
async function upsert(
  db: DatabaseTransaction,
  member: CloudMember,
  now: number,
  revoked: Set<string>,
): Promise<string> {
  const email = normalEmail(member.email);
  const forms = emailForms(member.email);
  const known = await byCloudId(db, member.cloudUserId);
  // No other user may take an address that will be restored.
  const sameAddress = await db
    .selectFrom('users')
    .selectAll()
    .where((where) => where.or([where('email', 'in', forms), where('home_email', 'in', forms)]))
    .where('id', '!=', known?.id ?? '')
    .execute();
  if (sameAddress.some(({ cloud_user_id: cloudId }) => known !== null || cloudId !== null)) {
    throw new Refusal('Someone else has this address.');
  }
  const user = known ?? sameAddress[0] ?? null;
  const role: StoredRole = user !== null && user.id === (await ownerOf(db)) ? 'owner' : wantedRole(member);
  if (user === null) return insert(db, member, role, now);
  const linksNow = user.cloud_user_id === null;
  const home = linksNow ? { home_email: user.email } : {};
  const set = { email, name: nameOf(member), cloud_user_id: member.cloudUserId, closed_at: null, ...home };
  await db.updateTable('users').set(set).where('id', '=', user.id).execute();
  await changeRole(db, user, role, now, revoked);
  const hash = member.stationPasswordHash;
  if (hash != null && !linksNow && !isFromHome(user)) await setPassword(db, user, hash, revoked);
  return user.id;
}

async function insert(db: DatabaseTransaction, member: CloudMember, role: StoredRole, now: number): Promise<string> {
  const ofCloud = db.selectFrom('users').select(db.fn.countAll<number>().as('count'));
  const { count } = await ofCloud.where('cloud_user_id', 'is not', null).executeTakeFirstOrThrow();
  if (Number(count) >= maxMembers) throw new Refusal(`A station has at most ${maxMembers} members.`);
  const id = randomUUIDv7();
  await db
    .insertInto('users')
    .values({
      id,
      email: normalEmail(member.email),
      name: nameOf(member),
      role,
      station_password_hash: member.stationPasswordHash ?? null,
      cloud_user_id: member.cloudUserId,
      created_at: now,
    })
    .execute();
  await setRole(db, id, role, now);
  return id;
}

async function remove(
  db: DatabaseTransaction,
  cloudUserId: string,
  now: number,
  revoked: Set<string>,
  ownerToo = false,
): Promise<void> {
  const user = await byCloudId(db, cloudUserId);
  if (user === null) return;
  // A station always needs an owner: identity_sync must name another one first.
  if (!ownerToo && user.id === (await ownerOf(db))) throw new Refusal('The owner cannot be removed.');
  if (isFromHome(user)) {
    await unlink(db, user, now, revoked);
    return close(db, user, now, revoked);
  }
  await db.deleteFrom('users').where('id', '=', user.id).execute();
  revoked.add(user.id);
}

/** Only `ownerId` of identity_sync changes the owner. */
const wantedRole = ({ role }: CloudMember): StoredRole => (role === 'owner' ? 'admin' : role);

/** As people may give it themselves; the cloud has rules of its own. */
const isName = new RegExp(nameForm.pattern, 'u');
const nameOf = ({ name, email }: CloudMember): string => (isName.test(name) ? name.trim() : normalEmail(email));

async function rename(db: DatabaseTransaction, name: string): Promise<void> {
  if (!isName.test(name)) return;
  await db.updateTable('station').set({ name: name.trim() }).where('id', '=', 'station').execute();
}

async function byCloudId(db: DatabaseTransaction, cloudUserId: string): Promise<UsersTable | null> {
  const query = db.selectFrom('users').selectAll().where('cloud_user_id', '=', cloudUserId);
  return (await query.executeTakeFirst()) ?? null;
}
