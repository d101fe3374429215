import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createLogger } from '@station/kit/logger';
import { createWaker } from '@station/kit/wakeable';
import { events } from '@station/protocol/events';
import { createRequestedRestart } from './requested-restart.ts';
import type { Flow } from './update-flow.ts';

/** Time passes at once. */
const clock = { ...systemClock, sleep: async () => new Promise<void>((resolve) => setImmediate(resolve)) };

/** A stack with a backend; `restart` is what its engine does. */
function createStack(restart: () => Promise<void>, changes: { operation?: object; isProxyTaken?: boolean } = {}) {
  const logged: string[] = [];
  const logger = createLogger({ catalogue: events, clock, level: 'info', secrets: [], write: () => undefined });
  logger.subscribe(({ event }) => logged.push(event));
  const asked: string[] = [];
  // What a request needs of the flow.
  const flow = {
    clock,
    logger,
    runner: createExclusiveRunner(),
    waker: createWaker(clock),
    alive: () => undefined,
    engine: { containers: async () => [{ service: 'backend' }] },
    keeper: { isLoaded: () => true, operation: () => changes.operation ?? null },
    blockers: { current: () => null, note: () => false },
    lock: { isTaken: () => changes.isProxyTaken ?? false },
    state: { signal: new AbortController().signal, starting: false },
  } as unknown as Flow;
  const operator = {
    restart: async (service: string) => {
      asked.push(service);
      await restart();
    },
  };
  return { ...createRequestedRestart(flow, operator), flow, logged, asked };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await clock.sleep();
};

describe('a restart of a service that a person asks for', () => {
  it('begins after the answer, and tells how it ended', async () => {
    const stack = createStack(async () => undefined);
    assert.deepEqual(await stack.restart('backend'), { kind: 'started' });
    assert.deepEqual(stack.asked, [], 'the answer leaves first');
    assert.equal(stack.last()?.endedAt, null);
    await settled();
    assert.deepEqual([stack.asked, stack.logged], [['backend'], ['service_restarted']]);
    assert.equal(stack.last()?.isFailed, false);
    assert.notEqual(stack.last()?.endedAt, null);
  });

  it('that fails is told, and the next one may begin', async () => {
    const stack = createStack(() => Promise.reject(new Error('no')));
    await stack.restart('backend');
    await settled();
    assert.deepEqual([stack.logged, stack.last()?.isFailed], [['service_restart_failed'], true]);
    assert.deepEqual(await stack.restart('backend'), { kind: 'started' });
  });

  it('waits for other work on the stack, and is refused while one is under way', async () => {
    const stack = createStack(async () => undefined);
    const work = Promise.withResolvers<void>();
    void stack.flow.runner.run(() => work.promise);
    await stack.restart('backend');
    await settled();
    assert.deepEqual(stack.asked, []);
    assert.equal((await stack.restart('backend')).kind, 'refused');
    work.resolve();
    await settled();
    assert.deepEqual(stack.asked, ['backend']);
  });

  it('is refused during an update, in the hotspot, and for a service that is not there', async () => {
    const updating = createStack(async () => undefined, { operation: {} });
    const refusal = await updating.restart('backend');
    assert.equal(refusal.kind === 'refused' && refusal.code, 'update_in_progress');
    const hotspot = createStack(async () => undefined, { isProxyTaken: true });
    assert.equal((await hotspot.restart('backend')).kind, 'refused');
    const stack = createStack(async () => undefined);
    await assert.rejects(stack.restart('nobody'), { code: 'not_found' });
    await settled();
    assert.deepEqual([...updating.asked, ...hotspot.asked, ...stack.asked], []);
  });
});
