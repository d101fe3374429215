import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCloudSockets,
  type CloudSocket,
  type OpenCloudSocket,
} from '@station/backend/cloud/adapters/cloud-socket';
import { runBackend } from '@station/backend/testing/running-backend';
import { addDevice, connectDevice } from '@station/backend/testing/test-device';
import { until } from '@station/backend/testing/until';
import { cloudPath } from '@station/protocol/cloud-messages';
import { startReferenceCloud, type CloudConnection } from './reference-cloud.ts';

/** The real sockets. Records what was sent on each one and how often its buffered bytes were read. */
function watchedSockets(url: string) {
  const opened: { socket: CloudSocket; sent: string[]; asked: number }[] = [];
  const openReal = createCloudSockets({ url, ca: null, pins: [] });
  const open: OpenCloudSocket = (handler) => {
    const socket = openReal(handler);
    const one = { socket, sent: [] as string[], asked: 0 };
    opened.push(one);
    return {
      get bufferedAmount() {
        one.asked += 1;
        return socket.bufferedAmount;
      },
      send: (text, done) => {
        one.sent.push(text);
        socket.send(text, done);
      },
      ping: socket.ping,
      pause: socket.pause,
      resume: socket.resume,
      end: socket.end,
    };
  };
  return { open, current: () => opened.at(-1)! };
}

test('when the cloud stops reading, events wait on disk, the link is closed at 8 MiB, and nothing is lost', async () => {
  await using cloud = await startReferenceCloud({});
  const sockets = watchedSockets(`${cloud.host}${cloudPath}`);
  const reconnect = { nextMs: () => 20, stable: () => undefined };
  const cloudTuning = { open: sockets.open, reconnect };
  await using backend = await runBackend({ env: { CLOUD_HOST: cloud.host }, cloudTuning });
  const { db, mqttAddress } = backend.backend;
  // Makes each answer to devices.snapshot almost as long as allowed.
  const others = Array.from({ length: 14 }, (_, index) => `lamp-${index}`);
  for (const name of others) {
    const { id } = await addDevice(db, name);
    const state = JSON.stringify({ text: 'x'.repeat(60_000) });
    await db.updateTable('devices').set({ state, state_at: Date.now() }).where('id', '=', id).execute();
  }
  const porch = await addDevice(db, 'porch', 'pir');
  await using device = await connectDevice(mqttAddress ?? '', porch);
  await until('the station waits for the claim', () => cloud.waiting().length === 1);
  const [waiting] = cloud.waiting();
  cloud.claim(waiting?.chipId ?? '', waiting?.claimSecret ?? '');
  const link = await cloud.connection();
  await until('the states are sent', () => cloud.states.length === others.length);
  const { socket, sent } = sockets.current();

  link.stall();
  for (let answers = 1; socket.bufferedAmount < 1024 * 1024; answers++) {
    ask(link);
    await until('the call is answered', () => sent.filter((text) => text.includes('"result"')).length === answers);
  }
  const sentNumbers = [1, 2, 3];
  for (const n of sentNumbers) {
    await device.publish('state', { state: { n } });
    await device.publish('event', { event: 'device_event', data: { action: 'motion_detected', n } });
  }
  await until('all events are stored', async () => {
    await backend.backend.settle();
    const { state } = await db
      .selectFrom('devices')
      .select('state')
      .where('id', '=', porch.id)
      .executeTakeFirstOrThrow();
    const kept = await db.selectFrom('cloud_outbox').select('seq').where('channel', '=', 'events').execute();
    return state === '{"n":3}' && kept.length === sentNumbers.length;
  });
  const enough = sockets.current().asked + 6;
  await until('the station has checked for space since then', () => sockets.current().asked >= enough);
  const afterwards = sent.filter(
    (text) => /"method":"device\.(event|stateChanged)"/.test(text) && text.includes(porch.id),
  );
  assert.deepEqual(afterwards, [], 'nothing is added to the waiting bytes');
  assert.equal(cloud.logins(), 1, 'the link stays open');

  await until('the link is closed and opened again', () => {
    if (cloud.logins() === 1) ask(link);
    return cloud.logins() === 2;
  });
  const reasons = backend.logger.events('cloud_link_down').map(({ reason }) => reason);
  assert.ok(reasons.includes('The cloud does not read what it is sent.'), String(reasons));
  const numbers = (messages: { params: Record<string, unknown> }[], key: string) =>
    messages.flatMap(({ params }) => (params[key] as { n?: number } | undefined)?.n ?? []);
  await until('the events are sent', () => numbers(cloud.received, 'data').length === sentNumbers.length);
  assert.deepEqual(numbers(cloud.received, 'data'), sentNumbers);
  await until('the latest state is sent', () => numbers(cloud.states, 'state').length > 0);
  assert.deepEqual(numbers(cloud.states, 'state'), [3]);
});

/** Time limit for a long answer that nobody reads. */
function ask(link: CloudConnection): void {
  link.call('devices.snapshot').catch(() => undefined);
}
