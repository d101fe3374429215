import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionBacklog } from './session-backlog.ts';

function backlogAt(start: number) {
  let at = start;
  const backlog = createSessionBacklog({ now: () => at, lastReceived: { sureAt: 100, goneAt: 105 } });
  return { backlog, pass: (ms: number) => void (at += ms) };
}

test('messages that a resumed session kept were sent after it last received; those after the marker are sent now', () => {
  const { backlog } = backlogAt(500);
  backlog.connected(true);
  assert.deepEqual([backlog.sentAt(false), backlog.sentAt(true)], [105, 100]);
  backlog.marked('of another connection');
  assert.equal(backlog.sentAt(false), 105);
  backlog.marked(backlog.marker());
  assert.deepEqual([backlog.sentAt(false), backlog.sentAt(true)], [undefined, undefined]);
});

test('a new session kept nothing', () => {
  const { backlog } = backlogAt(500);
  backlog.connected(false);
  assert.equal(backlog.sentAt(false), undefined);
});

test('after a broken connection the last received packet counts', () => {
  const { backlog, pass } = backlogAt(10_000);
  backlog.connected(false);
  backlog.received();
  const marker = backlog.marker();
  pass(4_000);
  backlog.connected(true);
  backlog.marked(marker);
  assert.deepEqual([backlog.sentAt(false), backlog.sentAt(true)], [10_000, 9_000]);
});
