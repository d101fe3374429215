import assert from 'node:assert/strict';
import { connectAsync } from 'mqtt';
import type { ConsumerLoginSheet } from '@station/protocol/consumers';
import { waitFor } from '../../rig/program.ts';
import { install, type Kind } from '../backend/installation.ts';

/** A lamp of a station that speaks Zigbee2MQTT's dialect to others. */
export type HomeWithLamp = AsyncDisposable & {
  mqttUrl: string;
  /** The login of the other system. */
  login: { username: string; password: string };
  /** What Zigbee2MQTT's list says of the lamp. */
  entry: { ieee_address: string; friendly_name: string };
  /** What the lamp was told to do. It says again and again how it is, and after `turn_on` that it is on. */
  actions: readonly string[];
};

const reportEveryMs = 5_000;

export async function openHomeWithLamp(kind: Kind): Promise<HomeWithLamp> {
  await using stack = new AsyncDisposableStack();
  const station = stack.use(await install(kind, { devices: 5 }));
  await station.startBackend();
  const own = station.logins.find(({ type }) => type === 'light');
  assert.ok(own);
  const answer = await fetch(`${station.url}/api/consumers/zigbee2mqtt`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await station.logIn()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ topic: 'zigbee2mqtt' }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 201, text);
  const sheet = JSON.parse(text) as ConsumerLoginSheet;
  const login = { username: sheet.login, password: sheet.password };

  const topic = `station/${station.env['STATION_ID']}/device/${own.externalId}`;
  const device = await connectAsync(station.mqttUrl, { username: own.externalId, password: own.token });
  stack.defer(() => device.endAsync(true));
  const actions: string[] = [];
  let on = false;
  const report = (): Promise<unknown> =>
    device.publishAsync(`${topic}/state`, JSON.stringify({ state: { on, brightness: 40 } }), { qos: 1 });
  device.on('message', (_topic, payload) => {
    const { action } = JSON.parse(payload.toString('utf8')) as { action: string };
    actions.push(action);
    if (action !== 'turn_on') return;
    on = true;
    void report();
  });
  await device.subscribeAsync(`${topic}/command`, { qos: 1 });
  await report();
  const reporting = setInterval(() => void report(), reportEveryMs);
  stack.defer(() => clearInterval(reporting));

  const reader = await connectAsync(station.mqttUrl, login);
  let list = '';
  reader.on('message', (_topic, payload) => (list = payload.toString('utf8')));
  await reader.subscribeAsync('zigbee2mqtt/bridge/devices', { qos: 1 });
  await waitFor('the list', () => list !== '');
  await reader.endAsync();
  const entries = JSON.parse(list) as HomeWithLamp['entry'][];
  const entry = entries.find(({ friendly_name }) => friendly_name === own.name);
  assert.ok(entry, list);
  const running = stack.move();
  return { mqttUrl: station.mqttUrl, login, entry, actions, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
