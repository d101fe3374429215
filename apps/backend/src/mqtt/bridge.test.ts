import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '@station/kit/clock';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceReport } from '../core/device-events.ts';
import { builtInTypes } from '../../testing/built-in-types.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { noForeignDevices } from '../../testing/no-gateways.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { until } from '../../testing/until.ts';
import { createBridge } from './bridge.ts';
import type { KnownDevice } from './device-directory.ts';
import { createDroppedMessages } from './dropped-messages.ts';
import type { UnregisteredAnswer } from './ports.ts';
import { createReportWriter } from './report-writer.ts';

/** A clock whose sleepers wake at once. */
const hasty: Clock = { ...systemClock, sleep: () => new Promise((resolve) => setImmediate(resolve)) };

/** A clock whose sleepers wake when they are reported. */
function sleepyClock() {
  const sleepers: (() => void)[] = [];
  const sleep = (): Promise<void> => new Promise((resolve) => void sleepers.push(resolve));
  return { clock: { ...systemClock, sleep }, sleepers, wake: () => sleepers.splice(0).forEach((wake) => wake()) };
}

function bridgeWith(options: {
  clock?: Clock;
  write?: (reports: readonly DeviceReport[]) => Promise<void>;
  find?: (externalId: string) => Promise<KnownDevice | null>;
  unregistered?: (externalId: string) => UnregisteredAnswer;
}) {
  const written: DeviceReport[] = [];
  const published: string[] = [];
  const foreign: string[] = [];
  const logger = recordedLog();
  const clock = options.clock ?? hasty;
  const dropped = createDroppedMessages({ clock, logger });
  const writer = createReportWriter({
    writeBatch: options.write ?? (() => Promise.resolve()),
    onWritten: (reports) => written.push(...reports),
    onFailure: (error) => logger.event('unexpected_error', { where: 'writing reports', message: String(error) }),
    clock,
  });
  const bridge = createBridge({
    stationId: 's',
    directory: {
      find:
        options.find ??
        (async (externalId) => (externalId === 'x' ? null : { id: `id-${externalId}`, externalId, type: 'light' })),
      [Symbol.dispose]: () => undefined,
    },
    types: { ...builtInTypes, announce: async () => undefined, describe: async () => undefined },
    unregistered: {
      receive: async ({ externalId }) => options.unregistered?.(externalId) ?? { kind: 'silence' },
    },
    foreign: noForeignDevices,
    foreignStations: { seen: ({ stationId }) => void foreign.push(stationId) },
    writer,
    faults: { received: () => null },
    history: { limited: (report: DeviceReport) => report },
    reconnects: { seen: () => undefined },
    keeper: { received: () => undefined, status: () => 'online' },
    will: () => undefined,
    dropped,
    publish: async (topic, payload) => void published.push(`${topic} ${payload}`),
    clock,
    logger,
    signal: new AbortController().signal,
  });
  const receive = (externalId: string, end: 'state' | 'handshake', body: unknown, stationId = 's'): Promise<void> =>
    bridge.receive({ topic: deviceTopic(stationId, externalId, end), payload: Buffer.from(JSON.stringify(body)) });
  return { receive, written, published, foreign, dropped, logger };
}

const state = (n: number) => ({ state: { n } });
const numbersOf = (reports: readonly DeviceReport[]): unknown[] =>
  reports.map((report) => report.kind === 'state' && report.state['n']);
const refusing =
  (poison: number) =>
  async (reports: readonly DeviceReport[]): Promise<void> => {
    if (numbersOf(reports).includes(poison)) throw new Error('poison');
  };

test('while nothing can be written a message stays unacknowledged; it is written when that is possible again', async () => {
  let isAway = true;
  const all = bridgeWith({ write: () => (isAway ? Promise.reject(new Error('disk full')) : Promise.resolve()) });
  let isAcknowledged = false;
  const receiving = all.receive('a', 'state', state(1)).then(() => (isAcknowledged = true));
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  assert.deepEqual([isAcknowledged, all.written], [false, []]);
  isAway = false;
  await receiving;
  assert.equal(all.written.length, 1);
  assert.equal(all.dropped.count('not_written'), 0);
  assert.equal(all.logger.events('unexpected_error').length, 1);
});

test('a message that keeps failing while the database works is rejected and acknowledged', async () => {
  const all = bridgeWith({ write: refusing(13) });
  await all.receive('a', 'state', state(13));
  assert.equal(all.dropped.count('not_written'), 1);
  await all.receive('b', 'state', state(1));
  await all.receive('a', 'state', state(14));
  assert.deepEqual(numbersOf(all.written), [1, 14]);
});

test('if one message of a batch is rejected, the others are on disk and written once', async () => {
  const { receive, written, dropped, logger } = bridgeWith({ write: refusing(13) });
  await Promise.all([11, 12, 13, 14].map((n) => receive('a', 'state', state(n))));
  assert.deepEqual(numbersOf(written), [11, 12, 14]);
  assert.equal(dropped.count('not_written'), 1);
  assert.equal(logger.events('unexpected_error').length, 1);
});

/** Enough for whatever does not wait for the clock. */
const someTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
};

test('messages of a device stay in order when one could not be written', async () => {
  const { clock, sleepers, wake } = sleepyClock();
  let isAway = true;
  const all = bridgeWith({ clock, write: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve()) });
  const first = all.receive('a', 'state', state(1));
  await until('it is tried again later', () => sleepers.length === 1);
  isAway = false;
  const second = all.receive('a', 'state', state(2));
  await someTurns();
  wake();
  await Promise.all([first, second]);
  assert.deepEqual(numbersOf(all.written), [1, 2]);
});

test('messages of a device stay in order when the device could not be looked up', async () => {
  const { clock, sleepers, wake } = sleepyClock();
  let isAway = true;
  const find = async (externalId: string): Promise<KnownDevice> => {
    if (isAway) throw new Error('away');
    return { id: 'id', externalId, type: 'light' };
  };
  const all = bridgeWith({ clock, find });
  const first = all.receive('a', 'state', state(1));
  await until('it is looked up again later', () => sleepers.length === 1);
  isAway = false;
  const second = all.receive('a', 'state', state(2));
  await someTurns();
  wake();
  await Promise.all([first, second]);
  assert.deepEqual(numbersOf(all.written), [1, 2]);
});

test('a device that cannot be looked up does not count as unknown', async () => {
  let failures = 3;
  const all = bridgeWith({
    find: async (externalId) => {
      if (failures-- > 0) throw new Error('away');
      return { id: 'id', externalId, type: 'light' };
    },
  });
  await all.receive('a', 'state', state(1));
  assert.equal(all.written.length, 1);
  assert.equal(all.dropped.count('unknown_device'), 0);
});

const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };

test('a handshake is answered ok once it is on disk; an unknown device gets no answer', async () => {
  const all = bridgeWith({});
  await all.receive('x', 'handshake', handshake);
  await all.receive('a', 'handshake', handshake);
  await until('it is answered', () => all.published.length === 1);
  assert.deepEqual(all.published, ['station/s/device/a/handshake/ack {"status":"ok"}']);
  assert.equal(all.dropped.count('unknown_device'), 1);
});

test('a removed device is told so after its handshake, and gets its command at any message', async () => {
  const command = { action: 'factory_reset', commandId: 'c' };
  const told = `station/s/device/x/command ${JSON.stringify(command)}`;
  for (const isHandshake of [true, false]) {
    const all = bridgeWith({ unregistered: () => ({ kind: 'removed', isHandshake, command }) });
    await all.receive('x', isHandshake ? 'handshake' : 'state', isHandshake ? handshake : state(1));
    const ack = 'station/s/device/x/handshake/ack {"status":"unknown_device"}';
    assert.deepEqual(all.published, isHandshake ? [ack, told] : [told]);
    assert.deepEqual(all.written, []);
  }
});

test('a device that was accepted just now is taken with its handshake', async () => {
  let isThere = false;
  const all = bridgeWith({
    find: async (externalId) => (isThere ? { id: 'id-x', externalId, type: 'light' } : null),
    unregistered: () => {
      isThere = true;
      return { kind: 'added' };
    },
  });
  await all.receive('x', 'handshake', handshake);
  assert.deepEqual(
    all.written.map(({ kind, deviceId }) => [kind, deviceId]),
    [['handshake', 'id-x']],
  );
  await until('it is answered', () => all.published.length === 1);
  assert.equal(all.dropped.count('unknown_device'), 0);
});

test('a device of another station is noted, and never answered', async () => {
  const all = bridgeWith({ unregistered: () => ({ kind: 'removed', isHandshake: true, command: {} }) });
  await all.receive('x', 'handshake', handshake, 'other');
  assert.deepEqual([all.foreign, all.published, all.dropped.count('foreign_station')], [['other'], [], 1]);
});

test('a device that claims another type is reported once for each type, and its messages are accepted', async () => {
  const time = manualClock();
  const all = bridgeWith({ clock: { ...hasty, now: time.now } });
  const shake = (type: string): Promise<void> =>
    all.receive('a', 'handshake', { type, firmwareVersion: '1.0.0', chip: 'esp32' });
  for (const type of ['light', 'pir', 'pir', 'climate', 'light', 'pir']) {
    await shake(type);
    time.advance(60_000);
  }
  const reported = all.logger
    .events('device_type_differs')
    .map(({ externalId, type, reportedType }) => [externalId, type, reportedType]);
  assert.deepEqual(reported, [
    ['a', 'light', 'pir'],
    ['a', 'light', 'climate'],
    ['a', 'light', 'pir'],
  ]);
  const events = all.written.flatMap((report) => (report.kind === 'event' ? [[report.eventKind, report.data]] : []));
  assert.deepEqual(events[0], ['station_event', { action: 'type_differs', type: 'light', reportedType: 'pir' }]);
  assert.equal(events.length, 3);
  assert.equal(all.written.filter(({ kind }) => kind === 'handshake').length, 6);
});

test('a device that claims other types without a pause is reported once a minute', async () => {
  const time = manualClock();
  const all = bridgeWith({ clock: { ...hasty, now: time.now } });
  for (let count = 0; count < 60; count++) {
    const type = ['pir', 'climate', 'light'][count % 3];
    await all.receive('a', 'handshake', { type, firmwareVersion: '1.0.0', chip: 'esp32' });
    time.advance(3_000);
  }
  assert.equal(all.logger.events('device_type_differs').length, 3);
});
