import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KyselyPlugin } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { maxMembers, type CloudMember } from '@station/protocol/cloud-messages';
import { openHousehold, person, phone, sync } from '../../testing/cloud-household.ts';
import { createIdentity } from './identity.ts';

test('a full list: listed users exist, other cloud users are removed, local users stay', async () => {
  await using all = await openHousehold();
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

test('the local owner becomes the cloud owner if the address is equal, and an admin if not', async () => {
  await using same = await openHousehold();
  await same.local('a@example.org', 'owner');
  await same.apply(sync('a', person('a', 'owner', 'A@Example.org')));
  assert.deepEqual(await same.people(), ['a@example.org owner owner a']);
  await using other = await openHousehold();
  await other.local('home@example.org', 'owner');
  const result = await other.apply(sync('a', person('a', 'owner')));
  assert.deepEqual(await other.people(), ['a@example.org owner owner a', 'home@example.org admin admin -']);
  assert.ok(result.kind === 'applied' && result.revoked.includes('home@example.org'));
});

test('a local owner whom the cloud linked and then dropped stays as an admin, with the previous login', async () => {
  await using all = await openHousehold();
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
  assert.ok(await all.sessions.open('home@example.org', 'updated', phone), 'a login is no new password of home');
  const taken = await all.apply({ type: 'member_added', member: person('x', 'member', 'home@example.org') });
  assert.equal(taken.kind, 'refused', 'the address is kept for its owner');
  const result = await all.apply(sync('a', person('a', 'owner')));
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'home@example.org admin admin -']);
  assert.deepEqual(await all.logins(), ['a@example.org null', 'home@example.org local']);
  assert.ok(result.kind === 'applied' && result.revoked.includes('home@example.org'));
});

test('a hash that a log-in has replaced is still the one of the cloud', async () => {
  await using all = await openHousehold();
  const member = { ...person('m', 'member'), stationPasswordHash: 'bcrypt of the cloud' };
  const list = sync('a', person('a', 'owner'), member);
  await all.apply(list);
  const { id } = await all.db
    .selectFrom('users')
    .select('id')
    .where('cloud_user_id', '=', 'm')
    .executeTakeFirstOrThrow();
  await all.sessions.renewHash(id, 'another', 'not stored');
  await all.sessions.renewHash(id, 'bcrypt of the cloud', 'of our own');
  assert.deepEqual(await all.logins(), ['a@example.org null', 'm@example.org of our own']);
  assert.deepEqual(await all.apply(list), { kind: 'applied', revoked: [] });
  assert.deepEqual(await all.apply({ type: 'member_updated', member }), { kind: 'applied', revoked: [] });
  assert.deepEqual(await all.logins(), ['a@example.org null', 'm@example.org of our own']);
  const changed = { type: 'station_password_changed', cloudUserId: 'm', stationPasswordHash: 'a new one' } as const;
  assert.deepEqual(await all.apply(changed), { kind: 'applied', revoked: [id] });
  assert.deepEqual(await all.apply(list), { kind: 'applied', revoked: [id] }, 'the earlier one is a change again');
  assert.deepEqual(await all.logins(), ['a@example.org null', 'm@example.org bcrypt of the cloud']);
});

test('a local user whom the cloud removes stays, with a password set locally meanwhile, and can be linked again', async () => {
  await using all = await openHousehold();
  const userId = await all.local('granny@example.org', 'member');
  await all.apply(sync('a', person('a', 'owner'), person('g', 'member', 'granny@example.org')));
  await all.apply({ type: 'station_password_changed', cloudUserId: 'g', stationPasswordHash: 'changed' });
  await all.sessions.replacePassword(userId, 'set at home');
  await all.apply({ type: 'member_removed', cloudUserId: 'g' });
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'granny@example.org member member -']);
  assert.deepEqual(await all.logins(), ['a@example.org null', 'granny@example.org set at home']);
  await all.apply(sync('a', person('a', 'owner'), person('g2', 'admin', 'granny@example.org')));
  await all.apply(sync('a', person('a', 'owner'), person('g3', 'admin', 'granny@example.org')));
  assert.deepEqual(await all.people(), ['a@example.org owner owner a', 'granny@example.org admin admin g3']);
});

test('a contradictory list changes nothing', async () => {
  await using all = await openHousehold();
  await all.apply(sync('a', person('a', 'owner'), person('b')));
  const before = await all.people();
  const bad = [
    sync('nobody', person('a')),
    sync('a', person('a'), person('a')),
    sync('a', person('a'), person('c', 'member', 'A@example.org')),
    sync(
      'a',
      person('a'),
      person('b', 'member', 'jürgen@example.org'),
      person('c', 'member', 'ju\u0308rgen@example.org'),
    ),
    sync('a'),
  ];
  for (const message of bad) assert.equal((await all.apply(message)).kind, 'refused');
  assert.deepEqual(await all.people(), before);
  assert.equal((await all.db.selectFrom('station').select('name').executeTakeFirst())?.name, 'Home');
});

test('a name that nobody sees, or that turns text around, is not taken from the cloud', async () => {
  await using all = await openHousehold();
  const odd = ['\u200b', 'Anna\u202ennA'].map((name, at) => ({ ...person(`${at}`), name }));
  const good = { ...person('b'), name: ' דנה ' };
  await all.apply(sync('a', person('a', 'owner'), good, ...odd));
  const users = await all.db.selectFrom('users').select('name').orderBy('email').execute();
  const names = users.map(({ name }) => name);
  assert.deepEqual(names.slice(0, 2), ['0@example.org', '1@example.org']);
  assert.ok(names.includes('דנה'));
  for (const name of ['Hut', '\u2800', 'Hut\u202e']) await all.apply({ type: 'station_renamed', name });
  assert.equal((await all.db.selectFrom('station').select('name').executeTakeFirst())?.name, 'Hut');
});

test('a list whose last user is refused changes none of the users before', async () => {
  await using all = await openHousehold();
  await all.local('home@example.org', 'owner');
  await all.local('granny@example.org', 'member');
  const granny = person('g', 'member', 'moved@example.org');
  await all.apply(sync('h', person('h', 'owner', 'home@example.org'), person('g', 'member', 'granny@example.org')));
  await all.apply({ type: 'member_updated', member: granny });
  const people = await all.people();
  const logins = await all.logins();
  const taken = person('z', 'member', 'granny@example.org');
  const list = [person('x', 'owner'), person('h', 'admin', 'new@example.org'), { ...granny, role: 'admin' as const }];
  assert.equal((await all.apply(sync('x', ...list, taken))).kind, 'refused', 'the address is kept for granny');
  assert.deepEqual([await all.people(), await all.logins()], [people, logins]);
  assert.equal((await all.apply(sync('x', ...list))).kind, 'applied');
  assert.notDeepEqual(await all.people(), people);
});

test('two people swap their addresses', async () => {
  await using all = await openHousehold();
  await all.apply(sync('a', person('a', 'owner'), person('b')));
  await all.apply(sync('a', person('a', 'owner', 'b@example.org'), person('b', 'member', 'a@example.org')));
  assert.deepEqual(await all.people(), ['a@example.org member member b', 'b@example.org owner owner a']);
});

test('a member is added, changed, removed; no one takes another’s address, and the owner does not change', async () => {
  await using all = await openHousehold();
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
  await using all = await openHousehold();
  await all.apply(sync('a', person('a', 'owner')));
  const change = { type: 'station_password_changed', cloudUserId: 'a', stationPasswordHash: 'x' } as const;
  const first = await all.apply(change);
  assert.ok(first.kind === 'applied' && first.revoked.length === 1);
  assert.deepEqual(await all.apply(change), { kind: 'applied', revoked: [] });
});

test('a list without changes writes no user; each difference is written', async () => {
  await using all = await openHousehold();
  await all.local('granny@example.org', 'member');
  const granny = { ...person('g', 'member', 'granny@example.org'), stationPasswordHash: 'of the cloud' };
  const list = [person('a', 'owner'), { ...person('b'), stationPasswordHash: 'x' }, granny];
  await all.apply(sync('a', ...list));
  let written = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => {
      if (node.kind === 'UpdateQueryNode' && JSON.stringify(node.table).includes('"users"')) written += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const identity = createIdentity({ db: all.db.withPlugin(counting), clock: systemClock });
  const apply = async (...members: CloudMember[]): Promise<number> => {
    written = 0;
    assert.equal((await identity.apply(sync('a', ...members))).kind, 'applied');
    return written;
  };
  assert.equal(await apply(...list), 1, 'the owner, whom it names');
  const changes = [
    { name: 'Bea' },
    { email: 'bea@example.org' },
    { role: 'admin' as const },
    { stationPasswordHash: 'y' },
  ];
  for (const change of changes) {
    const owner = list[0]!;
    const member = { ...list[1]!, ...change };
    const home = list[2]!;
    assert.ok((await apply(owner, member, home)) > 1, Object.keys(change).join());
    assert.equal(await apply(owner, member, home), 1);
    await apply(...list);
  }
});

test('a station has at most as many cloud members as a list may have', async () => {
  await using all = await openHousehold();
  await all.apply(sync('m0', ...Array.from({ length: maxMembers }, (_, index) => person(`m${index}`))));
  assert.equal((await all.people()).length, maxMembers);
  assert.equal((await all.apply({ type: 'member_added', member: person('one more') })).kind, 'refused');
  assert.equal((await all.apply({ type: 'member_removed', cloudUserId: 'm1' })).kind, 'applied');
  assert.equal((await all.apply({ type: 'member_added', member: person('another') })).kind, 'applied');
});
