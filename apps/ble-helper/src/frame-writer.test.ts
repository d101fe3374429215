import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HelperEvent } from '@station/protocol/ble-frames';
import { createFrameWriter, createNoteWriter } from './frame-writer.ts';

function slowOutput() {
  const lines: unknown[] = [];
  let drain = (): void => undefined;
  return {
    lines,
    write: (text: string): boolean => {
      lines.push(JSON.parse(text));
      return false;
    },
    once: (_: 'drain', listener: () => void) => {
      drain = listener;
    },
    drain: () => drain(),
  };
}

const discovered = (address: string, rssi: number): HelperEvent => ({
  event: 'discovered',
  address,
  name: '',
  rssi,
  service_uuids: [],
  service_data: {},
});
const result: HelperEvent = { event: 'write_result', address: 'AA:BB:CC:DD:EE:FF', ok: true };

describe('the frame writer', () => {
  it('keeps the latest of each device and of the scan, and all results, while nobody reads', () => {
    const output = slowOutput();
    const writer = createFrameWriter(output);
    writer.send({ event: 'ready' });
    for (let n = 0; n < 1000; n += 1) {
      writer.send(discovered('A', n));
      writer.send({ event: n % 2 === 0 ? 'scan_started' : 'scan_stopped' });
    }
    writer.send(result);
    writer.send(result);
    assert.equal(writer.waiting(), 4);
    for (let n = 0; n < 4; n += 1) output.drain();
    assert.deepEqual(output.lines, [
      { event: 'ready' },
      discovered('A', 999),
      { event: 'scan_stopped' },
      result,
      result,
    ]);
  });

  it('drops the oldest devices when there are too many', () => {
    const output = slowOutput();
    const writer = createFrameWriter(output);
    writer.send({ event: 'ready' });
    writer.send(result);
    for (let n = 0; n < 5000; n += 1) writer.send(discovered(`${n}`, 0));
    assert.equal(writer.waiting(), 500);
    output.drain();
    output.drain();
    assert.deepEqual(output.lines.slice(1), [result, discovered('4501', 0)]);
  });

  it('writes at once when the other end reads', () => {
    const lines: string[] = [];
    const writer = createFrameWriter({ write: (text) => lines.push(text) > 0, once: () => undefined });
    writer.send({ event: 'ready' });
    writer.send({ event: 'scan_started' });
    assert.deepEqual(lines, ['{"event":"ready"}\n', '{"event":"scan_started"}\n']);
  });
});

describe('the note writer', () => {
  it('keeps the latest state of the radio while nobody reads', () => {
    const output = slowOutput();
    const note = createNoteWriter(output);
    note({ note: 'log', message: 'first' });
    note({ note: 'radio', state: 'adapter_off' });
    note({ note: 'radio', state: 'ready' });
    note({ note: 'line_ignored', reason: 'not JSON' });
    output.drain();
    assert.deepEqual(output.lines, [
      { note: 'log', message: 'first' },
      { note: 'radio', state: 'ready' },
    ]);
  });
});
