import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { HelperEvent } from '@station/protocol/ble-frames';
import { startHelperProcess } from './adapters/ble-helper-process.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import { alwaysLeader } from '../core/leadership.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { advertisement, remoteHelper } from '../../testing/remote-helper.ts';
import { seeded } from '../../testing/seeded.ts';
import { until } from '../../testing/until.ts';
import { maxCandidates } from './candidate-decide.ts';
import { startRadio } from './radio.ts';

/** `npm run sweep -- fuzz` sends all 100,000. */
const batches = process.env['STATION_SWEEP'] === undefined ? 3 : 100;
const linesABatch = 1_000;

const frames: HelperEvent[] = [
  { event: 'ready' },
  { event: 'scan_started' },
  { event: 'scan_stopped' },
  advertisement({ service_data: { [advertisement().service_uuids[0]!]: 'U0hfcGlyXzE=' } }),
  { event: 'write_result', address: 'C0:FF:EE:00:00:01', ok: false, error: 'not_found' },
];

/** Values that a frame may have in the wrong place. */
const oddities = [
  'null',
  '[]',
  '{}',
  '""',
  '1e999',
  '-0',
  '"\\u0000"',
  '"\\ud800"',
  '[[[[[]]]]]',
  'true',
  '{"__proto__":1}',
];

function damage(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const ways: (() => string)[] = [
    () => text.slice(0, at),
    () => text.slice(at),
    () => text.slice(0, at) + String.fromCharCode(Math.floor(random() * 0x2fff)) + text.slice(at + 1),
    () => text.slice(0, at) + text.slice(Math.floor(random() * text.length)),
    () => text.replace(/"[^"]*"(?=[,}\]])|-?\d+|true|false/, pick(oddities)),
    () => text.replaceAll(/"[^"]*"(?=:)/g, (key) => (random() < 0.3 ? '"__proto__"' : key)),
    () => '['.repeat(Math.floor(random() * 20_000)),
    () => text.replace('SH_', 'x'.repeat(Math.floor(random() * 70_000))),
    () => `${text}${text}`,
    () => '\r',
  ];
  return pick(ways)();
}

test(`${batches * linesABatch} damaged lines of the helper: no crash, no restart, and the scan continues`, async () => {
  const seed = 20_260_303;
  const random = seeded(seed);
  await using remote = await remoteHelper();
  const { BLE_HELPER: program, ...environment } = remote.env;
  const logger = recordedLog();
  await using radio = await startRadio({
    serviceUuid: advertisement().service_uuids[0]!,
    startProcess: (listener) => startHelperProcess({ program, environment, ...listener }),
    askForPause: async () => null,
    watchers: { isWatched: () => true, subscribe: () => ({ [Symbol.dispose]: () => undefined }) },
    leadership: alwaysLeader,
    hub: { replay: () => ({ [Symbol.dispose]: () => undefined }) },
    events: createDeviceEvents(logger),
    devices: { list: async () => [] },
    types: { find: () => undefined },
    clock: systemClock,
    random,
    logger,
  });
  await until('it scans', () => radio.report().state === 'scanning');
  for (let batch = 0; batch < batches; batch++) {
    const lines = Array.from({ length: linesABatch }, () => {
      const frame = frames[Math.floor(random() * frames.length)];
      return damage(JSON.stringify(frame), random);
    });
    remote.sendText(`${lines.join('\n')}\n`);
    remote.send({ event: 'scan_stopped' });
    remote.send({ event: 'scan_started' });
    const trace = `seed ${seed}, batch ${batch}`;
    await until(`the next good frame is read (${trace})`, () => {
      // Again and again, as a device does: of one address only so many are read in a second.
      remote.send(advertisement({ name: `SH_light_batch${batch}`, rssi: -30 }));
      return radio.candidates().some(({ externalId }) => externalId === `batch${batch}`);
    });
    // Told at most once in so long.
    await until(`it is told that it scans (${trace})`, () => radio.report().state === 'scanning');
    assert.ok(radio.candidates().length <= maxCandidates, trace);
  }
  assert.equal(remote.starts(), 1);
  assert.deepEqual(logger.events('unexpected_error'), []);
});
