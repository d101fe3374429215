import { events as catalogue } from '@station/protocol/events';
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Clock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { createServiceManager, type ServiceManager, type ServiceManagerParts } from './systemd.ts';

/** A stand-in for the program on PATH: writes down what it was called with. */
const recorder = '#!/bin/sh\nfor word in "$NOTIFY_SOCKET" "$@"; do printf "%s\\n" "$word"; done >> "${0%/*}/calls"\n';

type Rig = {
  /** What the program was called with, in one line each: socket and arguments. */
  calls(): Promise<string>;
  events: { event: string; where?: string; message?: string }[];
  /** Lets the sleeper sleep out. */
  tick(): Promise<void>;
  slept: number[];
};

async function withManager(
  options: { script: string | null } & Partial<ServiceManagerParts>,
  test: (manager: ServiceManager, rig: Rig) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-systemd-'));
  try {
    if (options.script !== null) {
      await writeFile(join(folder, 'systemd-notify'), options.script);
      await chmod(join(folder, 'systemd-notify'), 0o755);
    }
    const slept: number[] = [];
    let wake: (() => void) | null = null;
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      sleep: (ms, signal) => {
        slept.push(ms);
        return new Promise((resolve, reject) => {
          wake = resolve;
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
    };
    const events: Rig['events'] = [];
    const logger = createLogger({
      catalogue,
      clock,
      level: 'info',
      secrets: [],
      write: (line) => events.push(JSON.parse(line)),
    });
    const { script: _script, ...given } = options;
    const manager = createServiceManager({
      notifySocket: '/run/systemd/notify',
      watchdogMs: null,
      path: folder,
      clock,
      logger,
      isAlive: () => true,
      ...given,
    });
    await test(manager, {
      calls: async () => (await readFile(join(folder, 'calls'), 'utf8').catch(() => '')).replaceAll('\n', '|'),
      events,
      slept,
      tick: async () => {
        wake?.();
        await new Promise(setImmediate);
      },
    });
    await manager[Symbol.asyncDispose]();
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the service manager', () => {
  it('gets in order: the agent is ready, what it does, that it stops', async () => {
    await withManager({ script: recorder }, async (manager, { calls, events }) => {
      manager.ready('up');
      manager.status('installing 1.2.0');
      manager.stopping();
      await manager[Symbol.asyncDispose]();
      const socket = '/run/systemd/notify';
      assert.equal(
        await calls(),
        `${socket}|READY=1|STATUS=up|${socket}|STATUS=installing 1.2.0|${socket}|STOPPING=1|`,
      );
      assert.deepEqual(events, []);
    });
  });

  it('gets the last of several lines, and no second assignment inside one', async () => {
    await withManager({ script: recorder, notifySocket: '@abstract' }, async (manager, { calls }) => {
      manager.status('first');
      manager.status('second');
      manager.status('third\nWATCHDOG=trigger');
      await manager[Symbol.asyncDispose]();
      assert.equal(await calls(), '@abstract|STATUS=third WATCHDOG=trigger|');
    });
  });

  it('is not looked for where there is none', async () => {
    await withManager({ script: recorder, notifySocket: null, watchdogMs: 1000 }, async (manager, { calls, slept }) => {
      manager.ready('up');
      manager.stopping();
      await manager[Symbol.asyncDispose]();
      assert.equal(await calls(), '');
      assert.deepEqual(slept, []);
    });
  });

  it('gets a keep-alive at half the watchdog time, but only while there is progress', async () => {
    let alive = true;
    const options = { script: recorder, watchdogMs: 120_000, isAlive: () => alive };
    await withManager(options, async (manager, { calls, events, slept, tick }) => {
      manager.ready('up');
      await tick();
      alive = false;
      await tick();
      await tick();
      alive = true;
      await tick();
      await manager[Symbol.asyncDispose]();
      assert.equal((await calls()).split('WATCHDOG=1').length - 1, 2);
      assert.deepEqual(
        slept,
        Array.from({ length: 5 }, () => 60_000),
      );
      assert.deepEqual(
        events.map(({ event, where }) => [event, where]),
        [['unexpected_error', 'watchdog']],
      );
    });
  });

  it('that cannot be reached is logged once and nothing else happens', async () => {
    for (const script of [null, '#!/bin/sh\necho "no such bus" >&2\nexit 1\n']) {
      await withManager({ script }, async (manager, { events }) => {
        manager.ready('up');
        manager.stopping();
        await manager[Symbol.asyncDispose]();
        assert.equal(events.length, 1, JSON.stringify(events));
        assert.match(events[0]?.message ?? '', script === null ? /ENOENT/ : /exit code 1: no such bus/);
      });
    }
  });
});
