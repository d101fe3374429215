import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAgent, type AgentRun } from './agent-run.ts';
import { createFirmwareWorld } from './firmware-world.ts';
import { runFirmware } from './firmware-run.ts';
import { prepare, scenarioNamed } from './scenarios.ts';

// Specification, "Agent log events".
const ofTheStack = [
  'update_start',
  'update_completed',
  'update_available',
  'docker_pull',
  'docker_restart',
  'healthcheck_passed',
  'healthcheck_failed',
  'rollback_started',
  'rollback_completed',
  'bootstrap_start',
  'bootstrap_done',
] as const;
const ofTheFirmware = [
  'firmware_download_start',
  'firmware_download_done',
  'firmware_update_available',
  'firmware_ready',
  'firmware_old_removed',
  'firmware_check_retry',
  'firmware_check_failed',
] as const;

async function play(name: string): Promise<AgentRun> {
  const scenario = scenarioNamed(name);
  return runAgent(await prepare(scenario), { request: scenario.request });
}

test('the stack feature emits every event of the specification, and its own error events', async () => {
  const runs: Record<string, AgentRun> = {};
  for (const name of ['update-good', 'update-unhealthy', 'bring-up-at-boot', 'older-agent'])
    runs[name] = await play(name);
  const seen = new Set(Object.values(runs).flatMap((run) => run.events));
  const missing = ofTheStack.filter((name) => !seen.has(name));
  assert.deepEqual(missing, []);
  const order = ['bootstrap_start', 'docker_restart', 'healthcheck_passed', 'bootstrap_done'];
  assert.deepEqual(
    runs['bring-up-at-boot']?.events.filter((event) => order.includes(event)),
    order,
  );
  assert.ok(runs['older-agent']?.events.includes('stack_adopted'));
});

test('retries an unreachable registry, and raises a condition until the release is installed', async () => {
  const scenario = scenarioNamed('registry-gone-good');
  const world = await prepare(scenario);
  world.engine.pullsLeft = 1;
  const standing = new Set<string>();
  const run = await runAgent(world, {
    request: scenario.request,
    stayMs: 600_000,
    onSleep: ({ conditions, keeper }) => {
      if (!keeper.isLoaded() || !conditions.has('registry_unreachable')) return;
      standing.add('registry_unreachable');
      world.engine.pullsLeft = null;
      world.engine.registry = 'up';
    },
  });
  assert.deepEqual([...standing], ['registry_unreachable']);
  const order = ['update_start', 'update_retry', 'update_failed', 'update_completed'];
  const reported = run.events.filter((event) => order.includes(event));
  assert.deepEqual([...new Set(reported)], order);
  assert.ok(!run.conditions.includes('registry_unreachable'));
});

test('reports a release manifest that cannot be fetched', async () => {
  const scenario = scenarioNamed('update-good');
  const run = await runAgent(await prepare(scenario), { request: { kind: 'none' } });
  assert.ok(run.events.includes('manifest_check_failed'));
  assert.deepEqual(run.conditions, ['manifest_unreachable']);
});

test('the firmware feature emits every event of the specification', async () => {
  const world = createFirmwareWorld({ lamp: '1.0.0' });
  const runs = [await runFirmware(world, { isServerDown: true }), await runFirmware(world)];
  world.offered = { lamp: '1.1.0' };
  world.installed = { lamp: ['1.0.0'] };
  runs.push(await runFirmware(world));
  world.installed = { lamp: ['1.1.0'] };
  runs.push(await runFirmware(world));
  const seen = new Set(runs.flatMap((run) => run.events.map(({ event }) => event)));
  const missing = ofTheFirmware.filter((name) => !seen.has(name));
  assert.deepEqual(missing, []);
});
