import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { operationPhases, type OperationPhase } from '@station/protocol/agent-api';
import type { AgentEvent } from '@station/protocol/events';
import { createProcessStation, type ProcessStation } from './process-station.ts';

/** A station with 1.0.0 on it. */
async function createInstalled(): Promise<ProcessStation> {
  const station = await createProcessStation();
  assert.ok(await station.operate('update', await station.publish('1.0.0', 'good')));
  await station.assertRuns('1.0.0');
  return station;
}

const names = (events: readonly AgentEvent[]): string[] => events.map(({ event }) => event);

// Most of the time the tests wait for crashing processes, so several stations run in parallel.
const sideBySide = { concurrency: 4 };

describe('an update on real processes', sideBySide, () => {
  it('to a good release succeeds, and a rollback needs no registry', async () => {
    await using station = await createInstalled();
    assert.ok(await station.operate('update', await station.publish('1.1.0', 'good')));
    const entry = await station.assertRuns('1.1.0');
    assert.equal(entry?.result, 'updated');
    assert.ok(entry.downtimeMs !== null && entry.downtimeMs > 0);
    await station.removeRegistry();
    const [kept] = station.keeper().journal().kept;
    assert.ok(kept && (await station.operate('rollback', kept.release)));
    assert.equal((await station.assertRuns('1.0.0'))?.result, 'rolled_back');
  });

  it('to a release that crashes is rolled back without the registry', async () => {
    await using station = await createInstalled();
    const bad = await station.publish('1.1.0', 'crashes');
    using _subscription = station.subscribe(({ event }) => {
      if (event === 'docker_restart') void station.removeRegistry();
    });
    assert.ok(await station.operate('update', bad));
    const entry = await station.assertRuns('1.0.0');
    assert.deepEqual([entry?.result, entry?.reason], ['rolled_back', 'a service keeps crashing']);
    assert.deepEqual(
      station
        .keeper()
        .journal()
        .quarantined.map(({ version }) => version),
      ['1.1.0'],
    );
    for (const name of ['healthcheck_failed', 'rollback_started', 'rollback_completed', 'release_quarantined']) {
      assert.ok(names(station.events).includes(name), name);
    }
  });

  it('to a release that never becomes healthy is rolled back', async () => {
    await using station = await createInstalled();
    assert.ok(await station.operate('update', await station.publish('1.1.0', 'unhealthy')));
    const entry = await station.assertRuns('1.0.0');
    assert.deepEqual([entry?.result, entry?.reason], ['rolled_back', 'the health check answered 503']);
  });

  it('to a release without an image does not change the stack', async () => {
    await using station = await createInstalled();
    const before = await station.engine().containers();
    const absent = await station.publish('1.1.0', 'good');
    assert.ok(await station.operate('update', { ...absent, images: { ...absent.images, backend: 'backend:9.9.9' } }));
    const entry = await station.assertRuns('1.0.0');
    assert.deepEqual([entry?.result, entry?.reason], ['failed', 'the registry has no such image']);
    assert.deepEqual(await station.engine().containers(), before);
  });

  it('to a release that is larger than the disk does not change the stack', async () => {
    await using station = await createInstalled();
    assert.ok(await station.operate('update', await station.publish('1.1.0', 'good', 2 ** 50)));
    const entry = await station.assertRuns('1.0.0');
    assert.equal(entry?.result, 'failed');
    assert.match(entry.reason ?? '', /MiB free/);
  });
});

describe('an agent that ends during an update', sideBySide, () => {
  const inPhase = (phase: OperationPhase) => ({
    on: (event: AgentEvent) => event.event === 'update_phase' && event.phase === phase,
  });

  for (const phase of ['preparing', 'pulling', 'switching', 'verifying'] as const) {
    it(`to a good release, in "${phase}", ends on that release after its restart`, async () => {
      await using station = await createInstalled();
      const release = await station.publish('1.1.0', 'good');
      assert.equal(await station.operate('update', release, inPhase(phase)), false);
      assert.equal(station.keeper().journal().operation?.phase, phase);
      assert.ok(await station.restart());
      await station.assertRuns('1.1.0');
    });
  }

  for (const phase of operationPhases) {
    it(`to a release that crashes, in "${phase}", ends on the previous release after its restart`, async () => {
      await using station = await createInstalled();
      const release = await station.publish('1.1.0', 'crashes');
      assert.equal(await station.operate('update', release, inPhase(phase)), false);
      assert.equal(station.keeper().journal().operation?.phase, phase);
      assert.ok(await station.restart());
      assert.equal((await station.assertRuns('1.0.0'))?.result, 'rolled_back');
    });
  }

  for (const afterMs of [10, 160, 640]) {
    it(`${afterMs} ms after the stack was touched, ends on the previous release when the new one crashes`, async () => {
      await using station = await createInstalled();
      const release = await station.publish('1.1.0', 'crashes');
      const interruption = { on: ({ event }: AgentEvent) => event === 'docker_restart', afterMs };
      assert.equal(await station.operate('update', release, interruption), false);
      assert.ok(await station.restart());
      assert.equal((await station.assertRuns('1.0.0'))?.result, 'rolled_back');
    });
  }

  it('and again during its recovery, still completes it', async () => {
    await using station = await createInstalled();
    const release = await station.publish('1.1.0', 'crashes');
    assert.equal(await station.operate('update', release, inPhase('verifying')), false);
    assert.equal(await station.restart(inPhase('reverting')), false);
    assert.equal(await station.restart(inPhase('verifying_revert')), false);
    assert.ok(await station.restart());
    assert.equal((await station.assertRuns('1.0.0'))?.result, 'rolled_back');
  });

  it('or without an update starts the installed release again', async () => {
    await using station = await createInstalled();
    assert.ok(await station.restart());
    await station.assertRuns('1.0.0');
  });
});
