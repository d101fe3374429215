import { events } from '@station/protocol/events';
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createAgentConditions } from '@station/kit/conditions';
import { createCredentialsForwarder } from '@station/agent/wifi/credentials-forwarder';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { systemClock } from '@station/kit/clock';
import { nodeDisk, type Disk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { pass } from './virtual-clock.ts';
import { runWifi, type WifiRunResult, type WorldEvent } from './wifi-run.ts';
import { createWifiWorld, endProcess, passwordOf, readJson, router, type WifiWorld } from './wifi-world.ts';

const minute = 60_000;
const file = 'wifi-credentials.json';

/** Joins from the portal after a minute and runs for the given time. */
function runJoin(world: WifiWorld, forMs: number, more: WorldEvent[] = []): Promise<WifiRunResult> {
  const startMs = world.time.monotonicMs;
  const join: WorldEvent = {
    atMs: startMs + minute,
    name: 'asks',
    apply: ({ portal, air: { routers } }) => {
      const [home] = routers;
      if (!home) throw new Error('there is no router');
      portal?.join({ ssid: home.ssid, security: null, password: home.password, isHidden: false });
    },
  };
  return runWifi(world, { untilMs: startMs + forMs, end: 'cut', events: [join, ...more] });
}

const countOf = (run: WifiRunResult, event: string): number =>
  run.lines.filter((line) => line.includes(`"event":"${event}"`)).length;

describe('credentials of a joined network', () => {
  test('go to the backend and are deleted afterwards', async () => {
    const world = createWifiWorld([router('home')], []);
    const run = await runJoin(world, 2 * minute);
    assert.deepEqual(world.forwarded, ['home']);
    assert.equal(readJson(world, file), null);
    assert.equal(countOf(run, 'credentials_forwarded'), 1);
  });

  test('wait on disk for an offline backend, also for the next process, with a condition', async () => {
    const world = createWifiWorld([router('home')], []);
    world.backend = 'offline';
    const run = await runJoin(world, 30 * minute);
    assert.ok(run.conditions.includes('wifi_credentials_not_forwarded'));
    assert.ok(countOf(run, 'credentials_forward_failed') > 3 && countOf(run, 'credentials_forward_failed') < 20);
    assert.deepEqual(readJson(world, file), {
      ssid: ssidFromText('home'),
      password: passwordOf('home'),
      security: 'wpa2',
    });
    endProcess(world);
    pass(world.time, 5000);
    world.backend = 'accepts';
    const next = await runWifi(world, { untilMs: world.time.monotonicMs + minute, end: 'cut' });
    assert.deepEqual(world.forwarded, ['home']);
    assert.equal(readJson(world, file), null);
    assert.deepEqual(next.conditions, []);
  });

  test('that are refused are not sent again and again, and raise a condition', async () => {
    const world = createWifiWorld([router('home')], []);
    world.backend = 'refuses';
    const run = await runJoin(world, 120 * minute);
    assert.equal(countOf(run, 'credentials_forward_failed'), 1);
    assert.ok(run.conditions.includes('wifi_credentials_not_forwarded'));
  });

  test('of a network whose name is not text are not forwarded, and raise a condition', async () => {
    const world = createWifiWorld([router('home', { ssid: 'ff00' })], []);
    const run = await runJoin(world, 5 * minute);
    assert.equal(run.status.watchdog.state, 'CONNECTED');
    assert.deepEqual(world.forwarded, []);
    assert.ok(run.conditions.includes('wifi_credentials_not_forwarded'));
  });

  test('that arrive while older ones are removed are kept', async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'station-credentials-'));
    t.after(() => rm(dataDir, { recursive: true }));
    const of = (name: string) => ({ ssid: ssidFromText(name), password: `of ${name}`, security: 'wpa2' as const });
    const stopping = new AbortController();
    const newerSent = Promise.withResolvers<void>();
    const saves: Promise<void>[] = [];
    const disk: Disk = {
      ...nodeDisk,
      remove: async (path) => {
        if (path.endsWith(file)) {
          if (saves.length === 0) saves.push(forward.save(of('newer')));
          // Time for a write in the wrong order.
          await systemClock.sleep(20);
        }
        await nodeDisk.remove(path);
      },
    };
    const logger = createLogger({
      catalogue: events,
      clock: systemClock,
      write: () => undefined,
      level: 'debug',
      secrets: [],
    });
    const forward = createCredentialsForwarder({
      disk,
      dataDir,
      logger,
      clock: systemClock,
      random: () => 0.5,
      conditions: createAgentConditions(systemClock, logger),
      backend: {
        send: async ({ ssid }) => {
          if (ssid === 'older') return { kind: 'accepted' };
          newerSent.resolve();
          return { kind: 'failed', reason: 'offline' };
        },
      },
    });
    await forward.save(of('older'));
    const running = forward.run(stopping.signal).catch(() => undefined);
    await newerSent.promise;
    await Promise.all(saves);
    assert.deepEqual(JSON.parse(await readFile(join(dataDir, file), 'utf8')), of('newer'));
    stopping.abort(new Error('over'));
    await running;
  });

  test('reach the backend although the disk is full', async () => {
    const world = createWifiWorld([router('home')], []);
    world.isDiskFull = true;
    const run = await runJoin(world, 3 * minute);
    assert.deepEqual(world.forwarded, ['home']);
    assert.equal(run.status.watchdog.state, 'CONNECTED');
    assert.ok(run.conditions.includes('wifi_state_not_writable'));
  });
});
