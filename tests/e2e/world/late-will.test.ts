import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { generate } from 'mqtt-packet';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

/** The broker ends a silent connection after one and a half times this (MQTT 3.1.1, section 3.1.2.10). */
const keepaliveSeconds = 5;
const untilLateWillMs = 7_500;
/** The last wills of the older connections have come by then, and count if they count at all. */
const watchMs = 20_000;

const topicOf = (login: DeviceLogin, end: DeviceTopicEnd): string => deviceTopic(stationId, login.externalId, end);
const willOf = (login: DeviceLogin) => ({
  topic: topicOf(login, 'heartbeat'),
  payload: Buffer.from('{"status":"offline"}'),
  qos: 1 as const,
  retain: true,
});

/** A connection whose Wi-Fi is gone: it logs in, sends its handshake, and is never heard again. It sends no FIN. */
async function fallSilent(station: Installation, login: DeviceLogin, isListening: boolean): Promise<Socket> {
  const { hostname, port } = new URL(station.mqttUrl);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  const answered = once(socket, 'data');
  socket.write(
    generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      clientId: `esp-${Math.random()}`,
      keepalive: keepaliveSeconds,
      username: login.externalId,
      password: Buffer.from(login.token),
      will: willOf(login),
    }),
  );
  await answered;
  if (isListening) {
    const subscribed = once(socket, 'data');
    socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions: subscriptionsOf(login) }));
    await subscribed;
  }
  const payload = JSON.stringify({ type: login.type, firmwareVersion: '1.0.0', chip: 'esp32' });
  socket.write(
    generate({ cmd: 'publish', topic: topicOf(login, 'handshake'), payload, qos: 0, dup: false, retain: false }),
  );
  return socket;
}

const subscriptionsOf = (login: DeviceLogin) =>
  (['command', 'handshake/ack'] as const).map((end) => ({
    topic: deviceTopic(stationId, login.externalId, end),
    qos: 1 as const,
  }));

/** Another connection of the same board, with a client id of its own. */
async function connectAgain(station: Installation, login: DeviceLogin, isListening: boolean): Promise<MqttClient> {
  const client = await connectAsync(station.mqttUrl, {
    clientId: `esp-${Math.random()}`,
    username: login.externalId,
    password: login.token,
    keepalive: 15,
    reconnectPeriod: 0,
    will: willOf(login),
  });
  if (isListening) for (const { topic, qos } of subscriptionsOf(login)) await client.subscribeAsync(topic, { qos });
  await client.publishAsync(topicOf(login, 'heartbeat'), '{"status":"online"}', { qos: 0 });
  return client;
}

async function statuses(station: Installation): Promise<Map<string, string>> {
  const rows = await station.query<{ external_id: string; status: string }>('select external_id, status from devices');
  return new Map(rows.map(({ external_id: name, status }) => [name, status]));
}

// At the same time, because they mostly wait.
describe('the last will of an older connection', { concurrency: true }, () => {
  for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
    it(kind, { timeout: 300_000 }, async () => {
      await using station = await install(kind, { devices: 5 });
      await station.startBackend();
      const [roamed, sensor, quick, ended, gone] = station.logins;
      assert.ok(roamed && sensor && quick && ended && gone);
      await waitFor('the logins', async () => {
        const client = await connectAsync(station.mqttUrl, {
          username: gone.externalId,
          password: gone.token,
          reconnectPeriod: 0,
        });
        await client.endAsync();
        return true;
      });
      const silent = await Promise.all(
        [roamed, sensor, quick, ended].map((login) => fallSilent(station, login, login !== sensor)),
      );
      const lost = await connectAgain(station, gone, true);
      await lost.publishAsync(
        topicOf(gone, 'handshake'),
        JSON.stringify({ type: gone.type, firmwareVersion: '1.0.0', chip: 'esp32' }),
        { qos: 1 },
      );
      const silentFromMs = performance.now();
      await waitFor('all to be online', async () =>
        [...(await statuses(station)).values()].every((s) => s === 'online'),
      );
      const open = [
        await connectAgain(station, roamed, true),
        // It only measures, and listens to nothing.
        await connectAgain(station, sensor, false),
      ];
      const last = await connectAgain(station, ended, true);
      await last.endAsync();
      lost.stream.destroy();
      // The older will comes first, and the newer connection right behind it.
      await sleep(Math.max(0, silentFromMs + untilLateWillMs + 500 - performance.now()));
      open.push(await connectAgain(station, quick, true));
      const seen = new Set<string>();
      const fromMs = performance.now();
      while (performance.now() - fromMs < watchMs) {
        const now = await statuses(station);
        for (const [index, login] of [roamed, sensor, quick].entries())
          if (now.get(login.externalId) !== 'online') seen.add(['roamed', 'sensor', 'quick'][index] ?? '');
        await sleep(250);
      }
      assert.deepEqual([...seen], []);
      await waitFor('the devices that are gone to be offline', async () => {
        const now = await statuses(station);
        return now.get(ended.externalId) === 'offline' && now.get(gone.externalId) === 'offline';
      });
      for (const client of open) await client.endAsync(true);
      for (const socket of silent) socket.destroy();
    });
  }
});
