import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StackEngine } from '@station/agent/stack/stack-ports';
import { runAgent, type AgentRun, type AgentRunOptions } from './agent-run.ts';
import { prepare, scenarioNamed } from './scenarios.ts';
import { pass } from './virtual-clock.ts';
import type { World } from './world.ts';

/** The service manager ends an agent without a keep-alive for 15 minutes. */
const longestSilenceMs = 15 * 60_000;
const minute = 60_000;

async function update(
  name: string,
  options: Partial<AgentRunOptions> & { engine?: (engine: StackEngine, world: World) => StackEngine },
): Promise<AgentRun> {
  const scenario = scenarioNamed(name);
  const world = await prepare(scenario);
  const { engine: change, ...others } = options;
  const wrapEngine = (engine: StackEngine): StackEngine => change?.(engine, world) ?? engine;
  const run = await runAgent(world, { request: scenario.request, ...others, wrapEngine });
  assert.equal(run.outcome, 'quiet', String(run.surprise));
  return run;
}

const slowPull = (engine: StackEngine, { time }: World): StackEngine => ({
  ...engine,
  pull: async (reference, onProgress, signal) => {
    for (let doneBytes = 0; doneBytes < 40; doneBytes += 1) {
      pass(time, minute);
      onProgress({ doneBytes, totalBytes: 40 });
      await Promise.resolve();
    }
    return engine.pull(reference, onProgress, signal);
  },
});

describe('an agent that works for longer than the time of the watchdog', () => {
  test('sends keep-alives while an image is pulled over a slow connection', async () => {
    const run = await update('update-good', { engine: slowPull });
    assert.ok(run.events.includes('update_completed'));
    assert.ok(run.totalMs > 40 * minute);
    assert.ok(run.longestSilenceMs < longestSilenceMs, `silent for ${run.longestSilenceMs / minute} min`);
  });

  test('sends keep-alives while a release is given an hour to become healthy', async () => {
    const gate = { stabilizationMs: 60 * minute, timeoutMs: minute, devicesMs: minute };
    const run = await update('update-good', { gate });
    assert.ok(run.events.includes('update_completed'));
    assert.ok(run.gateMs > 50 * minute);
    assert.ok(run.longestSilenceMs < longestSilenceMs, `silent for ${run.longestSilenceMs / minute} min`);
  });

  test('sends keep-alives while images are verified', async () => {
    const run = await update('update-good', {
      engine: (engine, { time }) => {
        let ups = 0;
        return {
          ...engine,
          checkImages: async (imageIds, options) => {
            pass(time, 10 * minute);
            return engine.checkImages(imageIds, options);
          },
          up: async (signal) => {
            ups += 1;
            return ups <= 3 ? { kind: 'failed', reason: 'the image cannot be used' } : engine.up(signal);
          },
        };
      },
    });
    assert.ok(run.events.includes('rollback_completed'));
    assert.ok(run.totalMs > 20 * minute);
    assert.ok(run.longestSilenceMs < longestSilenceMs, `silent for ${run.longestSilenceMs / minute} min`);
  });
});

test('distinguishes an agent that is stuck in one call from one that works', async () => {
  const run = await update('update-good', {
    engine: (engine, { time }) => ({
      ...engine,
      sync: async () => {
        pass(time, 20 * minute);
        return engine.sync();
      },
    }),
  });
  assert.ok(run.longestSilenceMs > longestSilenceMs);
});
