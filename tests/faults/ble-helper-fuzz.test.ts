import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { HelperEvent, HelperNote } from '@station/protocol/ble-frames';
import { startHelper } from '@station/ble-helper/helper';
import { systemClock } from '@station/kit/clock';
import { extent } from '../rig/extent.ts';
import { createRandom } from './choice.ts';
import { mutateDocument, toBytes } from './mutate.ts';

const uuid = '85e4cb5a-4718-47e3-b363-b2d82655ee1e';
const seeds = [
  { event: 'start_scan', service_uuid: uuid },
  { event: 'stop_scan' },
  {
    event: 'connect_and_write',
    address: 'AA:BB:CC:DD:EE:FF',
    service_uuid: uuid,
    characteristic_uuid: uuid,
    payload: '{"ssid":"Home","password":"correct horse"}',
  },
];

const count = extent(10_000, 100_000);

test(`${count} malformed lines into the BLE helper: it ignores them, and still answers`, async () => {
  const random = createRandom(17);
  const input = new PassThrough();
  const output = new PassThrough();
  let answers = '';
  output.on('data', (chunk: Buffer) => {
    answers += chunk.toString();
  });
  const notes: HelperNote[] = [];
  const helper = await startHelper({
    input,
    output,
    note: (note) => void notes.push(note),
    clock: systemClock,
    busAddress: 'unix:path=/nonexistent/bus',
    adapter: null,
    // Writes that are valid by chance end at once.
    limits: { radioMs: 0, firstRetryMs: 0 },
  });
  for (let index = 0; index < count; index += 1) {
    const bytes = toBytes(mutateDocument(seeds[index % seeds.length], random), random);
    input.write(bytes);
    // A line is not always ended, and may be very long.
    if (random() < 0.98) input.write('\n');
    if (index % 10_000 === 5000) input.write('x'.repeat(100_000));
    if (index % 500 === 0) await new Promise(setImmediate);
  }
  answers = '';
  input.write('\n{"event":"stop_scan"}\n');
  while (!answers.includes('scan_stopped')) await new Promise(setImmediate);
  await helper[Symbol.asyncDispose]();
  for (const line of answers.trim().split('\n')) {
    const { event } = JSON.parse(line) as HelperEvent;
    assert.ok(['scan_stopped', 'write_result'].includes(event), event);
  }
  const ignored = notes.flatMap((note) => (note.note === 'line_ignored' ? [note.reason] : []));
  // Notes never repeat the line, and are limited: at most one a second for each reason.
  assert.ok(new Set(ignored).size >= 3, `saw only ${ignored.join(', ')}`);
  assert.ok(ignored.length < count / 10);
});
