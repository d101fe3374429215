import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { nextTurn } from '@station/kit/timers';
import { createUpgradeTurns } from './upgrade-turns.ts';

test('fifty of a network begin at once, then twenty a second', async (t) => {
  const running = start(t);
  const flood = await running.enter('192.0.2.1', 300);
  assert.equal(flood.begun().length, 50);
  await running.passes(2_000);
  assert.equal(flood.begun().length, 90);
});

test('the newest begins first, so a page waits for no flood of its own network', async (t) => {
  const running = start(t);
  await running.enter('192.0.2.1', 300);
  const page = await running.enter('192.0.2.1', 1);
  assert.equal(page.begun().length, 0);
  await running.passes(50);
  assert.equal(page.begun().length, 1);
});

test('another network waits for nobody', async (t) => {
  const running = start(t);
  await running.enter('192.0.2.1', 300);
  const page = await running.enter('192.0.2.2', 1);
  assert.equal(page.begun().length, 1);
});

test('who left does not begin, and takes no turn', async (t) => {
  const running = start(t);
  const flood = await running.enter('192.0.2.1', 52);
  flood.leave(51);
  await running.passes(50);
  assert.deepEqual(flood.begun().slice(50), [50]);
});

test('after a quiet time all may begin at once again', async (t) => {
  const running = start(t);
  await running.enter('192.0.2.1', 60);
  await running.passes(4_000);
  const again = await running.enter('192.0.2.1', 60);
  assert.equal(again.begun().length, 50);
});

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  const turns = createUpgradeTurns(() => now);
  return {
    enter: async (network: string, count: number) => {
      const sockets = Array.from({ length: count }, () => new Socket());
      const begun: number[] = [];
      for (const [index, socket] of sockets.entries()) void turns.enter(socket, network).then(() => begun.push(index));
      await nextTurn();
      return { begun: () => begun, leave: (index: number) => turns.leave(sockets[index]!) };
    },
    passes: async (ms: number): Promise<void> => {
      for (const end = now + ms; now < end;) {
        now += 50;
        t.mock.timers.tick(50);
      }
      await nextTurn();
    },
  };
}
