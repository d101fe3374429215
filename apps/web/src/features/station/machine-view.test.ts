import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Machine } from '@station/protocol/agent-machine';
import {
  judgeClock,
  judgeDisk,
  judgeLoad,
  judgeMemory,
  judgePower,
  judgeTemperature,
  judgeWear,
  stopsWith,
} from './machine-view.ts';

const machine = (changes: Partial<Machine>): Machine => ({
  model: null,
  cores: 4,
  load: [0, 0, 0],
  memory: null,
  disks: [],
  temperature: null,
  power: null,
  uptimeSeconds: 1,
  canRestart: false,
  now: '',
  ...changes,
});
const gigabyte = 1e9;
const disk = (freeBytes: number, totalBytes = 32 * gigabyte) => ({
  path: '/',
  totalBytes,
  freeBytes,
  writtenBytesPerDay: null,
  lifeUsedPercent: null,
});
const calm = { isLow: false, wasLow: false, isSlowed: false, wasSlowed: false };

for (const [what, judged, word] of [
  ['a peak of a minute', judgeLoad(machine({ load: [20, 3, 1] })), 'good'],
  ['work that waits for long', judgeLoad(machine({ load: [7, 7, 7] })), 'busy'],
  ['no load at all', judgeLoad(machine({ load: [] })), 'good'],
  ['free memory', judgeMemory({ totalBytes: 4e9, availableBytes: 2e9 }), 'good'],
  ['little memory', judgeMemory({ totalBytes: 4e9, availableBytes: 0.3e9 }), 'short'],
  ['a free disk', judgeDisk(disk(20 * gigabyte)), 'good'],
  ['a disk that is nearly full', judgeDisk(disk(2 * gigabyte)), 'low'],
  ['a large disk with much left, though little of it', judgeDisk(disk(50 * gigabyte, 1000 * gigabyte)), 'good'],
  ['a full disk', judgeDisk(disk(0.1 * gigabyte)), 'full'],
  ['a card with life left', judgeWear(80), 'good'],
  ['a card near its end', judgeWear(90), 'worn'],
  ['a card beyond it', judgeWear(110), 'over'],
  ['a cool board', judgeTemperature(69.9), 'good'],
  ['a warm board', judgeTemperature(70), 'warm'],
  ['a hot board', judgeTemperature(80), 'hot'],
  ['good power', judgePower(calm), 'good'],
  ['low power now, before all else', judgePower({ isLow: true, wasLow: true, isSlowed: true, wasSlowed: true }), 'low'],
  ['a processor that is slowed', judgePower({ ...calm, isSlowed: true, wasLow: true }), 'slowed'],
  ['low power before', judgePower({ ...calm, wasLow: true, wasSlowed: true }), 'wasLow'],
  ['a processor that was slowed', judgePower({ ...calm, wasSlowed: true }), 'wasSlowed'],
  ['clocks a moment apart', judgeClock(0, 59_000), 'good'],
  ['clocks that differ', judgeClock(120_000, 0), 'off'],
] as const) {
  test(`${what}: ${word}`, () => {
    assert.equal(judged.word, word);
    assert.equal(judged.tone === 'ok', word === 'good');
  });
}

test('a card that does not say how worn it is makes nobody worry', () => {
  assert.deepEqual(judgeWear(null), { tone: 'ok', word: 'unknown' });
});

test('each service says what stops with it', () => {
  assert.deepEqual(['backend', 'mqtt', 'somebody'].map(stopsWith), ['backend', 'mqtt', 'other']);
});
