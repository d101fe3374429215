import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { bearer } from '../../../apps/backend/testing/running-backend.ts';
import { addDevice } from '../../../apps/backend/testing/test-device.ts';
import type { RpcRefusal } from '../../../simulators/cloud/reference-cloud.ts';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { createLeapingClock } from './leaping-clock.ts';
import { claimedStation, impatient, upTo, type ClaimedStation } from './station.ts';
import { isOvertaking, sweep } from './sweep.ts';

const longestPatienceMs = 8_000;

/** Repeats a command until the answer comes, like a cloud that does not know its result. An id means the same only on one connection. */
async function insist({ cloud, deviceId }: ClaimedStation, key: string): Promise<void> {
  const params = { deviceId, command: { action: 'reboot' }, idempotencyKey: key };
  // What is still waited for after the answer keeps the process of the tests.
  for (let patienceMs = 500; ; patienceMs = Math.min(2 * patienceMs, longestPatienceMs)) {
    const link = await cloud.connection();
    const logins = cloud.logins();
    const lost = waitFor('another login', () => cloud.logins() > logins, patienceMs).then(() => null);
    const answered = await Promise.race([link.call('device.command', params), lost]).catch(() => null);
    if (answered !== null) return assert.equal((answered as { status: string }).status, 'ok');
  }
}

test('a network fault at any message loses no event, keeps the order and repeats nothing', async (t) => {
  await using workspace = await createWorkspace();
  const clock = createLeapingClock();
  const station = await claimedStation(workspace, { ...impatient, clock });
  const { cloud, device } = station;
  let events = 0;
  const { rounds, failures } = await sweep({
    cloud,
    clock,
    // The login, four events, a state and an answer; the login's answer, a command and an acknowledgement.
    least: { from_station: 7, to_station: 3 },
    round: async ({ number, action, direction }) => {
      const before = events;
      (await cloud.connection()).cut();
      const says = upTo(4).map(() =>
        device.publish('event', { event: 'device_event', data: { action: 'm', n: events++ } }),
      );
      const state = device.publish('state', { state: { motion: number % 2 === 0, battery: number } });
      await Promise.all([...says, state, insist(station, `the-command-of-round-${number}`)]);
      await waitFor('every event at the cloud', () => station.receivedEvents().length >= events);
      const heard = station.receivedEvents().slice(before);
      // When frames overtake each other, the order of arrival differs from the order of sending.
      const isReordered = direction === 'from_station' && isOvertaking(action);
      assert.deepEqual(
        isReordered ? heard.sort((a, b) => a - b) : heard,
        upTo(4).map((n) => before + n),
      );
    },
  });
  await waitFor('each command at the device', () => station.commandIds().length >= rounds);
  assert.equal(new Set(station.commandIds()).size, rounds, 'each command once');
  assert.equal(station.commandIds().length, rounds);
  await waitFor('the latest state at the cloud', () => {
    const last = cloud.states.at(-1)?.params['state'] as { battery: number } | undefined;
    return last?.battery === rounds - 1;
  });
  const status = async () => (await outbox(station)).pending;
  await waitFor('an empty outbox', async () => (await status()) === 0);
  assert.equal((await outbox(station)).dropped, 0);
  assert.ok(cloud.logins() > rounds, 'each round has its own login');
  t.diagnostic(`the network failed at ${failures} messages, in ${rounds} rounds`);
});

test('acknowledgements in the wrong order, or repeated ones, lose nothing and repeat nothing', async () => {
  await using workspace = await createWorkspace();
  const station = await claimedStation(workspace);
  const { cloud, device } = station;
  let turn = 0;
  // Acknowledgements overtake each other.
  cloud.options.frameAction = (way, text) =>
    way === 'to_station' && text.includes('"ack"') ? { overtakenMs: (turn++ * 37) % 50 } : 'pass';
  const count = 300;
  for (const n of upTo(count)) {
    await device.publish('event', { event: 'device_event', data: { action: 'm', n } });
    if (n % 60 === 59) (await cloud.connection()).cut();
  }
  await waitFor('every event at the cloud', () => station.receivedEvents().length >= count);
  assert.deepEqual(station.receivedEvents(), upTo(count));
  await waitFor('an empty outbox', async () => (await outbox(station)).pending === 0);
});

test('without acknowledgements, sent messages are not kept', async () => {
  await using workspace = await createWorkspace();
  const station = await claimedStation(workspace);
  station.cloud.options.acks = false;
  (await station.cloud.connection()).cut();
  for (const n of upTo(20)) await station.device.publish('event', { event: 'device_event', data: { action: 'm', n } });
  await waitFor('every event at the cloud', () => station.receivedEvents().length === 20);
  assert.deepEqual(station.receivedEvents(), upTo(20));
  await waitFor('an empty outbox', async () => (await outbox(station)).pending === 0);
});

test('a message at which the cloud closes the link becomes a dead letter; a repaired cloud gets it once', async () => {
  await using workspace = await createWorkspace();
  const station = await claimedStation(workspace);
  const { cloud, device } = station;
  cloud.options.frameAction = (way, text) => {
    if (way !== 'from_station' || !text.includes('"n":3}')) return 'pass';
    void cloud.connection().then((link) => link.close(1011, 'internal error'));
    return 'lose';
  };
  for (const n of upTo(8)) await device.publish('event', { event: 'device_event', data: { action: 'm', n } });
  const others = upTo(8).filter((n) => n !== 3);
  await waitFor('the other messages at the cloud', () => station.receivedEvents().length === others.length);
  assert.deepEqual(station.receivedEvents(), others);
  await waitFor('the dead letter', async () => (await outbox(station)).deadLetters === 1);

  const headers = bearer((await station.backend.setUp()).accessToken);
  const sendAgain = { method: 'POST', url: '/api/cloud/dead-letters/send', headers } as const;
  assert.deepEqual((await station.backend.http.inject(sendAgain)).json(), { count: 1 });
  await waitFor('the dead letter again', async () => (await outbox(station)).deadLetters === 1);
  assert.deepEqual(station.receivedEvents(), others);
  cloud.options.frameAction = () => 'pass';
  assert.deepEqual((await station.backend.http.inject(sendAgain)).json(), { count: 1 });
  await waitFor('the message at the cloud', () => station.receivedEvents().includes(3));
  assert.deepEqual(station.receivedEvents(), [...others, 3]);
  await waitFor('an empty outbox', async () => {
    const { pending, deadLetters } = await outbox(station);
    return pending === 0 && deadLetters === 0;
  });
});

test('does not send an answer larger than a frame; the link stays open and everything else arrives', async () => {
  await using workspace = await createWorkspace();
  const station = await claimedStation(workspace);
  const { cloud, device, backend, deviceId } = station;
  const { db } = backend.backend;
  // The limit of a state keeps every other message smaller.
  for (let n = 0; n < 20; n++) {
    const { id } = await addDevice(db, `attic-${n}`, 'pir');
    const state = JSON.stringify({ text: 'x'.repeat(60_000) });
    await db.updateTable('devices').set({ state, state_at: Date.now() }).where('id', '=', id).execute();
  }
  const logins = cloud.logins();
  const link = await cloud.connection();
  await assert.rejects(link.call('devices.snapshot'), (error: RpcRefusal) => error.code === rpcErrors.failed);
  for (const n of [0, 1]) {
    await device.publish('event', Buffer.from(`{"event":"device_event","data":{"action":"m","n":${n}}}`));
  }
  await waitFor('the messages at the cloud', () => station.receivedEvents().length === 2);
  assert.deepEqual(await link.call('device.command', { deviceId, command: { action: 'reboot' } }), { status: 'ok' });
  assert.equal(cloud.logins(), logins, 'the link stayed open');
});

async function outbox({ backend }: ClaimedStation): Promise<{ pending: number; dropped: number; deadLetters: number }> {
  const { db } = backend.backend;
  const count = async (table: 'cloud_outbox' | 'cloud_dead_letters'): Promise<number> => {
    const row = await db.selectFrom(table).select(db.fn.countAll<number>().as('number')).executeTakeFirstOrThrow();
    return Number(row.number);
  };
  const config = await db.selectFrom('cloud_config').select('dropped').executeTakeFirstOrThrow();
  return {
    pending: await count('cloud_outbox'),
    deadLetters: await count('cloud_dead_letters'),
    dropped: config.dropped,
  };
}
