import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCloudSockets, type CloudSocket, type OpenCloudSocket } from '@station/backend/adapters/cloud-socket';
import { runBackend } from '@station/backend/testing/running-backend';
import { addDevice, connectDevice } from '@station/backend/testing/test-device';
import { until } from '@station/backend/testing/until';
import { cloudPath } from '@station/protocol/cloud-messages';
import { startReferenceCloud, type CloudConnection } from './reference-cloud.ts';

/** The real sockets; with each, what was sent on it, and how often it was asked what waits. */
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

test('a cloud that stops reading: what happens waits at home, the link is given up at 8 MiB, and nothing is lost', async () => {
  await using cloud = await startReferenceCloud({});
  const sockets = watchedSockets(`${cloud.host}${cloudPath}`);
  const reconnect = { nextMs: () => 20, stable: () => undefined };
  const cloudTuning = { open: sockets.open, reconnect };
  await using backend = await runBackend({ env: { CLOUD_HOST: cloud.host }, cloudTuning });
  const { db, mqttAddress } = backend.backend;
  // Makes each answer to devices.snapshot as long as it may be, nearly.
  for (const name of ['attic', 'barn', 'cellar', 'den']) {
    const { id } = await addDevice(db, name);
    const state = JSON.stringify({ text: 'x'.repeat(200_000) });
    await db.updateTable('devices').set({ state, state_at: Date.now() }).where('id', '=', id).execute();
  }
  const porch = await addDevice(db, 'porch', 'pir');
  await using device = await connectDevice(mqttAddress ?? '', porch);
  await until('the station knocks', () => cloud.waiting().length === 1);
  const [waiting] = cloud.waiting();
  cloud.claim(waiting?.chipId ?? '', waiting?.claimSecret ?? '');
  const link = await cloud.connection();
  await until('the states are told', () => cloud.states.length === 4);
  const { socket, sent } = sockets.current();

  link.stall();
  for (let answers = 1; socket.bufferedAmount < 1024 * 1024; answers++) {
    ask(link);
    await until('it is answered', () => sent.filter((text) => text.includes('"result"')).length === answers);
  }
  const said = [1, 2, 3];
  for (const n of said) {
    await device.say('state', { state: { n } });
    await device.say('event', { event: 'device_event', data: { action: 'motion_detected', n } });
  }
  await until('it is all kept', async () => {
    const { state } = await db
      .selectFrom('devices')
      .select('state')
      .where('id', '=', porch.id)
      .executeTakeFirstOrThrow();
    const kept = await db.selectFrom('cloud_outbox').select('seq').where('channel', '=', 'events').execute();
    return state === '{"n":3}' && kept.length === said.length;
  });
  const enough = sockets.current().asked + 6;
  await until('it has looked for room since', () => sockets.current().asked >= enough);
  const told = sent.filter((text) => /"method":"device\.(event|stateChanged)"/.test(text) && text.includes(porch.id));
  assert.deepEqual(told, [], 'nothing of it is added to what waits');
  assert.equal(cloud.logins(), 1, 'and the link goes on');

  await until('the link is given up and made anew', () => {
    if (cloud.logins() === 1) ask(link);
    return cloud.logins() === 2;
  });
  const reasons = backend.logger.events('cloud_link_down').map(({ reason }) => reason);
  assert.ok(reasons.includes('The cloud does not read what it is sent.'), String(reasons));
  const numbers = (heard: { params: Record<string, unknown> }[], key: string) =>
    heard.flatMap(({ params }) => (params[key] as { n?: number } | undefined)?.n ?? []);
  await until('what happened is told', () => numbers(cloud.heard, 'data').length === said.length);
  assert.deepEqual(numbers(cloud.heard, 'data'), said);
  await until('the latest state is told', () => numbers(cloud.states, 'state').length > 0);
  assert.deepEqual(numbers(cloud.states, 'state'), [3]);
});

/** A limit for a long answer that is not read. */
function ask(link: CloudConnection): void {
  link.call('devices.snapshot').catch(() => undefined);
}
