import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { CloudMember } from '@station/protocol/cloud-messages';
import { createSessions } from '../auth/sessions.ts';
import { ensureStation } from '../station/station-store.ts';
import { openTestStore } from '../testing/test-store.ts';
import type { Role } from '@station/protocol/rest';
import { createIdentity, type IdentityMessage } from './identity.ts';

async function setUp() {
  const store = await openTestStore();
  const { db } = store;
  await ensureStation(db, { stationId: null, generateId: () => 'station', timeZone: 'UTC', clock: systemClock });
  const identity = createIdentity({ db, clock: systemClock });
  const people = async () => {
    const station = await db.selectFrom('station').selectAll().executeTakeFirstOrThrow();
    const members = new Map(
      (await db.selectFrom('station_members').selectAll().execute()).map((row) => [row.user_id, row.role]),
    );
    const users = await db.selectFrom('users').selectAll().orderBy('email').execute();
    return users.map(({ id, email, role, cloud_user_id: cloudId }) => {
      const here = id === station.owner_id ? 'owner' : (members.get(id) ?? 'nobody');
      return `${email} ${role} ${here} ${cloudId ?? '-'}`;
    });
  };
  const local = async (email: string, role: Role): Promise<string> => {
    const values = {
      id: email,
      email,
      name: email,
      role,
      station_password_hash: 'local',
      cloud_user_id: null,
      created_at: 1,
    };
    await db.insertInto('users').values(values).execute();
    if (role === 'owner') await db.updateTable('station').set({ owner_id: email }).execute();
    else await db.insertInto('station_members').values({ user_id: email, role, joined_at: 1 }).execute();
    return email;
  };
  const apply = (message: IdentityMessage) => identity.apply(message);
  const logins = async () => {
    const users = await db.selectFrom('users').selectAll().orderBy('email').execute();
    return users.map(({ email, station_password_hash: hash }) => `${email} ${hash}`);
  };
  return { db, apply, people, logins, local, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

const person = (id: string, role: CloudMember['role'] = 'member', email = `${id}@example.org`): CloudMember => ({
  cloudUserId: id,
  email,
  name: id,
  role,
});
const sync = (ownerId: string, ...members: CloudMember[]): IdentityMessage => ({
  type: 'identity_sync',
  station: { name: 'Home' },
  ownerId,
  members,
});

test('a full list: who is on it is there, who is not is gone, who was only known here stays', async () => {
  await using all = await setUp();
  await all.local('granny@example.org', 'admin');
  await all.apply(sync('a', person('a', 'owner'), person('b', 'admin'), person('c')));
  const withAll = [
    'a@example.org owner owner a',
    'b@example.org admin admin b',
    'c@example.org member member c',
    'granny@example.org admin admin -',
  ];
  assert.deepEqual(await all.people(), withAll);
  assert.deepEqual(await all.apply(sync('a', person('a', 'owner'), person('b', 'admin'), person('c'))), {
    kind: 'applied',
    revoked: [],
  });
  await all.apply(sync('b', person('b', 'owner')));
  assert.deepEqual(await all.people(), ['b@example.org owner owner b', 'granny@example.org admin admin -']);
});

test('the owner at home becomes the owner of the cloud when the address is the same, and an admin when it is not', async () => {
  await using same = await setUp();
  await same.local('a@example.org', 'owner');
  await same.apply(sync('a', person('a', 'owner', 'A@Example.org')));
  assert.deepEqual(await same.people(), ['a@example.org owner owner a']);
  await using other = await setUp();
  await other.local('home@example.org', 'owner');
  const result = await other.apply(sync('a', person('a', 'owner')));
  assert.deepEqual(await other.people(), ['a@example.org owner owner a', 'home@example.org admin admin -']);
  assert.ok(result.kind === 'applied' && result.revoked.includes('home@example.org'));
});

test('an owner at home whom the cloud linked to itself and then drops stays, as an admin, and comes in as before', async () => {
  await using all = await setUp();
  await all.local('home@example.org', 'owner');
  const mine = person('h', 'owner', 'Home@example.org');
  await all.apply({ type: 'member_added', member: { ...mine, stationPasswordHash: 'linked' } });
  assert.deepEqual(await all.logins(), ['home@example.org local'], 'who links does not replace the password');
  await all.apply(sync('h', { ...mine, stationPasswordHash: 'listed' }));
  assert.deepEqual(await all.logins(), ['home@example.org local']);
  await all.apply({ type: 'member_updated', member: person('h', 'owner', 'moved@example.org') });
  await all.apply({ type: 'station_password_changed', cloudUserId: 'h', stationPasswordHash: 'changed' });
  await all.apply({ type: 'member_updated', member: { ...person('h', 'owner'), stationPasswordHash: 'updated' } });
  assert.deepEqual(await all.logins(), ['h@example.org updated'], 'what is said of one person is done');
  const taken = await all.apply({ type: 'member_added', member: person('x', 'member', 'home@example.org') });
  assert.equal(taken.kind, 'refused', 'the address is kept for its owner');
  const result = await all.apply(sync('a', person('a', 'owner')));
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'home@example.org admin admin -']);
  assert.deepEqual(await all.logins(), ['a@example.org null', 'home@example.org local']);
  assert.ok(result.kind === 'applied' && result.revoked.includes('home@example.org'));
});

test('someone from home whom the cloud removes stays, with a password that was set here meanwhile; they can be linked again', async () => {
  await using all = await setUp();
  const userId = await all.local('granny@example.org', 'member');
  await all.apply(sync('a', person('a', 'owner'), person('g', 'member', 'granny@example.org')));
  await all.apply({ type: 'station_password_changed', cloudUserId: 'g', stationPasswordHash: 'changed' });
  await createSessions({ db: all.db, key: Buffer.alloc(32), clock: systemClock }).replacePassword(
    userId,
    'set at home',
  );
  await all.apply({ type: 'member_removed', cloudUserId: 'g' });
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'granny@example.org member member -']);
  assert.deepEqual(await all.logins(), ['a@example.org null', 'granny@example.org set at home']);
  await all.apply(sync('a', person('a', 'owner'), person('g2', 'admin', 'granny@example.org')));
  await all.apply(sync('a', person('a', 'owner'), person('g3', 'admin', 'granny@example.org')));
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'granny@example.org admin admin g3']);
});

test('a list that contradicts itself changes nothing', async () => {
  await using all = await setUp();
  await all.apply(sync('a', person('a', 'owner'), person('b')));
  const before = await all.people();
  const bad = [
    sync('nobody', person('a')),
    sync('a', person('a'), person('a')),
    sync('a', person('a'), person('c', 'member', 'A@example.org')),
    sync('a'),
  ];
  for (const message of bad) assert.equal((await all.apply(message)).kind, 'refused');
  assert.deepEqual(await all.people(), before);
  assert.equal((await all.db.selectFrom('station').select('name').executeTakeFirst())?.name, 'Home');
});

test('two people swap their addresses', async () => {
  await using all = await setUp();
  await all.apply(sync('a', person('a', 'owner'), person('b')));
  await all.apply(sync('a', person('a', 'owner', 'b@example.org'), person('b', 'member', 'a@example.org')));
  assert.deepEqual(await all.people(), ['a@example.org member member b', 'b@example.org owner owner a']);
});

test('one member more, changed, gone; nobody takes another’s address, and ownership does not pass by the way', async () => {
  await using all = await setUp();
  await all.apply(sync('a', person('a', 'owner')));
  await all.apply({ type: 'member_added', member: person('b', 'owner') });
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'b@example.org admin admin b']);
  await all.apply({ type: 'member_updated', member: person('b', 'member') });
  const taken = await all.apply({ type: 'member_updated', member: person('b', 'member', 'a@example.org') });
  assert.equal(taken.kind, 'refused');
  assert.equal((await all.apply({ type: 'member_updated', member: person('x') })).kind, 'refused');
  assert.equal((await all.apply({ type: 'member_removed', cloudUserId: 'a' })).kind, 'refused', 'not the owner');
  assert.equal((await all.apply({ type: 'member_removed', cloudUserId: 'b' })).kind, 'applied');
  assert.equal((await all.apply({ type: 'member_removed', cloudUserId: 'b' })).kind, 'applied', 'again');
  assert.deepEqual(await all.people(), ['a@example.org owner owner a']);
});

test('a new password ends the sessions; the same one again does not', async () => {
  await using all = await setUp();
  await all.apply(sync('a', person('a', 'owner')));
  const change = { type: 'station_password_changed', cloudUserId: 'a', stationPasswordHash: 'x' } as const;
  const first = await all.apply(change);
  assert.ok(first.kind === 'applied' && first.revoked.length === 1);
  assert.deepEqual(await all.apply(change), { kind: 'applied', revoked: [] });
});
