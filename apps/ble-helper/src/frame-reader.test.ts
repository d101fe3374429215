import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HelperCommand } from '@station/protocol/ble-frames';
import { createFrameReader } from './frame-reader.ts';

function read(...chunks: (string | Uint8Array)[]) {
  const commands: HelperCommand[] = [];
  const faults: string[] = [];
  const reader = createFrameReader({
    onCommand: (command) => void commands.push(command),
    onFault: (fault) => void faults.push(fault),
  });
  for (const chunk of chunks) reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return { commands, faults };
}

const stop = '{"event":"stop_scan"}\n';

describe('the frame reader', () => {
  it('reads lines whatever the chunks are', () => {
    const text = `${stop}\r\n\n{"event":"start_scan","service_uuid":"85e4cb5a-4718-47e3-b363-b2d82655ee1e"}\n`;
    const events = ['stop_scan', 'start_scan'];
    for (let size = 1; size <= text.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
        text.slice(n * size, (n + 1) * size),
      );
      const { commands, faults } = read(...chunks);
      assert.deepEqual([commands.map(({ event }) => event), faults], [events, []]);
    }
  });

  const ignored: [string, string | Uint8Array][] = [
    ['not JSON', 'nonsense\n'],
    ['not JSON', '{"event":"stop_scan"\n'],
    ['not UTF-8', Uint8Array.of(0xff, 0xfe, 10)],
    ['not a command', '[]\n'],
    ['not a command', 'null\n'],
    ['not a command', '{"event":"reboot"}\n'],
    ['a command with invalid fields', '{"event":"start_scan","service_uuid":"180f"}\n'],
    ['a command with invalid fields', '{"event":"connect_and_write","address":"aa:bb"}\n'],
    ['longer than 64 KiB', `"${'x'.repeat(64 * 1024)}"\n`],
  ];
  for (const [fault, line] of ignored) {
    it(`skips a line that is ${fault} (${String(line).slice(0, 30).trim()}), and reads the next`, () => {
      const { commands, faults } = read(line, stop);
      assert.deepEqual([faults, commands], [[fault], [{ event: 'stop_scan' }]]);
    });
  }

  it('takes a line of exactly 64 KiB', () => {
    const { commands } = read(`{"event":"stop_scan"}${' '.repeat(64 * 1024 - stop.length + 1)}\n`);
    assert.equal(commands.length, 1);
  });

  it('ignores a line that never ends', () => {
    const { commands, faults } = read(...Array.from({ length: 100 }, () => 'x'.repeat(10_000)));
    assert.deepEqual([commands, faults], [[], []]);
  });
});
