import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { LastReceived } from '../mqtt/session-backlog.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createTakeover } from './session-takeover.ts';

function takeoverFor() {
  const clock = manualClock();
  const opened: { id: string; lastReceived: LastReceived; onTaken: () => void }[] = [];
  const ended: string[] = [];
  const retired: string[] = [];
  const facts = { mayTakeOver: true };
  const takeover = createTakeover({
    open: (id, lastReceived, onTaken) => {
      opened.push({ id, lastReceived, onTaken });
      return {
        isReady: () => true,
        retire: async () => retired.push(`session of ${id}`) > 0,
        [Symbol.asyncDispose]: async () => void ended.push(id),
      };
    },
    mayTakeOver: () => facts.mayTakeOver,
    onRetired: async (id) => void retired.push(id),
    clock,
    logger: recordedLog(),
  });
  const check = (...unreceived: string[]): void => {
    clock.advance(1_000);
    takeover.check(unreceived);
  };
  return { clock, takeover, opened, ended, retired, facts, check };
}

test('the session of a replica that is offline in two checks is taken over until it is back', () => {
  const all = takeoverFor();
  all.check('two');
  assert.equal(all.opened.length, 0);
  const since = all.clock.now();
  all.check('two');
  assert.deepEqual(all.takeover.takenOver(), ['two']);
  assert.deepEqual(all.opened[0]?.lastReceived, { sureAt: since - 2_000, goneAt: since - 1_000 });
  all.check('two');
  assert.equal(all.opened.length, 1);
  all.check();
  assert.deepEqual([all.ended, all.takeover.takenOver()], [['two'], []]);
});

test('a replica that is offline for a moment keeps its session', () => {
  const all = takeoverFor();
  all.check('two');
  all.check();
  all.check('two');
  assert.equal(all.opened.length, 0);
});

test('a replica without a broker link takes over no session; a former leader releases its takeovers', () => {
  const all = takeoverFor();
  all.facts.mayTakeOver = false;
  all.check('two');
  all.check('two');
  assert.equal(all.opened.length, 0);
  all.facts.mayTakeOver = true;
  all.check('two');
  assert.deepEqual(all.takeover.takenOver(), ['two']);
  all.takeover.release();
  assert.deepEqual([all.ended, all.takeover.takenOver()], [['two'], []]);
});

test('a session that its owner took back is not taken over again before the database shows it', () => {
  const all = takeoverFor();
  all.check('two');
  all.check('two');
  all.opened[0]?.onTaken();
  assert.deepEqual(all.takeover.takenOver(), []);
  for (let second = 0; second < 4; second++) all.check('two');
  assert.equal(all.opened.length, 1);
  all.check('two');
  assert.equal(all.opened.length, 2);
});

test('the session of a replica that is offline for an hour is emptied and ended', async () => {
  const all = takeoverFor();
  all.check('two');
  all.check('two');
  all.clock.advance(3_598_000);
  all.check('two');
  assert.deepEqual(all.retired, []);
  all.check('two');
  all.check('two');
  await turn();
  assert.deepEqual(all.retired, ['session of two', 'two']);
  assert.deepEqual(all.ended, ['two']);
});
