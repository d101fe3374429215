import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxParallelRuns, maxRunsPerMinute } from '@station/protocol/automations';
import { act, automationWorld, chain, delay, edges, manual, node, start } from '../../testing/automation-world.ts';
import { until } from '../../testing/until.ts';
import type { EffectResult } from './actions.ts';

const lamp = chain([start, act('on'), delay('wait', 120), act('off')]);

async function waiting(mode: 'restart' | 'single' | 'parallel') {
  const world = await automationWorld();
  const automation = await world.publish(lamp, mode);
  const life = world.live();
  let count = 0;
  const trigger = async () => {
    const run = await life.runner.start({ automation, trigger: manual, cause: `${count++}` });
    await until('it is through with what is at once', async () => (await world.run(run!.id)).status !== 'running');
    return run!.id;
  };
  const dispose = async (): Promise<void> => {
    await life[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  };
  return { ...world, world, automation, life, trigger, [Symbol.asyncDispose]: dispose };
}

test('restart: a new trigger replaces a waiting run, and the wait starts again', async () => {
  await using all = await waiting('restart');
  const first = await all.trigger();
  all.clock.advance(60_000);
  const second = await all.trigger();
  assert.equal((await all.run(first)).status, 'replaced');
  assert.deepEqual(await all.steps(first), ['on done', 'wait cancelled']);
  all.clock.advance(119_999);
  await all.life.timer.check();
  assert.deepEqual(all.performed, ['on', 'on']);
  all.clock.advance(1);
  await all.life.timer.check();
  await until('it is over', async () => (await all.run(second)).status === 'completed');
  assert.deepEqual(all.performed, ['on', 'on', 'off']);
  assert.deepEqual(
    all.life.reported.map(({ id, status }) => `${id === first ? 1 : 2} ${status}`),
    ['1 running', '1 waiting', '1 replaced', '2 running', '2 waiting', '2 completed'],
  );
});

test('a run whose conditions are not met replaces no run, and is recorded', async () => {
  await using all = await waiting('restart');
  const first = await all.trigger();
  const night = node('night', 'condition', 'time_range', { from: '22:00', to: '06:00' });
  all.facts.time = { weekday: 'mon', minutes: 12 * 60 };
  const flow = chain([start, night, act('on')]);
  const gated = { ...all.automation, flow: flow as never };
  const run = await all.life.runner.start({ automation: gated, trigger: manual, cause: 'noon' });
  assert.deepEqual([run?.status, run?.reason], ['completed', 'conditions_not_met']);
  assert.deepEqual(await all.steps(run!.id), ['night not_met']);
  assert.equal((await all.run(first)).status, 'waiting');
  assert.deepEqual(all.performed, ['on']);
});

test('single skips a new run while one waits; parallel does up to ten', async () => {
  {
    await using all = await waiting('single');
    const first = await all.trigger();
    const second = await all.run(await all.trigger());
    assert.deepEqual([second.status, second.reason], ['skipped', 'already_running']);
    assert.equal((await all.run(first)).status, 'waiting');
  }
  await using all = await waiting('parallel');
  for (let index = 0; index < maxParallelRuns; index++) await all.trigger();
  const beyond = await all.run(await all.trigger());
  assert.deepEqual([beyond.status, beyond.reason], ['skipped', 'too_many_parallel']);
  all.clock.advance(120_000);
  await all.life.timer.check();
  await until('all are over', () => all.performed.filter((name) => name === 'off').length === maxParallelRuns);
});

test('an automation that starts itself hits a limit, reports it once, and continues after a minute', async () => {
  await using world = await automationWorld();
  const automation = await world.publish(chain([start, act('loop')]));
  let count = 0;
  let isLooping = true;
  await using life = world.live({
    perform: async () => {
      world.performed.push('loop');
      // Its action triggers it again.
      if (isLooping) void life.runner.start({ automation, trigger: manual, cause: `${count++}` });
      return { status: 'done', detail: null };
    },
  });
  await life.runner.start({ automation, trigger: manual, cause: 'first' });
  await until('it is limited', async () => (await world.all(automation)).some(({ status }) => status === 'skipped'));
  isLooping = false;
  assert.equal(world.performed.length, maxRunsPerMinute);
  for (let more = 0; more < 5; more++) {
    const run = await life.runner.start({ automation, trigger: manual, cause: `more ${more}` });
    assert.deepEqual([run?.status, run?.reason], ['skipped', 'rate_limited'], 'each of them has the reason');
  }
  const skipped = (await world.all(automation)).filter(({ status }) => status === 'skipped');
  assert.deepEqual(
    skipped.map(({ reason }) => reason),
    ['rate_limited'],
  );
  assert.equal(world.logger.events('automation_skipped').length, 1);
  assert.deepEqual(await world.runs.limitedSince(world.clock.now() - 1), [automation.id]);
  world.clock.advance(60_001);
  const later = await life.runner.start({ automation, trigger: manual, cause: 'later' });
  assert.notEqual(later?.status, 'skipped');
});

test('a run that was replaced during an action does nothing more; the action’s outcome is stored', async () => {
  await using all = await waiting('restart');
  const ending = Promise.withResolvers<EffectResult>();
  all.results.set('on', ending.promise);
  const first = await all.life.runner.start({ automation: all.automation, trigger: manual, cause: 'first' });
  all.results.set('on', { status: 'done', detail: null });
  await until('it is begun', () => all.performed.length === 1);
  const second = await all.trigger();
  ending.resolve({ status: 'expired', detail: 'late' });
  await until('its end is kept', async () => (await all.steps(first!.id))[0] === 'on expired');
  assert.deepEqual(await all.steps(first!.id), ['on expired']);
  assert.deepEqual([(await all.run(first!.id)).status, (await all.run(second)).status], ['replaced', 'waiting']);
});

test('branches run in parallel: a slow action does not block the delay of another branch', async () => {
  await using world = await automationWorld();
  const slow = Promise.withResolvers<EffectResult>();
  world.results.set('slow', slow.promise);
  const flow = {
    nodes: [start, act('slow'), delay('wait', 1), act('quick'), act('end')],
    edges: edges('start-slow', 'start-wait', 'wait-quick', 'slow-end', 'quick-end'),
  };
  const automation = await world.publish(flow);
  // Its clock wakes automatically, faster than the real one.
  const { sleep } = world.clock;
  world.clock.sleep = (ms, signal) =>
    ms === 1_000 ? Promise.resolve().then(() => world.clock.advance(ms)) : sleep(ms, signal);
  await using life = world.live();
  const run = await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await until('the other branch is done', () => world.performed.includes('end'));
  assert.equal((await world.run(run!.id)).status, 'running');
  slow.resolve({ status: 'failed', detail: 'It was not there.' });
  await until('it is over', async () => (await world.run(run!.id)).ended_at !== null);
  const { status, reason } = await world.run(run!.id);
  assert.deepEqual([status, reason], ['failed', 'action_failed']);
  assert.deepEqual(world.performed, ['slow', 'quick', 'end']);
});

test('setting the wall clock while a run waits does not change its delay', async () => {
  await using all = await waiting('restart');
  const steady = { ms: 0 };
  let wall = all.clock.now();
  all.clock.now = () => wall;
  all.clock.monotonic = () => steady.ms;
  const id = await all.trigger();
  const day = 86_400_000;
  wall += day;
  await all.life.timer.check();
  assert.equal((await all.run(id)).status, 'waiting', 'a day forward');
  wall -= 2 * day;
  steady.ms += 120_000;
  await all.life.timer.check();
  await until('it is over', async () => (await all.run(id)).ended_at !== null);
  assert.deepEqual(all.performed, ['on', 'off']);
});

test('only the newest runs are kept', async () => {
  await using world = await automationWorld();
  const automation = await world.publish(chain([start, node('message', 'action', 'notify', { message: 'x' })]));
  await using life = world.live();
  for (let index = 0; index < 5; index++) {
    await life.runner.start({ automation, trigger: manual, cause: `${index}` });
    world.clock.advance(10_000);
  }
  const all = await world.all(automation);
  await world.runs.prune(2, world.clock.now() - 15_000);
  assert.deepEqual(await world.all(automation), all.slice(0, 2));
  assert.equal((await world.runs.stepsOf(all.map(({ id }) => id))).length, 2);
  assert.equal((await world.store.db.selectFrom('notifications').selectAll().execute()).length, 1);
});

test('a trigger that fires while its automation is unpublished or removed starts nothing', async () => {
  await using world = await automationWorld();
  const automation = await world.publish(chain([start, act('on')]));
  await using life = world.live();
  const trigger = { kind: 'schedule', nodeId: 'start', deviceId: null, userId: null, data: {} } as const;
  const { db } = world.store;
  await db.updateTable('automations').set({ published_flow: null, published_mode: null, published_at: null }).execute();
  assert.equal(await life.runner.start({ automation, trigger, cause: 'late' }), null);
  assert.equal((await life.runner.start({ automation, trigger: manual, cause: 'by hand' }))?.status, 'running');
  await until('it is done', () => world.performed.length === 1);
  await db.deleteFrom('automations').execute();
  assert.equal(await life.runner.start({ automation, trigger: manual, cause: 'gone' }), null);
  assert.deepEqual(world.performed, ['on']);
});
