import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  act,
  automationWorld,
  chain,
  delay,
  manual,
  node,
  start,
  untilMotion,
  type AutomationWorld,
} from '../../testing/automation-world.ts';
import { until } from '../../testing/until.ts';
import type { RunStore } from './run-store.ts';

const never = new Promise<never>(() => undefined);

/** Simulates a crash at a write: just before it, or just after it is on disk. Later events are ignored. */
function dyingStore(runs: RunStore, at: number, when: 'before' | 'after') {
  let writes = 0;
  let isDead = false;
  const write =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (isDead) return never;
      const isLast = writes++ === at;
      if (isLast && when === 'before') isDead = true;
      if (isDead) return never;
      const result = await method(...args);
      if (isLast) isDead = true;
      return isDead ? never : result;
    };
  const store: RunStore = {
    ...runs,
    open: write(runs.open),
    record: write(runs.record),
    save: write(runs.save),
    claim: write(runs.claim),
    due: async (now) => (isDead ? never : runs.due(now)),
    abandoned: async (by) => (isDead ? never : runs.abandoned(by)),
  };
  return { store, isDead: () => isDead, writes: () => writes };
}

const message = node('message', 'action', 'notify', { message: 'Off' });
const flow = chain([start, act('on'), delay('wait', 60), act('off'), message]);
const untilStill = chain([start, act('on'), untilMotion('wait', false, 3_000), act('off'), message]);

/** How the wait of a flow comes to its end. */
type Case = {
  flow: typeof flow;
  endWait: (world: AutomationWorld) => void;
  prepare?: (world: AutomationWorld) => void;
};
const cases: Readonly<Record<string, Case>> = {
  delay: { flow, endWait: (world) => world.clock.advance(60_000) },
  condition: {
    flow: untilStill,
    prepare: (world) => {
      world.facts.state = { motion: true };
    },
    endWait: (world) => world.report({ motion: false }),
  },
};

/** @returns false when the run ended before the crash. */
async function dieAt(
  world: AutomationWorld,
  { flow: died, endWait, prepare }: Case,
  at: number,
  when: 'before' | 'after',
): Promise<boolean> {
  prepare?.(world);
  const automation = await world.publish(died);
  world.performed.length = 0;
  const dying = dyingStore(world.runs, at, when);
  const first = world.live({ runs: dying.store });
  void first.runner.start({ automation, trigger: manual, cause: 'one' });
  const isOver = async (): Promise<boolean> => (await world.all(automation))[0]?.status === 'completed';
  await until('it waits, is over, or is dead', async () => {
    const waits = (await world.all(automation))[0]?.status === 'waiting';
    if (waits && !dying.isDead()) {
      endWait(world);
      void first.timer.check();
    }
    return dying.isDead() || (await isOver());
  });
  if (!dying.isDead()) {
    await first[Symbol.asyncDispose]();
    return false;
  }
  {
    await using second = world.live();
    await until('nothing is open', async () => {
      await second.timer.check();
      world.clock.advance(10_000);
      endWait(world);
      return (await world.all(automation)).every(({ ended_at }) => ended_at !== null);
    });
  }
  const [run] = await world.all(automation);
  const summary = `${when} write ${at}: ${run?.status} ${run && (await world.steps(run.id)).join(', ')}; ${world.performed.join(' ')}`;
  assert.equal(new Set(world.performed).size, world.performed.length, `twice: ${summary}`);
  if (run === undefined) assert.deepEqual(world.performed, [], summary);
  else if (run.status === 'completed') assert.deepEqual(world.performed, ['on', 'off'], summary);
  else {
    assert.equal(run.status, 'interrupted', summary);
    assert.equal((await world.steps(run.id)).filter((step) => step.endsWith(' unknown')).length, 1, summary);
  }
  const notes = await world.store.db
    .selectFrom('notifications')
    .selectAll()
    .where('run_id', '=', run?.id ?? '')
    .execute();
  assert.equal(notes.length, run?.status === 'completed' ? 1 : 0, summary);
  return true;
}

test('a backend that crashes at any write repeats no action, and records unknown outcomes', async () => {
  for (const [name, one] of Object.entries(cases)) {
    await using world = await automationWorld();
    let deaths = 0;
    for (const when of ['before', 'after'] as const) {
      for (let at = 0; await dieAt(world, one, at, when); at++) deaths++;
    }
    assert.ok(deaths >= 10, `${name}: only ${deaths} deaths`);
  }
});

test('a wait for a condition continues after a restart, also when the condition became true meanwhile', async () => {
  for (const isMeanwhile of [false, true]) {
    await using world = await automationWorld();
    world.facts.state = { motion: true };
    const automation = await world.publish(untilStill);
    {
      await using life = world.live();
      await life.runner.start({ automation, trigger: manual, cause: 'one' });
      await until('it waits', async () => (await world.all(automation))[0]?.status === 'waiting');
    }
    if (isMeanwhile) world.facts.state = { motion: false };
    await using life = world.live();
    await life.timer.check();
    assert.deepEqual(world.performed, isMeanwhile ? ['on', 'off'] : ['on']);
    if (!isMeanwhile) world.report({ motion: false });
    await until('it is over', async () => (await world.all(automation))[0]?.status === 'completed');
    const run = (await world.all(automation))[0]!;
    assert.deepEqual(world.performed, ['on', 'off']);
    assert.deepEqual(await world.steps(run.id), ['on done', 'wait met', 'off done', 'message done']);
  }
});

test('a delay continues after a restart: on time, or immediately if it ended meanwhile, with the lateness recorded', async () => {
  for (const [downMs, late] of [
    [10_000, null],
    [300_000, 240_000],
  ] as const) {
    await using world = await automationWorld();
    const automation = await world.publish(flow);
    {
      await using life = world.live();
      await life.runner.start({ automation, trigger: manual, cause: 'one' });
      await until('it waits', async () => (await world.all(automation))[0]?.status === 'waiting');
    }
    world.clock.advance(downMs);
    await using life = world.live();
    await life.timer.check();
    if (late === null) {
      assert.deepEqual(world.performed, ['on'], 'not before its time');
      world.clock.advance(60_000 - downMs);
      await life.timer.check();
    }
    await until('it is over', async () => (await world.all(automation))[0]?.status === 'completed');
    assert.deepEqual(world.performed, ['on', 'off']);
    const steps = await world.runs.steps((await world.all(automation))[0]!.id);
    assert.equal(steps.find(({ node_id }) => node_id === 'wait')?.late_ms ?? null, late);
  }
});

test('a delay that ended more than an hour ago ends its run', async () => {
  await using world = await automationWorld();
  const automation = await world.publish(flow);
  {
    await using life = world.live();
    await life.runner.start({ automation, trigger: manual, cause: 'one' });
    await until('it waits', async () => (await world.all(automation))[0]?.status === 'waiting');
  }
  world.clock.advance(60_000 + 3_600_001);
  await using life = world.live();
  await until('it is over', async () => {
    await life.timer.check();
    return (await world.all(automation))[0]?.ended_at !== null;
  });
  const [run] = await world.all(automation);
  assert.deepEqual([run?.status, run?.reason, world.performed], ['missed', 'delay_overdue', ['on']]);
  assert.deepEqual(await world.steps(run!.id), ['on done', 'wait missed']);
});

test('of two processes on one database only the leader continues a run', async () => {
  await using world = await automationWorld();
  const automation = await world.publish(flow);
  {
    await using life = world.live();
    await life.runner.start({ automation, trigger: manual, cause: 'one' });
    await until('it waits', async () => (await world.all(automation))[0]?.status === 'waiting');
  }
  world.clock.advance(60_000);
  const follower = { isLeader: () => false, subscribe: () => ({ [Symbol.dispose]: () => undefined }) };
  {
    await using idle = world.live({ leadership: follower, isShared: true });
    await idle.timer.check();
    assert.deepEqual(world.performed, ['on']);
  }
  await using one = world.live({ isShared: true });
  await using two = world.live({ isShared: true });
  await Promise.all([one.timer.check(), two.timer.check(), one.timer.check(), two.timer.check()]);
  await until('it is over', async () => (await world.all(automation))[0]?.status === 'completed');
  assert.deepEqual(world.performed, ['on', 'off']);
  const both = { automation, trigger: manual, cause: 'the same' };
  const started = await Promise.all([one.runner.start(both), two.runner.start(both)]);
  assert.equal(started.filter((run) => run !== null).length, 1, 'one cause, one run');
});

test('another process continues a run of a dead process after its lease expired, not before', async () => {
  await using world = await automationWorld();
  const automation = await world.publish(chain([start, act('on'), act('off')]));
  const dying = dyingStore(world.runs, 0, 'after');
  void world.live({ runs: dying.store, isShared: true }).runner.start({ automation, trigger: manual, cause: 'one' });
  await until('it is dead', () => dying.isDead());
  await using other = world.live({ isShared: true });
  await other.timer.check();
  assert.equal((await world.all(automation))[0]?.status, 'running');
  world.clock.advance(31_000);
  await other.timer.check();
  const [run] = await world.all(automation);
  assert.deepEqual([run?.status, await world.steps(run!.id)], ['interrupted', ['on unknown']]);
  assert.deepEqual(world.performed, []);
});
