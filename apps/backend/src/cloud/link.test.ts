import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createLeadership } from '../core/leadership.ts';
import { type Credentials, startLinkKeeper } from './link.ts';

const unclaimed = (claimSecret: string): Credentials => ({ kind: 'unclaimed', chipId: 'chip', claimSecret });

/** A link that only records its state, with a store whose answers the test may delay, and a manual clock. */
function setUp() {
  const leadership = createLeadership();
  leadership.set(1);
  const { run } = createExclusiveRunner();
  let held: Credentials | null = null;
  let starts = 0;
  const state = {
    stored: unclaimed('first'),
    fails: false,
    beforeAnswer: async (): Promise<void> => undefined,
    faults: 0,
    tick: (): void => undefined,
  };
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        state.tick = resolve;
        if (signal?.aborted) resolve();
        signal?.addEventListener('abort', () => reject(new Error('ended')), { once: true });
      }),
  };
  const keeper = startLinkKeeper({
    link: {
      start: (credentials) => {
        held = credentials;
        starts += 1;
      },
      stop: () => {
        held = null;
      },
      credentials: () => held,
    },
    credentials: async () => {
      const { stored } = state;
      await state.beforeAnswer();
      if (state.fails) throw new Error('no database');
      return stored;
    },
    leadership,
    run,
    onFault: () => void (state.faults += 1),
    onChanged: () => undefined,
    clock,
  });
  const settled = () => run(async () => undefined);
  return { keeper, leadership, state, run, settled, held: () => held, starts: () => starts };
}

/** Resolves while the store is being read; `answer` lets the read continue. */
function holdBack({ state }: ReturnType<typeof setUp>): { asked: Promise<void>; answer: () => void } {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  state.beforeAnswer = () => {
    asked.resolve();
    return answer.promise;
  };
  return { asked: asked.promise, answer: answer.resolve };
}

test('after another backend changed the store, the link restarts when notified, or else at the next check', async () => {
  const all = setUp();
  await using keeper = all.keeper;
  await all.settled();
  assert.deepEqual(all.held(), unclaimed('first'));
  all.state.stored = unclaimed('second');
  await keeper.check();
  assert.deepEqual(all.held(), unclaimed('second'));
  await keeper.check();
  assert.equal(all.starts(), 2, 'nothing changed, nothing is done');
  all.state.stored = unclaimed('third');
  all.state.tick();
  await all.settled();
  await all.settled();
  assert.deepEqual(all.held(), unclaimed('third'));
});

test('if the leadership is lost while the store is read, the link stays down', async () => {
  const all = setUp();
  await using keeper = all.keeper;
  await all.settled();
  all.leadership.set(null);
  assert.equal(all.held(), null, 'at once');
  const reading = holdBack(all);
  all.leadership.set(2);
  await reading.asked;
  all.leadership.set(null);
  reading.answer();
  await keeper.check();
  assert.equal(all.held(), null);
  assert.equal(all.starts(), 1);
});

test('if the backend stops while the store is read, the link does not start', async () => {
  const all = setUp();
  const reading = holdBack(all);
  await reading.asked;
  const ended = all.keeper[Symbol.asyncDispose]();
  reading.answer();
  await ended;
  await all.settled();
  assert.equal(all.starts(), 0);
});

test('a failed change leaves the link unchanged; a stored one is applied as soon as the database can be read', async () => {
  const all = setUp();
  await using keeper = all.keeper;
  await all.settled();
  await assert.rejects(keeper.change(async () => Promise.reject(new Error('no database'))));
  assert.deepEqual(all.held(), unclaimed('first'));
  await keeper.change(async () => {
    all.state.stored = unclaimed('second');
    all.state.fails = true;
  });
  await keeper.check();
  assert.equal(all.state.faults, 1, 'said once');
  all.state.fails = false;
  await keeper.check();
  assert.deepEqual(all.held(), unclaimed('second'));
});
