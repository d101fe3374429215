import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { change, advance } from '@station/simulators/wifi/air';
import { runWifi, type WorldEvent } from './wifi-run.ts';
import { judgeEnd } from './wifi-schedules.ts';
import { createWifiWorld, passwordOf, router } from './wifi-world.ts';

const minute = 60_000;

const switchRouters =
  (isOn: boolean): WorldEvent['apply'] =>
  ({ air, time }) => {
    for (const each of air.routers) each.isOn = isOn;
    change(air, {});
    advance(air, time.monotonicMs);
  };

/** Joins a network from the page; its router is off for some minutes, and the disk is full until then. */
async function joinUnwritten(writableMs: number) {
  const world = createWifiWorld([router('home')], []);
  const startMs = world.time.monotonicMs;
  const request = {
    ssid: ssidFromText('home'),
    security: 'wpa2',
    password: passwordOf('home'),
    isHidden: false,
  } as const;
  const run = await runWifi(world, {
    untilMs: startMs + 40 * minute,
    end: 'cut',
    fault: (call) => call === 'radio.keepCandidate' && world.time.monotonicMs < startMs + writableMs,
    events: [
      { atMs: startMs + minute, name: 'asks', apply: ({ portal }) => void portal?.join(request) },
      { atMs: startMs + 10 * minute, name: 'off', apply: switchRouters(false) },
      { atMs: startMs + 16 * minute, name: 'on', apply: switchRouters(true) },
    ],
  });
  return { world, run };
}

test('rejoins a network that could not be written after its router was off, and raises a condition', async () => {
  const { world, run } = await joinUnwritten(Infinity);
  assert.ok(run.lines.some((line) => line.includes('"hotspot_started"') && line.includes('Station')));
  assert.equal(run.status.watchdog.state, 'CONNECTED');
  assert.equal(world.air.profiles.find(({ id }) => id === world.air.active)?.ssid, ssidFromText('home'));
  assert.ok(run.conditions.includes('wifi_not_kept'), String(run.conditions));
});

test('writes the network as soon as possible and clears the condition', async () => {
  const { world, run } = await joinUnwritten(20 * minute);
  assert.deepEqual(
    world.air.profiles.map(({ isSaved }) => isSaved),
    [true],
  );
  assert.deepEqual(judgeEnd(world, run), []);
});
