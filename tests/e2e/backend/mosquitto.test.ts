import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectAsync, type IClientOptions } from 'mqtt';
import WebSocket from 'ws';
import { connectDevice, type TestDevice } from '@station/backend/testing/test-device';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import { install, owner, stationId, type Installation } from './installation.ts';

type SocketMessage = { type: string; deviceId?: string; status?: string; commandId?: string };

/** Each step continues from the previous one. */
describe('the life of a device on Mosquitto and PostgreSQL', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let lampLogin: DeviceLogin | undefined;
  let otherLogin: DeviceLogin | undefined;
  let lamp: TestDevice;
  let lampId = '';
  let token = '';
  /** Messages to a browser. */
  const received: SocketMessage[] = [];

  const loginOf = (login: DeviceLogin | undefined) => {
    assert.ok(login);
    return { stationId, id: '', externalId: login.externalId, token: login.token };
  };
  const call = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const read = async () =>
    (await (await call('GET', `/api/devices/${lampId}`)).json()) as {
      status: string;
      state: Record<string, unknown>;
      firmwareVersion: string;
    };
  const command = async (action: string): Promise<string> => {
    const answer = await call('POST', `/api/devices/${lampId}/command`, { action });
    assert.equal(answer.status, 202);
    return ((await answer.json()) as { commandId: string }).commandId;
  };
  const receive = (what: Partial<SocketMessage>): Promise<SocketMessage> =>
    waitFor(JSON.stringify(what), () =>
      received.find((one) => Object.entries(what).every(([key, value]) => one[key as keyof SocketMessage] === value)),
    );
  const receiveCommand = (commandId: string) =>
    waitFor('the command', () => lamp.received.find(({ body }) => body['commandId'] === commandId));
  const isLoggedIn = (options: IClientOptions): Promise<boolean> =>
    connectAsync(station.mqttUrl, { reconnectPeriod: 0, ...options }, false).then(
      async (client) => {
        await client.endAsync(true);
        return true;
      },
      () => false,
    );

  before(async () => {
    station = life.use(await install('Mosquitto and PostgreSQL', { devices: 8 }));
    await station.startBackend();
    // The fourth and the last are lamps.
    lampLogin = station.logins[3];
    otherLogin = station.logins[7];
    token = await station.logIn();
    const browser = new WebSocket(`${station.url.replace('http', 'ws')}/ws`);
    life.defer(() => browser.terminate());
    browser.on('open', () => browser.send(JSON.stringify({ type: 'auth', token })));
    browser.on('message', (data: Buffer) => void received.push(JSON.parse(data.toString('utf8')) as SocketMessage));
    await receive({ type: 'hello' });
  });
  after(() => life.disposeAsync());

  it('logs in with the login that the backend created at the broker', async () => {
    lamp = await waitFor('its login', () => connectDevice(station.mqttUrl, loginOf(lampLogin)));
    life.defer(() => lamp[Symbol.asyncDispose]());
    const devices = (await (await call('GET', '/api/devices')).json()) as { id: string; externalId: string }[];
    lampId = devices.find(({ externalId }) => externalId === lampLogin?.externalId)?.id ?? '';
  });

  it('gets an answer to its handshake, and its heartbeat, state and event are visible', async () => {
    await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32' });
    await waitFor('the answer', () => lamp.received.some(({ body }) => body['status'] === 'ok'));
    await lamp.publish('heartbeat', { status: 'online' });
    await lamp.publish('state', { state: { on: false, brightness: 40 } });
    await lamp.publish('event', { event: 'user_event', data: { action: 'button_pressed' } });
    await receive({ type: 'device_status', deviceId: lampId, status: 'online' });
    await receive({ type: 'device_event', deviceId: lampId });
    const { status, state, firmwareVersion } = await read();
    assert.deepEqual([status, state, firmwareVersion], ['online', { on: false, brightness: 40 }, '1.2.3']);
    const events = (await (await call('GET', `/api/devices/${lampId}/events`)).json()) as { data: object }[];
    assert.deepEqual(
      events.map(({ data }) => data),
      [{ action: 'button_pressed' }],
    );
  });

  it('executes a command and confirms it', async () => {
    const commandId = await command('turn_on');
    const { body } = await receiveCommand(commandId);
    assert.deepEqual(body, { action: 'turn_on', commandId });
    await lamp.publish('state', { state: { on: true } });
    await lamp.publish('event', { event: 'device_event', data: { action: 'command_ack', commandId } });
    await receive({ type: 'device_command', commandId, status: 'confirmed' });
    assert.equal((await read()).state['on'], true);
  });

  it('lets a command expire and reports it', async () => {
    const commandId = await command('turn_off');
    await receiveCommand(commandId);
    await receive({ type: 'device_command', commandId, status: 'expired' });
  });

  it('refuses wrong logins', async () => {
    const own = loginOf(lampLogin);
    const other = loginOf(otherLogin);
    const attempts: IClientOptions[] = [
      {},
      { username: own.externalId },
      { username: own.externalId, password: '' },
      { username: own.externalId, password: other.token },
      { username: own.externalId, password: `${own.token} ` },
      { username: 'nobody', password: own.token },
      { username: lampId, password: own.token },
      { username: 'backend', password: own.token },
      { username: 'backend', password: '' },
    ];
    for (const attempt of attempts) assert.equal(await isLoggedIn(attempt), false, JSON.stringify(attempt));
    assert.equal(await isLoggedIn({ username: own.externalId, password: own.token, clientId: 'right' }), true);
  });

  it('may read only its own commands and answers', async () => {
    const { externalId, token: password } = loginOf(lampLogin);
    const other = deviceTopic(stationId, loginOf(otherLogin).externalId, 'command');
    const login = { username: externalId, password, reconnectPeriod: 0, protocolVersion: 5 } as const;
    const client = await connectAsync(station.mqttUrl, login, false);
    try {
      const topics = [
        other,
        deviceTopic(stationId, loginOf(otherLogin).externalId, 'state'),
        deviceTopic(stationId, externalId, 'state'),
        other.replace(stationId, '00000000-0000-4000-8000-000000000000'),
        `station/${stationId}/device/+/command`,
        `station/+/device/${externalId}/command`,
        `station/${stationId}/device/${externalId}/#`,
        `$share/x/station/${stationId}/device/+/command`,
        'station/#',
        '#',
        '+/+/+/+/+',
        '$SYS/#',
        '$SYS/broker/clients/connected',
        '$CONTROL/#',
        '$CONTROL/dynamic-security/v1/response',
      ];
      for (const topic of topics) {
        await assert.rejects(client.subscribeAsync(topic, { qos: 1 }), Error, topic);
      }
      await client.subscribeAsync(deviceTopic(stationId, externalId, 'command'), { qos: 1 });
    } finally {
      await client.endAsync(true);
    }
  });

  it('may not publish for another device, another station, the station itself or the broker', async () => {
    const { externalId, token: password } = loginOf(lampLogin);
    const other = loginOf(otherLogin).externalId;
    const login = { username: externalId, password, reconnectPeriod: 0, protocolVersion: 5 } as const;
    const client = await connectAsync(station.mqttUrl, login, false);
    try {
      const forged = JSON.stringify({ event: 'device_event', data: { action: 'forged' } });
      const topics = [
        deviceTopic(stationId, other, 'event'),
        deviceTopic(stationId, other, 'command'),
        deviceTopic(stationId, other, 'handshake/ack'),
        deviceTopic(stationId, externalId, 'command'),
        deviceTopic('00000000-0000-4000-8000-000000000000', externalId, 'event'),
        `station/${stationId}/device/${externalId}`,
        `station/${stationId}/device/${externalId}/event/more`,
        'anything',
        '$CONTROL/dynamic-security/v1',
      ];
      for (const topic of topics) {
        // A broker may acknowledge a message and drop it (MQTT 3.1.1, section 3.3.5.2); with MQTT 5 it reports that.
        await assert.rejects(client.publishAsync(topic, forged, { qos: 1 }), /Not authorized|Topic/i, topic);
      }
      await client.publishAsync(deviceTopic(stationId, externalId, 'event'), forged.replace('forged', 'own'), {
        qos: 1,
      });
    } finally {
      await client.endAsync(true);
    }
    await waitFor('its own message to be written', async () => (await rowsWith('"own"')) === 1);
    assert.equal(await rowsWith('"forged"'), 0);
  });
  const rowsWith = async (text: string): Promise<number> => {
    const rows = await station.query<{ data: string }>('select data from device_events');
    return rows.filter(({ data }) => data.includes(text)).length;
  };

  it('is offline after its last will, and online with its next message', async () => {
    received.length = 0;
    lamp.client.stream.destroy();
    await receive({ type: 'device_status', deviceId: lampId, status: 'offline' });
    assert.equal((await read()).status, 'offline');
    lamp = await connectDevice(station.mqttUrl, loginOf(lampLogin));
    await lamp.publish('heartbeat', { status: 'online' });
    await receive({ type: 'device_status', deviceId: lampId, status: 'online' });
  });

  it('erases itself when it is removed, then loses its login, without effect on others', async () => {
    const removal = (await (await call('DELETE', `/api/devices/${lampId}`)).json()) as { told: boolean };
    assert.equal(removal.told, true);
    await receive({ type: 'device_removed', deviceId: lampId });
    const { body } = await waitFor('the command', () =>
      lamp.received.find((message) => message.body['action'] === 'factory_reset'),
    );
    const data = { action: 'command_ack', commandId: body['commandId'] };
    await lamp.publish('event', { event: 'device_event', data }).catch(() => undefined);
    await waitFor('its connection to end', () => !lamp.client.connected);
    const { externalId: username, token: password } = loginOf(lampLogin);
    await waitFor('its login to be removed', async () => !(await isLoggedIn({ username, password })));
    assert.equal((await call('GET', `/api/devices/${lampId}`)).status, 404);
    await using other = await connectDevice(station.mqttUrl, loginOf(otherLogin));
    await other.publish('handshake', { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' });
    await waitFor('the answer to the other handshake', () =>
      other.received.some(({ body }) => body['status'] === 'ok'),
    );
  });

  it('logs no unexpected error and no token', async () => {
    assert.deepEqual(await station.logged('unexpected_error'), []);
    const log = await readFile(join(station.folder, 'backend.log'), 'utf8');
    for (const secret of [...station.logins.map((login) => login.token), owner.password, token]) {
      assert.ok(!log.includes(secret));
    }
  });
});
