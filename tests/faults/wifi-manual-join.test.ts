import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { change, advance, type SimulatedRouter } from '@station/simulators/wifi/air';
import { runWifi, type WorldEvent } from './wifi-run.ts';
import { judgeEnd } from './wifi-schedules.ts';
import { activate, createWifiWorld, passwordOf, profile, router } from './wifi-world.ts';

const minute = 60_000;

const setRouter =
  (changes: Partial<SimulatedRouter>): WorldEvent['apply'] =>
  ({ air, time }) => {
    for (const each of air.routers) Object.assign(each, changes);
    change(air, {});
    advance(air, time.monotonicMs);
  };

const troubles = [
  ['stops answering', { answers: false }, { answers: true }],
  ['is off', { isOn: false }, { isOn: true }],
] as const;

for (const [what, away, back] of troubles) {
  test(`rejoins a manually joined network after its router ${what} for ten minutes`, async () => {
    const home = ssidFromText('home');
    const world = createWifiWorld([router('home')], [profile('home', passwordOf('home'), false)]);
    const startMs = world.time.monotonicMs;
    activate(world, home);
    const run = await runWifi(world, {
      untilMs: startMs + 60 * minute,
      end: 'cut',
      events: [
        { atMs: startMs + 5 * minute, name: 'away', apply: setRouter(away) },
        { atMs: startMs + 15 * minute, name: 'back', apply: setRouter(back) },
      ],
    });
    assert.ok(run.lines.some((line) => line.includes('"hotspot_started"')));
    assert.equal(run.status.ssid, 'home');
    assert.deepEqual(judgeEnd(world, run), []);
  });
}

test('does not join a manual network that nobody has joined since the agent started', async () => {
  const world = createWifiWorld([router('home')], [profile('home', passwordOf('home'), false)]);
  const run = await runWifi(world, { untilMs: world.time.monotonicMs + 30 * minute, end: 'cut' });
  assert.equal(run.status.watchdog.state, 'HOTSPOT_ACTIVE');
});
