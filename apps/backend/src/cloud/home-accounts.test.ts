import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHousehold, person, phone, sync } from '../../testing/cloud-household.ts';
import { testPasskey } from '../../testing/test-passkey.ts';

test('when the cloud is removed, local users log in as before, and cloud-only users stay', async () => {
  await using all = await openHousehold();
  const home = await all.local('home@example.org', 'owner');
  await all.local('granny@example.org', 'member');
  await all.config.claim('a token that is long enough');
  await all.apply(sync('h', person('h', 'owner', 'home@example.org'), person('x')));
  await all.apply({ type: 'member_updated', member: person('h', 'owner', 'moved@example.org') });
  await all.apply({ type: 'station_password_changed', cloudUserId: 'h', stationPasswordHash: 'junk' });
  const session = await all.sessions.open(home, 'junk', phone);
  assert.deepEqual(await all.config.wipe(), [home]);
  assert.deepEqual(await all.logins(), ['granny@example.org local', 'home@example.org local', 'x@example.org null']);
  assert.deepEqual(await all.people(), [
    'granny@example.org member member -',
    'home@example.org owner owner -',
    'x@example.org member member x',
  ]);
  assert.equal(
    (await all.sessions.rotate(session?.token ?? '', phone)).kind,
    'unknown',
    'whoever knows the other password is out',
  );
  assert.deepEqual(await all.config.wipe(), []);
});

test('the local owner, whom the cloud made an admin, becomes the owner again when the cloud is removed', async () => {
  const ways: Record<string, (all: Awaited<ReturnType<typeof openHousehold>>) => Promise<unknown>> = {
    'another address': (all) => all.apply(sync('x', person('x', 'owner'))),
    'two owners one after another': async (all) => {
      await all.apply(sync('x', person('x', 'owner'), person('y')));
      await all.apply(sync('y', person('x'), person('y', 'owner')));
    },
    'linked, then made a member': async (all) => {
      await all.apply(sync('h', person('h', 'owner', 'home@example.org'), person('x')));
      await all.apply(sync('x', person('h', 'member', 'home@example.org'), person('x', 'owner')));
    },
    'linked, then dropped': async (all) => {
      await all.apply(sync('h', person('h', 'owner', 'home@example.org'), person('x')));
      await all.apply(sync('x', person('x', 'owner')));
    },
    'dropped, then linked and removed': async (all) => {
      await all.apply(sync('x', person('x', 'owner')));
      await all.apply({ type: 'member_added', member: person('h', 'member', 'home@example.org') });
      await all.apply({ type: 'member_removed', cloudUserId: 'h' });
    },
    'the owner again': async (all) => {
      await all.apply(sync('x', person('x', 'owner')));
      await all.apply(sync('h', person('h', 'owner', 'home@example.org'), person('x')));
    },
    'a member of the house': async (all) => {
      await all.apply(sync('g', person('g', 'owner', 'granny@example.org')));
    },
    'a member of the house, then dropped': async (all) => {
      await all.apply(sync('g', person('g', 'owner', 'granny@example.org')));
      await all.apply(sync('x', person('x', 'owner')));
      assert.ok((await all.people()).includes('granny@example.org member member -'));
    },
  };
  for (const [way, go] of Object.entries(ways)) {
    await using all = await openHousehold();
    await all.local('home@example.org', 'owner');
    await all.local('granny@example.org', 'member');
    await go(all);
    const isOwner = (line: string): boolean => line.includes('owner');
    assert.equal((await all.people()).filter(isOwner).length, 1, way);
    await all.config.wipe();
    const people = await all.people();
    assert.deepEqual(people.filter(isOwner), ['home@example.org owner owner -'], way);
    assert.ok(people.includes('granny@example.org member member -'), way);
    const others = people.filter((line) => line.startsWith('x') || line.startsWith('y'));
    for (const line of others) assert.match(line, /(admin admin|member member) [xy]$/, way);
    assert.deepEqual(await all.config.wipe(), [], `${way}: once`);
  }
});

test('an account of the house that the cloud removes is closed, until it is linked again or the cloud is removed', async () => {
  await using all = await openHousehold();
  await all.local('home@example.org', 'owner');
  const granny = await all.local('granny@example.org', 'member');
  const opens = async (): Promise<boolean> => (await all.sessions.open(granny, 'local', phone)) !== null;
  const members = [person('h', 'owner', 'home@example.org'), person('g', 'member', 'granny@example.org')];
  const removals = [{ type: 'member_removed', cloudUserId: 'g' } as const, sync('h', members[0]!)];
  for (const removal of removals) {
    await all.apply(sync('h', ...members));
    assert.ok(await opens(), 'linked');
    assert.deepEqual(await all.apply(removal), { kind: 'applied', revoked: [granny] });
    assert.deepEqual([await opens(), await all.sessions.list(granny)], [false, []]);
  }
  assert.equal((await all.apply({ type: 'member_removed', cloudUserId: 'h' })).kind, 'refused', 'the owner stays');
  await all.config.wipe();
  assert.ok(await opens());
  assert.deepEqual(await all.people(), ['granny@example.org member member -', 'home@example.org owner owner -']);
});

test('passkeys end with a password that the cloud changes; those of a closed account stay with it', async () => {
  await using all = await openHousehold();
  const home = await all.local('home@example.org', 'owner');
  const granny = await all.local('granny@example.org', 'member');
  for (const userId of [home, granny]) await all.db.insertInto('passkeys').values(testPasskey(userId)).execute();
  const owners = async (): Promise<string[]> =>
    (await all.db.selectFrom('passkeys').select('user_id').orderBy('user_id').execute()).map((row) => row.user_id);
  const members = [person('h', 'owner', 'home@example.org'), person('g', 'member', 'granny@example.org')];
  await all.apply(sync('h', ...members));
  assert.deepEqual(await owners(), [granny, home]);
  await all.apply({ type: 'station_password_changed', cloudUserId: 'h', stationPasswordHash: 'changed' });
  assert.deepEqual(await owners(), [granny]);
  await all.apply({ type: 'member_removed', cloudUserId: 'g' });
  assert.deepEqual(await owners(), [granny]);
});

test('if the local owner no longer exists, the owner named by the cloud stays the owner', async () => {
  await using all = await openHousehold();
  await all.local('home@example.org', 'owner');
  await all.local('granny@example.org', 'member');
  await all.apply(sync('g', person('g', 'owner', 'granny@example.org')));
  await all.db.deleteFrom('users').where('email', '=', 'home@example.org').execute();
  await all.config.wipe();
  assert.deepEqual(await all.people(), ['granny@example.org owner owner -']);
});
