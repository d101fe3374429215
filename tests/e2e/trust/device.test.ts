import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { generate } from 'mqtt-packet';
import { connectDevice, type TestDevice } from '@station/backend/testing/test-device';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

// Somebody has taken over a device: its login at the broker, which is Mosquitto with the settings of the stack.
// What it may publish and read: tests/e2e/backend/mosquitto.test.ts.

/** A packet of this size is refused by the settings of the stack. */
const tooLarge = 400_000;

describe('a hijacked device', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let lamp: TestDevice;
  let hijacked: DeviceLogin | undefined;
  let other: DeviceLogin | undefined;
  let token = '';

  before(async () => {
    station = life.use(await install('Mosquitto and SQLite', { devices: 8 }));
    await station.startBackend();
    token = await station.logIn();
    // The fourth and the last are lamps.
    other = station.logins[3];
    hijacked = station.logins[7];
    lamp = await waitFor('the login of the lamp', () => connectDevice(station.mqttUrl, loginOf(other)));
    life.defer(() => lamp[Symbol.asyncDispose]());
    await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32' });
    await waitFor('the answer', () => lamp.received.some(({ body }) => body['status'] === 'ok'));
  });
  after(() => life.disposeAsync());

  const loginOf = (login: DeviceLogin | undefined) => {
    assert.ok(login);
    return { stationId, id: '', externalId: login.externalId, token: login.token };
  };
  const logIn = (clientId: string, clean = true): Promise<MqttClient> => {
    const { externalId: username, token: password } = loginOf(hijacked);
    const session = { clean, properties: { sessionExpiryInterval: clean ? 0 : 600 } };
    return connectAsync(
      station.mqttUrl,
      { username, password, clientId, reconnectPeriod: 0, protocolVersion: 5, ...session },
      false,
    );
  };
  const ownTopic = (end: 'event' | 'state' | 'command'): string =>
    deviceTopic(stationId, loginOf(hijacked).externalId, end);
  const call = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  /** Somebody switches the other device, and it answers. */
  const expectService = async (): Promise<void> => {
    const devices = (await (await call('GET', '/api/devices')).json()) as { id: string; externalId: string }[];
    const { id } = devices.find(({ externalId }) => externalId === other?.externalId) ?? assert.fail();
    const answer = await call('POST', `/api/devices/${id}/command`, { action: 'turn_on' });
    assert.equal(answer.status, 202);
    const { commandId } = (await answer.json()) as { commandId: string };
    await waitFor('the command', () => lamp.received.find(({ body }) => body['commandId'] === commandId));
  };
  const openTcp = async (): Promise<Socket> => {
    const socket = connect(Number(new URL(station.mqttUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const endOf = async (socket: Socket): Promise<number> => {
    let received = 0;
    socket.on('data', (data) => (received += data.length));
    if (!socket.destroyed) await new Promise<void>((resolve) => socket.on('close', () => resolve()));
    return received;
  };

  it('sends messages and packets that are too large: it is disconnected, and the others are not', async () => {
    for (const payload of ['x'.repeat(tooLarge), JSON.stringify({ state: { on: 'x'.repeat(tooLarge) } })]) {
      const client = await logIn('large');
      client.on('error', () => undefined);
      const ended = new Promise<void>((resolve) => client.on('close', () => resolve()));
      client.publish(ownTopic('state'), payload, { qos: 0 });
      await ended;
    }
    await expectService();
  });

  it('sends large or broken packets before it logs in: the broker keeps none of them', async () => {
    const login = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0 } as const;
    const whole = generate({ ...login, clientId: 'c', username: 'u', password: Buffer.alloc(tooLarge / 10, 0x61) });
    const packets = [
      // A header that announces 256 MB, and never ends.
      Buffer.concat([Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(tooLarge)]),
      Buffer.concat([Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(tooLarge)]),
      whole,
      Buffer.from('GET / HTTP/1.1\r\nHost: station.local\r\n\r\n'),
    ];
    for (const packet of packets) {
      const socket = await openTcp();
      const ended = endOf(socket);
      socket.write(packet);
      assert.ok((await ended) < 10, 'nothing but a refusal');
    }
    await expectService();
  });

  it('sends 2,000 messages that make no sense: they are dropped, and the others are served meanwhile', async () => {
    const client = await logIn('noise');
    const noise = [
      '{',
      '[]',
      'null',
      '""',
      '{"state":7}',
      '{"state":{"on":{"a":[]}}}',
      '\u0000',
      '{"event":"x","data":1}',
    ];
    for (let count = 0; count < 2_000; count++) {
      client.publish(ownTopic(count % 2 === 0 ? 'state' : 'event'), noise[count % noise.length] ?? '', { qos: 0 });
    }
    await expectService();
    await client.endAsync(true);
    assert.deepEqual(await station.logged('unexpected_error'), []);
  });

  it('describes itself as it likes: nothing of another device changes, and names such as __proto__ are lost', async () => {
    const client = await logIn('describing');
    const topic = deviceTopic(stationId, loginOf(hijacked).externalId, 'handshake');
    const key = '{"key":"__proto__","kind":"boolean"}';
    const described = (type: string, capability: string): string =>
      `{"type":"${type}","firmwareVersion":"9.9.9","chip":"c","capabilities":[${capability}],"commands":[]}`;
    for (const type of ['light', ...Array.from({ length: 230 }, (_, index) => `junk-${index}`)])
      await client.publishAsync(topic, described(type, '{"key":"off","kind":"boolean"}'), { qos: 1 });
    await client.publishAsync(topic, described('light', key), { qos: 1 });
    await client.publishAsync(ownTopic('state'), '{"state":{"__proto__":{"polluted":1},"constructor":1,"on":true}}', {
      qos: 1,
    });
    type Shown = { externalId: string; state: object; firmwareVersion: string };
    const shown = async (): Promise<Shown | undefined> =>
      ((await (await call('GET', '/api/devices')).json()) as Shown[]).find(
        ({ externalId }) => externalId === loginOf(hijacked).externalId,
      );
    await waitFor('its state', async () => Object.keys((await shown())?.state ?? {}).includes('on'));
    assert.deepEqual(
      Object.keys((await shown())?.state ?? {}).filter((name) => name in Object.prototype),
      [],
    );
    const types = (await (await call('GET', '/api/device-types')).json()) as { type: string; commands: object[] }[];
    assert.deepEqual(
      types.filter(({ type }) => type.startsWith('junk-')),
      [],
    );
    assert.equal(types.filter(({ type }) => type === 'light').length, 1);
    await expectService();
    await client.endAsync(true);
    assert.deepEqual(await station.logged('unexpected_error'), []);
  });

  it('takes the session of another client at the broker by its client id: it reads nothing of it', async () => {
    const { externalId, token: password } = loginOf(other);
    const login = { username: externalId, password, clientId: 'known', reconnectPeriod: 0 };
    const session = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;
    const victim = await connectAsync(station.mqttUrl, { ...login, ...session }, false);
    await victim.subscribeAsync(deviceTopic(stationId, externalId, 'command'), { qos: 1 });
    const read: string[] = [];
    const taken = await logIn('known', false);
    taken.on('message', (topic) => read.push(topic));
    await expectService();
    await taken.endAsync(true);
    assert.equal(read.join(), '', 'a command for another device');

    await station.stopBackend('SIGTERM');
    const backends = await logIn(`station-${stationId}`, false);
    backends.on('message', (topic) => read.push(topic));
    await lamp.publish('event', { event: 'user_event', data: { action: 'button_pressed' } });
    await lamp.publish('state', { state: { on: true } });
    await backends.subscribeAsync(ownTopic('command'), { qos: 1 });
    await station.startBackend();
    await waitFor('the backend to be served again', () => expectService().then(() => true));
    assert.equal(read.join(), '', 'a message for the backend');
  });
});
