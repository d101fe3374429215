import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import { seeded } from '../../testing/seeded.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createConsumerStore } from './consumer-store.ts';
import type { SharedDevice } from './picture.ts';
import { startTeller } from './teller.ts';
import { zigbee2mqtt } from './zigbee2mqtt-decide.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const deviceOf = (id: string, name: string): SharedDevice => ({
  id,
  name,
  typeName: 'light',
  type: findBuiltInType('light'),
  zone: null,
  isOnline: true,
  state: { on: true },
  firmwareVersion: null,
  dialect: null,
});

/** A broker that keeps messages, refuses some of them, and may lose all. */
async function open() {
  await using starting = new AsyncDisposableStack();
  const { db } = starting.use(await openTestStore());
  const store = createConsumerStore(db);
  const row = { topic: 'z', login: 'consumer-0000000000', token_hash: '', created_at: 0 };
  await store.save({ kind: 'zigbee2mqtt', ...row });
  const broker = { kept: new Map<string, string>(), taken: [] as string[], refuses: (): boolean => false };
  const later = { ms: 0 };
  const reading = { ended: Promise.resolve() };
  const devices: SharedDevice[] = [];
  const start = () =>
    startTeller({
      kind: 'zigbee2mqtt',
      dialect: zigbee2mqtt,
      base: 'z',
      stationId,
      store,
      link: {
        publish: async (topic, payload, isRetained) => {
          if (broker.refuses()) throw new Error('The broker is offline');
          broker.taken.push(topic);
          if (!isRetained) return;
          if (payload === '') broker.kept.delete(topic);
          else broker.kept.set(topic, payload);
        },
        isHeard: () => null,
        [Symbol.asyncDispose]: async () => undefined,
      },
      readHouse: async () => {
        const house = { stationId, stationName: 'Home', version: '0', devices: [...devices] };
        await reading.ended;
        return house;
      },
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + later.ms },
      logger: recordedLog(),
    });
  const all = starting.move();
  return { store, broker, devices, reading, later, start, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const fixed = ['z/bridge/devices', 'z/bridge/groups', 'z/bridge/info', 'z/bridge/state'];
const wanted = (devices: readonly SharedDevice[]): string[] =>
  [...fixed, ...devices.flatMap(({ name }) => [`z/${name}`, `z/${name}/availability`])].sort();

test('whatever fails in between, the broker keeps what is so in the end, and nothing else', async () => {
  await using all = await open();
  const { broker, devices, store } = all;
  const random = seeded(7);
  // It fails now and then, and the station is cut off at any point.
  broker.refuses = () => random() < 0.05;
  for (let round = 0, made = 0; round < 8; round += 1) {
    await using teller = all.start();
    teller.connected();
    for (let change = 0; change < 10; change += 1) {
      const at = Math.floor(random() * devices.length);
      made += 1;
      const name = `lamp ${made}`;
      const [one] = devices;
      if (one === undefined || random() < 0.4) devices.push(deviceOf(`id-${made}`, name));
      else if (random() < 0.5) devices[at] = { ...(devices[at] ?? one), name };
      else devices.splice(at, 1);
      teller.heed({ kind: 'changed', deviceId: '', externalId: '' });
      if (random() < 0.3) await new Promise((resolve) => setTimeout(resolve, random() * 300));
    }
  }
  broker.refuses = () => false;
  {
    await using teller = all.start();
    teller.connected();
    await until('what is so', () => [...broker.kept.keys()].sort().join() === wanted(devices).join());
    // A broker that lost what it kept is told all of it again.
    broker.kept.clear();
    teller.connected();
    await until('what is so, again', () => [...broker.kept.keys()].sort().join() === wanted(devices).join());
    await until('it is stored', async () => (await store.topics('zigbee2mqtt')).size === broker.kept.size);
  }
  const last = all.start();
  await last.clear();
  assert.deepEqual([[...broker.kept.keys()], [...(await store.topics('zigbee2mqtt')).keys()]], [[], []]);
});

test('a topic of a station id of before is forgotten, not waited for', async () => {
  await using all = await open();
  await all.store.keep('zigbee2mqtt', new Map([['station-out/before/x/state', {}]]));
  await using teller = all.start();
  teller.connected();
  await until(
    'it is forgotten',
    async () => !(await all.store.topics('zigbee2mqtt')).has('station-out/before/x/state'),
  );
});

test('what the broker did not take back stays stored, so that it is taken back later', async () => {
  await using all = await open();
  all.devices.push(deviceOf('one', 'Hall'));
  {
    await using teller = all.start();
    teller.connected();
    await until('it is told', () => all.broker.kept.has('z/Hall'));
    all.broker.refuses = () => true;
    await assert.rejects(teller.clear());
  }
  assert.equal((await all.store.topics('zigbee2mqtt')).has('z/Hall'), true);
  all.broker.refuses = () => false;
  await all.start().clear();
  assert.equal(all.broker.kept.size, 0);
});

test('a state that comes while the devices are read is told', async () => {
  await using all = await open();
  const { broker, devices, reading } = all;
  devices.push(deviceOf('a', 'lamp'));
  const { promise, resolve } = Promise.withResolvers<void>();
  reading.ended = promise;
  await using teller = all.start();
  teller.connected();
  // Long enough for the reading to begin.
  await new Promise((go) => setTimeout(go, 500));
  teller.heed({ kind: 'reports', reports: [{ kind: 'state', deviceId: 'a', at: 1, state: { on: false } }] });
  teller.heed({ kind: 'status', deviceId: 'a', status: 'offline', at: 1 });
  resolve();
  await until('the lamp', () => broker.kept.has('z/bridge/devices'));
  await until('its state', () => broker.kept.get('z/lamp')?.includes('"state":"OFF"') === true);
  await until('its status', () => broker.kept.get('z/lamp/availability')?.includes('offline') === true);
});

test('a state that is reported again is told again, at most once a minute', async () => {
  await using all = await open();
  const { broker, devices, later } = all;
  devices.push(deviceOf('a', 'lamp'), deviceOf('b', 'other'));
  await using teller = all.start();
  teller.connected();
  await until('the lamps', () => broker.kept.has('z/bridge/state'));
  const count = (topic: string): number => broker.taken.filter((one) => one === topic).length;
  const report = (deviceId: string, on: boolean): void =>
    teller.heed({ kind: 'reports', reports: [{ kind: 'state', deviceId, at: 1, state: { on } }] });
  report('a', true);
  report('b', false);
  await until('the other', () => count('z/other') === 2);
  assert.equal(count('z/lamp'), 1);
  later.ms = 61_000;
  report('a', true);
  await until('the lamp', () => count('z/lamp') === 2);
  assert.equal(count('z/lamp/availability'), 1, 'it was not asked about');
});
