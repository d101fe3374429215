import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { CloudClaim, CloudStatus } from '@station/protocol/cloud';
import { bearer, owner } from '../../../apps/backend/testing/running-backend.ts';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { createHousehold, hashOf, peopleAtHome, peopleInCloud } from './household.ts';
import { claimBy, livingStation, type LivingStation } from './living-station.ts';
import { isOvertaking, sweep, type Round } from './sweep.ts';

const report = (t: TestContext, { rounds, failures }: { rounds: number; failures: number }): void =>
  t.diagnostic(`the network failed at ${failures} messages, in ${rounds} rounds`);

/** The result of a login at home. */
async function logIn({ backend }: LivingStation, email: string, password: string) {
  const { http } = backend();
  const answer = await http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  assert.equal(answer.statusCode, 200, answer.body);
  const headers = bearer(answer.json<{ accessToken: string }>().accessToken);
  return {
    get: async <T>(url: string): Promise<T> => (await http.inject({ url, headers })).json<T>(),
    post: (url: string) => http.inject({ method: 'POST', url, headers }),
    isIn: async (): Promise<boolean> => (await http.inject({ url: '/api/auth/me', headers })).statusCode === 200,
  };
}

/** The tokens in the messages of a kind. */
const tokensOf = ({ messages }: Round, type: string): Set<string | undefined> =>
  new Set(
    messages.flatMap(({ text }) => {
      const message = JSON.parse(text) as { type?: string; stationToken?: string };
      return message.type === type ? [message.stationToken] : [];
    }),
  );

test('a network fault at any message of a claim: the station is claimed once and connects with the token of the cloud', async (t) => {
  await using workspace = await createWorkspace();
  const station = await livingStation(workspace);
  const { cloud, events } = station;
  await station.backend().setUp();
  const { get, post } = await logIn(station, owner.email, owner.password);
  const swept = await sweep({
    ...station,
    // The code and the token; then the token and its acceptance.
    least: { from_station: 2, to_station: 2 },
    round: async (round) => {
      await post('/api/cloud/unclaim');
      const { chipId, claimSecret } = await get<CloudClaim>('/api/cloud/claim');
      const token = await waitFor('the code at the cloud', () => cloud.claim(chipId, claimSecret));
      const status = () => get<CloudStatus>('/api/cloud/status');
      await waitFor('the link', async () => (await status()).state === 'authenticated');
      round.endFaults();
      assert.deepEqual(await (await cloud.connection()).call('devices.snapshot'), { devices: [] });
      assert.deepEqual(tokensOf(round, 'claim_success'), new Set([token]), 'one token, also when it is repeated');
      assert.deepEqual(tokensOf(round, 'station_auth'), new Set([token]), 'no other token is used');
      assert.equal(events('cloud_claimed').length, round.number + 1, 'claimed once');
      assert.notEqual((await status()).claimedAt, null);
      assert.deepEqual(cloud.waiting(), []);
    },
  });
  assert.equal(events('cloud_unclaimed').length, swept.rounds);
  assert.deepEqual(events('unexpected_error'), []);
  report(t, swept);
});

const oksana = { cloudUserId: 'oksana', email: 'oksana@example.org', name: 'Oksana', role: 'admin' } as const;
const petro = { cloudUserId: 'petro', email: 'petro@example.org', name: 'Petro', role: 'admin' } as const;
const marko = { cloudUserId: 'marko', email: 'marko@example.org', name: 'Marko', role: 'member' } as const;
const guest = (number: number) => {
  const id = `guest-${number}`;
  return { cloudUserId: id, email: `${id}@example.org`, name: id, role: 'member' } as const;
};

test('a network fault at any message about members: the next list corrects the station, and nothing is done twice', async (t) => {
  await using workspace = await createWorkspace();
  const station = await livingStation(workspace);
  const { cloud, events } = station;
  await station.backend().setUp();
  const { db } = station.backend().backend;
  const words = ['from the cloud 1', 'from the cloud 2'] as const;
  const hashes = words.map(hashOf);
  const household = createHousehold(cloud, {
    station: { name: 'Home' },
    ownerId: oksana.cloudUserId,
    members: [oksana, petro, guest(-1), { ...marko, stationPasswordHash: hashes[0]! }],
  });
  await claimBy(cloud);
  await household.settled();

  const isInOrder = async (when: string): Promise<void> => {
    const { people, ...rest } = await peopleAtHome(db);
    const [known, ...others] = people.filter(({ cloudUserId }) => cloudUserId === null);
    assert.deepEqual(
      [known?.email, known?.role, others],
      [owner.email, 'admin', []],
      'the former owner stays a member',
    );
    const fromCloud = people.filter(({ cloudUserId }) => cloudUserId !== null);
    assert.deepEqual({ ...rest, people: fromCloud }, peopleInCloud(household.list()), when);
  };
  const everything = async () => [
    await db.selectFrom('station').selectAll().execute(),
    await db.selectFrom('users').selectAll().orderBy('id').execute(),
    await db.selectFrom('station_members').selectAll().orderBy('user_id').execute(),
    await db.selectFrom('sessions').selectAll().orderBy('id').execute(),
  ];
  const listAgain = async (): Promise<void> => {
    (await cloud.connection()).cut();
    await household.settled();
  };
  const change = (number: number): void => {
    const { cloudUserId, ...rest } = guest(number);
    household.change({ type: 'station_renamed', name: `House ${number}` });
    household.change({ type: 'member_added', member: guest(number) });
    household.change({ type: 'member_updated', member: { ...rest, cloudUserId, name: 'Guest', role: 'admin' } });
    const stationPasswordHash = hashes[(number + 1) % 2]!;
    household.change({ type: 'station_password_changed', cloudUserId: marko.cloudUserId, stationPasswordHash });
    household.change({ type: 'member_removed', cloudUserId: guest(number - 1).cloudUserId });
    const ownerId = (number % 2 === 0 ? petro : oksana).cloudUserId;
    household.change({ ...household.list(), ownerId });
  };

  const swept = await sweep({
    ...station,
    // The login and an answer; then auth_ok, the list, six changes and a call.
    least: { from_station: 2, to_station: 9 },
    round: async ({ number, action, endFaults }) => {
      const refused = events('cloud_identity_refused').length;
      const before = await logIn(station, marko.email, words[number % 2 === 0 ? 0 : 1]);
      (await cloud.connection()).cut();
      await cloud.connection();
      change(number);
      await household.settled();
      const isOvertaken = isOvertaking(action);
      if (!isOvertaken) await isInOrder('after the messages');
      endFaults();
      await listAgain();
      await isInOrder('after the next list');
      assert.equal(await before.isIn(), false, 'the old password’s session has ended');

      const after = await logIn(station, marko.email, words[number % 2 === 0 ? 1 : 0]);
      const known = await everything();
      await listAgain();
      assert.deepEqual(await everything(), known, 'the same list again changes nothing');
      assert.equal(await after.isIn(), true, 'and ends no session');
      if (!isOvertaken) assert.equal(events('cloud_identity_refused').length, refused, 'no message is refused');
    },
  });
  assert.deepEqual(events('unexpected_error'), []);
  report(t, swept);
});
