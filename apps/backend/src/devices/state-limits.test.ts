import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createDeviceEvents, type DeviceReport } from '../core/device-events.ts';
import { maxStateBytes, maxStateKeys, readState } from '../core/device-state.ts';
import { createEventIds } from '../core/event-ids.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { writeReports } from '../history/report-store.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { readMetrics, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { startDeviceMessages } from './device-messages.ts';

async function withDevice() {
  const store = await openTestStore();
  const clock = manualClock();
  const devices = createDeviceStore({ db: store.db, clock });
  const { id } = await devices.provision({ externalId: 'x', type: 'climate', name: 'Hall', zoneId: null });
  const newId = createEventIds(clock.now);
  const write = (...reports: DeviceReport[]) => writeReports(store, reports, newId);
  const state = async (): Promise<string> => (await devices.findById(id))?.state ?? '';
  const dispose = () => store[Symbol.asyncDispose]();
  return { store, clock, devices, id, write, state, [Symbol.asyncDispose]: dispose };
}

/** What is broadcast at /ws. */
async function listen({ devices, clock }: Pick<Awaited<ReturnType<typeof withDevice>>, 'devices' | 'clock'>) {
  const broadcast: unknown[] = [];
  const hub = { broadcast: (message: object) => void broadcast.push(message), size: () => 1 };
  const events = createDeviceEvents(recordedLog());
  const subscription = await startDeviceMessages({ hub, events, devices, clock });
  return { broadcast, events, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}

test('a device that invents more and more names keeps a small state and history, and /ws shows the stored state', async () => {
  await using all = await withDevice();
  const deviceId = all.id;
  using socket = await listen(all);
  const { events, broadcast } = socket;
  for (let message = 0; message < 30; message++) {
    const names = Array.from({ length: 20 }, (_, n) => [`m${message} n${n}`, message]);
    const texts = [`t${message}`, 'x'.repeat(3_750)];
    const news: DeviceReport = { kind: 'state', deviceId, at: message, state: Object.fromEntries([...names, texts]) };
    const usual: DeviceReport = { kind: 'state', deviceId, at: message, state: { 'm0 n0': message } };
    const { reports, before, cut } = await all.write(news, usual);
    events.emit({ kind: 'reports', reports, before });
    assert.equal(cut.length, message < 12 ? 0 : 1, `message ${message}`);
    assert.deepEqual(cut, cut.length === 0 ? [] : ['x']);
  }
  const text = await all.state();
  const state = JSON.parse(text) as Record<string, unknown>;
  assert.ok(Buffer.byteLength(text) <= maxStateBytes);
  assert.equal(Object.keys(state).length, maxStateKeys);
  assert.equal(state['m0 n0'], 29);
  assert.deepEqual((broadcast.at(-1) as { state: object }).state, state);
  const samples = await all.store.db.selectFrom('device_samples').select('capability').distinct().execute();
  assert.deepEqual(
    samples.map(({ capability }) => capability).filter((capability) => !Object.hasOwn(state, capability)),
    [],
  );
});

test('longer numbers in a full state displace nothing: what is stored, read and shown at /ws stays equal, and nothing more fits in', async () => {
  await using all = await withDevice();
  const deviceId = all.id;
  using socket = await listen(all);
  const { events, broadcast } = socket;
  const report = async (at: number, state: Record<string, unknown>): Promise<readonly string[]> => {
    const { reports, before, cut } = await all.write({ kind: 'state', deviceId, at, state });
    events.emit({ kind: 'reports', reports, before });
    const shown = (broadcast.at(-1) as { state: object }).state;
    assert.ok(isDeepStrictEqual(shown, JSON.parse(await all.state())), `message ${at}`);
    return cut;
  };
  const numbers = (value: number) => Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`n${n}`, value]));
  await report(1, numbers(1));
  assert.deepEqual(
    await report(2, { last: 'x'.repeat(maxStateBytes - 20 - Buffer.byteLength(await all.state())) }),
    [],
  );
  assert.deepEqual(await report(3, numbers(-1.2345678901234567e-300)), []);
  assert.deepEqual(await report(4, { more: 'x' }), ['x']);
  assert.deepEqual(await report(5, numbers(-1.2345678901234567e-300)), []);
  const text = await all.state();
  assert.deepEqual(Object.keys(JSON.parse(text) as object), [...Object.keys(numbers(1)), 'last']);
  assert.equal(JSON.stringify(readState(text)), text);
});

test('values left out of a message are counted and logged with its topic; the message is acknowledged', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using lamp = await connectDevice(running.backend.mqttAddress ?? '', login);
  const names = (prefix: string) => Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${prefix}${n}`, n]));
  for (const prefix of ['a', 'b', 'c']) await lamp.publish('state', { state: names(prefix) });
  await running.backend.settle();
  const { state } = await running.backend.db.selectFrom('devices').select('state').executeTakeFirstOrThrow();
  assert.equal(Object.keys(JSON.parse(state) as object).length, maxStateKeys);
  const metrics = await readMetrics(running);
  assert.match(metrics, /^station_mqtt_dropped_messages_total{reason="state_full"} 2$/m);
  assert.deepEqual(
    running.logger.events('mqtt_message_dropped').map(({ reason, topic }) => [reason, topic]),
    [['state_full', `station/${login.stationId}/device/lamp-1/state`]],
  );
});
