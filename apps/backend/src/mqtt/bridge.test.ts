import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, type Clock } from '@station/kit/clock';
import { deviceTopic } from '@station/protocol/topics';
import type { KnownDevice } from '../devices/device-directory.ts';
import type { DeviceReport } from '../devices/device-report.ts';
import { createReportWriter, type ReportWriter } from '../devices/report-writer.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { until } from '../testing/until.ts';
import { createBridge } from './bridge.ts';
import { createDroppedMessages } from './dropped-messages.ts';

/** A clock whose sleepers wake at once. */
const hasty: Clock = { ...systemClock, sleep: () => new Promise((resolve) => setImmediate(resolve)) };

function bridgeWith(options: {
  write?: (report: DeviceReport) => Promise<void>;
  writer?: Pick<ReportWriter, 'write'>;
  find?: (externalId: string) => Promise<KnownDevice | null>;
}) {
  const written: DeviceReport[] = [];
  const published: string[] = [];
  const log = recordedLog();
  const dropped = createDroppedMessages({ clock: hasty, log });
  const write = options.write ?? (() => Promise.resolve());
  const bridge = createBridge({
    stationId: 's',
    directory: {
      find:
        options.find ??
        (async (externalId) => (externalId === 'x' ? null : { id: `id-${externalId}`, externalId, type: 'light' })),
      [Symbol.dispose]: () => undefined,
    },
    writer: options.writer ?? {
      write: async (report) => {
        try {
          await write(report);
        } catch (error) {
          return new Map([[report, error]]);
        }
        written.push(report);
        return new Map();
      },
    },
    keeper: { heard: () => undefined, status: () => 'online' },
    will: () => undefined,
    dropped,
    publish: async (topic, payload) => void published.push(`${topic} ${payload}`),
    clock: hasty,
    log,
    signal: new AbortController().signal,
  });
  const receive = (externalId: string, end: 'state' | 'handshake', body: unknown): Promise<void> =>
    bridge.receive({ topic: deviceTopic('s', externalId, end), payload: Buffer.from(JSON.stringify(body)) });
  return { receive, written, published, dropped, log };
}

const state = (n: number) => ({ state: { n } });
const isState = (report: DeviceReport, n: number): boolean => report.kind === 'state' && report.state['n'] === n;

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
  assert.equal(all.log.events('unexpected_error').length, 1);
});

test('a message that keeps failing while others are written is set aside and acknowledged', async () => {
  const all = bridgeWith({
    write: (report) => (isState(report, 13) ? Promise.reject(new Error('poison')) : Promise.resolve()),
  });
  const poison = all.receive('a', 'state', state(13));
  await all.receive('b', 'state', state(1));
  await poison;
  assert.equal(all.dropped.count('not_written'), 1);
  await all.receive('a', 'state', state(14));
  assert.deepEqual(
    all.written.map((report) => report.kind === 'state' && report.state['n']),
    [1, 14],
  );
});

test('where one message of several that are written together is set aside, the others are on disk and written once', async () => {
  const all: number[][] = [];
  await using writer = createReportWriter({
    writeBatch: async (reports) => {
      const numbers = reports.map((report) => (report.kind === 'state' ? Number(report.state['n']) : 0));
      if (numbers.includes(13)) throw new Error('poison');
      all.push(numbers);
    },
    onWritten: () => undefined,
  });
  const { receive, dropped, log } = bridgeWith({ writer });
  const received = Promise.all([11, 12, 13, 14].map((n) => receive('a', 'state', state(n))));
  await received;
  assert.deepEqual(all.flat(), [11, 12, 14]);
  assert.equal(dropped.count('not_written'), 1);
  assert.equal(log.events('unexpected_error').length, 1);
});

test('a device that cannot be looked up is not taken for an unknown one', async () => {
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

test('a handshake is answered: ok once it is on disk, unknown_device to whom nobody knows', async () => {
  const all = bridgeWith({});
  const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };
  await all.receive('a', 'handshake', handshake);
  await all.receive('x', 'handshake', handshake);
  await until('both are answered', () => all.published.length === 2);
  assert.deepEqual(all.published, [
    'station/s/device/a/handshake/ack {"status":"ok"}',
    'station/s/device/x/handshake/ack {"status":"unknown_device"}',
  ]);
  assert.equal(all.dropped.count('unknown_device'), 1);
});

test('a device that takes itself for another type is told of once for each type, and taken all the same', async () => {
  const all = bridgeWith({});
  const shake = (type: string): Promise<void> =>
    all.receive('a', 'handshake', { type, firmwareVersion: '1.0.0', chip: 'esp32' });
  for (const type of ['light', 'pir', 'pir', 'climate', 'light', 'pir']) await shake(type);
  const told = all.log
    .events('device_type_differs')
    .map(({ externalId, type, reportedType }) => [externalId, type, reportedType]);
  assert.deepEqual(told, [
    ['a', 'light', 'pir'],
    ['a', 'light', 'climate'],
    ['a', 'light', 'pir'],
  ]);
  const events = all.written.flatMap((report) => (report.kind === 'event' ? [[report.eventKind, report.data]] : []));
  assert.deepEqual(events[0], ['station_event', { action: 'type_differs', type: 'light', reportedType: 'pir' }]);
  assert.equal(events.length, 3);
  assert.equal(all.written.filter(({ kind }) => kind === 'handshake').length, 6);
});
