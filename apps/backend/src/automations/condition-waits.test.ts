import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  act,
  automationWorld,
  type AutomationWorld,
  chain,
  delay,
  edges,
  manual,
  node,
  start,
  untilMotion,
} from '../../testing/automation-world.ts';
import { until } from '../../testing/until.ts';
import type { Published } from './registry.ts';

const limit = 600;
const branches = {
  nodes: [start, act('on'), untilMotion('wait', false, limit), act('still'), act('late')],
  edges: [
    ...edges('start-on', 'on-wait', 'wait-still'),
    { id: 'else', source: 'wait', target: 'late', sourceHandle: 'false' as const },
  ],
};

async function moving(flow: Parameters<AutomationWorld['publish']>[0] = branches) {
  const world = await automationWorld();
  world.facts.state = { motion: true };
  const automation = await world.publish(flow);
  return { world, automation, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
const waits = (world: AutomationWorld, automation: Published): Promise<void> =>
  until('it waits', async () => (await world.all(automation))[0]?.status === 'waiting');
const isOver = (world: AutomationWorld, automation: Published): Promise<void> =>
  until('it is over', async () => (await world.all(automation))[0]?.ended_at !== null);
async function stepsOf(world: AutomationWorld, automation: Published): Promise<string[]> {
  const [run] = await world.all(automation);
  return world.steps(run!.id);
}

test('a run waits until a device reports the value, and records what it saw', async () => {
  await using all = await moving();
  const { world, automation } = all;
  await using life = world.live();
  const run = await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await waits(world, automation);
  world.report({ brightness: 3 });
  await life.timer.check();
  assert.deepEqual(await stepsOf(world, automation), ['on done', 'wait waiting']);
  world.report({ motion: false });
  await isOver(world, automation);
  assert.deepEqual(await stepsOf(world, automation), ['on done', 'wait met', 'still done']);
  const [, wait] = await world.runs.steps(run!.id);
  assert.deepEqual([wait?.seen, wait?.detail], ['{"value":false}', 'The value was false.']);
});

test('a value that is true for a moment only is enough', async () => {
  await using all = await moving();
  const { world, automation } = all;
  await using life = world.live();
  await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await waits(world, automation);
  await life.timer.check();
  world.report({ motion: false });
  world.report({ motion: true });
  await isOver(world, automation);
  assert.deepEqual(world.performed, ['on', 'still']);
});

test('out of time, the other path runs; a run that does not have one ends', async () => {
  for (const [flow, expected] of [
    [branches, ['on', 'late']],
    [chain([start, act('on'), untilMotion('wait', false, limit), act('still')]), ['on']],
  ] as const) {
    await using all = await moving(flow);
    const { world, automation } = all;
    await using life = world.live();
    await life.runner.start({ automation, trigger: manual, cause: 'one' });
    await waits(world, automation);
    world.clock.advance(limit * 1_000 - 1);
    await life.timer.check();
    assert.deepEqual(world.performed, ['on']);
    world.clock.advance(1);
    await life.timer.check();
    await isOver(world, automation);
    assert.deepEqual(world.performed, expected);
    assert.equal((await stepsOf(world, automation))[1], 'wait not_met');
    assert.equal((await world.all(automation))[0]?.status, 'completed');
  }
});

test('a condition that is met already is not waited for', async () => {
  await using all = await moving();
  const { world, automation } = all;
  world.facts.state = { motion: false };
  await using life = world.live();
  await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await isOver(world, automation);
  assert.deepEqual(world.performed, ['on', 'still']);
  assert.ok(life.reported.every(({ status }) => status !== 'waiting'));
});

test('a run waits for a time of day', async () => {
  const night = { kind: 'time_range', config: { from: '22:00', to: '06:00' } };
  await using all = await moving(
    chain([start, node('wait', 'condition', 'wait_until', { until: night, seconds: 86_400 }), act('on')]),
  );
  const { world, automation } = all;
  world.facts.time = { weekday: 'mon', minutes: 21 * 60 + 59 };
  await using life = world.live();
  await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await waits(world, automation);
  await life.timer.check();
  const nextMs = await life.timer.check();
  assert.ok(nextMs <= 60_000, 'it looks again at the next minute');
  assert.deepEqual(world.performed, []);
  world.facts.time = { weekday: 'mon', minutes: 22 * 60 };
  await life.timer.check();
  await isOver(world, automation);
  assert.deepEqual(world.performed, ['on']);
});

test('another branch does not keep a wait from ending, nor is it disturbed', async () => {
  const slow = Promise.withResolvers<{ status: 'done'; detail: null }>();
  const flow = {
    nodes: [start, act('slow'), untilMotion('wait', false, limit), act('still'), delay('rest', 60)],
    edges: edges('start-slow', 'start-wait', 'wait-still', 'slow-rest'),
  };
  await using all = await moving(flow);
  const { world, automation } = all;
  world.results.set('slow', slow.promise);
  await using life = world.live();
  await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await until('it is begun', () => world.performed.includes('slow'));
  await life.timer.check();
  world.report({ motion: false });
  await until('the wait is over', () => world.performed.includes('still'));
  assert.equal((await world.all(automation))[0]?.status, 'running');
  slow.resolve({ status: 'done', detail: null });
  await waits(world, automation);
  assert.deepEqual((await stepsOf(world, automation)).sort(), ['rest waiting', 'slow done', 'still done', 'wait met']);
});

test('a new trigger restarts a run that waits for a condition, and only the new one continues', async () => {
  await using all = await moving();
  const { world, automation } = all;
  await using life = world.live();
  await life.runner.start({ automation, trigger: manual, cause: 'one' });
  await waits(world, automation);
  await life.runner.start({ automation, trigger: manual, cause: 'two' });
  await waits(world, automation);
  await life.timer.check();
  world.report({ motion: false });
  await isOver(world, automation);
  const runs = await world.all(automation);
  assert.deepEqual(
    runs.map(({ status }) => status),
    ['completed', 'replaced'],
  );
  assert.deepEqual(world.performed, ['on', 'on', 'still']);
});

test('of several processes one continues the run; its next wait is on time in each of them', async () => {
  const flow = chain([start, untilMotion('wait', false, limit), delay('rest', 60), act('end')]);
  await using all = await moving(flow);
  const { world, automation } = all;
  // The first is the leader, and knows the long limit of the wait that it began.
  await using first = world.live({ isShared: true });
  await using second = world.live({ isShared: true });
  await first.runner.start({ automation, trigger: manual, cause: 'one' });
  await waits(world, automation);
  await first.timer.check();
  await second.timer.check();
  world.report({ motion: false });
  await until('it rests', async () => (await stepsOf(world, automation)).includes('rest waiting'));
  world.clock.advance(60_000);
  await first.timer.check();
  await isOver(world, automation);
  assert.deepEqual(world.performed, ['end']);
});
