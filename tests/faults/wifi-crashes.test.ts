import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeSsid, ssidFromText } from '@station/agent/core/wifi-network';
import { change, advance } from '@station/simulators/wifi/air';
import { extent } from '../rig/extent.ts';
import { pass } from './virtual-clock.ts';
import { runWifi, type WifiRunOptions, type WorldEvent } from './wifi-run.ts';
import { judgeEnd } from './wifi-schedules.ts';
import {
  createWifiWorld,
  cutWifiPower,
  endProcess,
  passwordOf,
  profile,
  readJson,
  router,
  type WifiWorld,
} from './wifi-world.ts';

const minute = 60_000;

type Scenario = { name: string; world: () => WifiWorld; events: (startMs: number) => WorldEvent[]; forMs: number };

const joinAt = (atMs: number, name: string, password: string | null): WorldEvent[] => [
  { atMs: atMs - 10_000, name: 'views the page', apply: ({ portal }) => portal?.seen() },
  {
    atMs,
    name: 'asks',
    apply: ({ portal }) => {
      portal?.join({ ssid: ssidFromText(name), security: 'wpa2', password, isHidden: false });
    },
  },
];

const switchRouter =
  (name: string, isOn: boolean): WorldEvent['apply'] =>
  ({ air, time }) => {
    for (const each of air.routers) if (each.ssid === ssidFromText(name)) each.isOn = isOn;
    change(air, {});
    advance(air, time.monotonicMs);
  };

const scenarios: Scenario[] = [
  {
    name: 'a first boot, and a phone with the right password',
    world: () => createWifiWorld([router('home')], []),
    events: (startMs) => joinAt(startMs + minute, 'home', passwordOf('home')),
    forMs: 2 * minute,
  },
  {
    name: 'a wrong password beside an older profile',
    world: () => createWifiWorld([router('home'), router('cellar', { isOn: false })], [profile('cellar')]),
    events: (startMs) => joinAt(startMs + 4 * minute, 'home', 'secret-but-wrong'),
    forMs: 6 * minute,
  },
  {
    name: 'a router that goes offline and returns',
    world: () => createWifiWorld([router('home')], [profile('home')]),
    events: (startMs) => [
      { atMs: startMs + minute, name: 'off', apply: switchRouter('home', false) },
      { atMs: startMs + 6 * minute, name: 'on', apply: switchRouter('home', true) },
    ],
    forMs: 8 * minute,
  },
];

/** One point in so many is tried. */
const every = extent(3, 1);

/** Ends the agent at the points of a scenario in one way, and checks the result of the next process after a minute. */
async function endEverywhere(
  scenario: Scenario,
  options: { power: boolean; afterMs: number; wrap?: (world: WifiWorld) => void; every?: number },
): Promise<{ tried: number; faults: string[] }> {
  const faults: string[] = [];
  let tried = 0;
  for (let endAt = 1; ; endAt += options.every ?? every) {
    const world = scenario.world();
    const startMs = world.time.monotonicMs;
    const run: WifiRunOptions = {
      untilMs: startMs + scenario.forMs,
      end: 'cut',
      events: scenario.events(startMs),
      endAt,
    };
    const { outcome } = await runWifi(world, run);
    if (outcome !== 'ended') break;
    tried += 1;
    if (options.power) cutWifiPower(world, endAt % 7);
    else pass(world.time, 1000);
    options.wrap?.(world);
    // Without the state of the earlier process, the next one assumes a boot, which waits longer.
    const afterMs = readJson(world, 'wifi.json') === null ? 3 * minute : options.afterMs;
    const next = await runWifi(world, { untilMs: world.time.monotonicMs + afterMs, end: 'cut' });
    for (const fault of judgeEnd(world, next)) faults.push(`${endAt}: ${fault}`);
    const kept = world.air.profiles.filter(({ owner, isSaved }) => owner !== null && isSaved);
    // A power cut loses a network in memory, but the credentials file was written first.
    const unknownToBackend = kept.filter(({ ssid }) => !world.forwarded.includes(describeSsid(ssid)));
    if (unknownToBackend.length > 0)
      faults.push(`${endAt}: the backend does not know ${unknownToBackend.length} networks`);
    if (world.longestStrayPortalMs > 0) faults.push(`${endAt}: the page was open without a hotspot`);
  }
  return { tried, faults };
}

describe('an agent that is killed at any point', () => {
  for (const scenario of scenarios) {
    test(`is online with the proxy or in the hotspot without it after a minute: ${scenario.name}`, async () => {
      const { tried, faults } = await endEverywhere(scenario, { power: false, afterMs: minute });
      assert.ok(tried > 40 / every, `${tried}`);
      assert.deepEqual(faults, []);
    });

    test(`after a power cut within three: ${scenario.name}`, async () => {
      const { tried, faults } = await endEverywhere(scenario, { power: true, afterMs: 3 * minute });
      assert.ok(tried > 40 / every, `${tried}`);
      assert.deepEqual(faults, []);
    });
  }

  test('is detected when it does not start the proxy again', async () => {
    const [scenario] = scenarios as [Scenario];
    const forget = (world: WifiWorld): void => {
      world.disk.names.delete('/data/wifi.json');
      world.hasEngine = false;
    };
    const { faults } = await endEverywhere(scenario, { power: false, afterMs: minute, wrap: forget, every: 10 });
    assert.ok(faults.some((fault) => fault.includes('the proxy')));
  });
});

type LoggedEvent = { time: string; event: string; [field: string]: unknown };
const eventsOf = (lines: readonly string[]): LoggedEvent[] => lines.map((line) => JSON.parse(line) as LoggedEvent);

describe('a dead gateway', () => {
  const world = (): WifiWorld =>
    createWifiWorld(
      [router('strong', { signal: 80 }), router('weak', { signal: 30 })],
      [profile('strong'), profile('weak')],
    );
  const die =
    (isAlive: boolean): WorldEvent['apply'] =>
    ({ air }) => {
      for (const each of air.routers) if (each.ssid === ssidFromText('strong')) each.answers = isAlive;
      change(air, {});
    };
  const inUse = ({ air }: WifiWorld): string | undefined => air.profiles.find(({ id }) => id === air.active)?.ssid;

  test('is left for another known network without a hotspot in between', async () => {
    const home = world();
    const startMs = home.time.monotonicMs;
    const events = [{ atMs: startMs + minute, name: 'dies', apply: die(false) }];
    const run = await runWifi(home, { untilMs: startMs + 4 * minute, end: 'cut', events });
    assert.deepEqual(judgeEnd(home, run), []);
    assert.equal(inUse(home), ssidFromText('weak'));
    assert.ok(!eventsOf(run.lines).some(({ event }) => event === 'hotspot_started'));
  });

  test('leaves the hotspot when another known network appears', async () => {
    const home = world();
    const startMs = home.time.monotonicMs;
    die(false)(home);
    switchRouter('weak', false)(home);
    const events = [{ atMs: startMs + 6 * minute, name: 'comes', apply: switchRouter('weak', true) }];
    const run = await runWifi(home, { untilMs: startMs + 8 * minute, end: 'cut', events });
    assert.ok(eventsOf(run.lines).some(({ event }) => event === 'hotspot_started'));
    assert.deepEqual(judgeEnd(home, run), []);
    assert.equal(inUse(home), ssidFromText('weak'));
  });
});

describe('a known network that refuses the station', () => {
  for (const [name, changes] of [
    ['its password was changed', { password: 'another one' }],
    ['its gateway does not answer', { answers: false }],
    ['it gives no addresses', { givesAddresses: false }],
  ] as const)
    test(`leaves the hotspot alone for a minute, then longer: ${name}`, async () => {
      const world = createWifiWorld([router('home', changes)], [profile('home')]);
      const run = await runWifi(world, { untilMs: world.time.monotonicMs + 60 * minute, end: 'cut' });
      const lengths: number[] = [];
      let since = 0;
      for (const { event, time } of eventsOf(run.lines)) {
        if (event === 'hotspot_started') since = Date.parse(time);
        if (event === 'hotspot_stopped') lengths.push(Date.parse(time) - since);
      }
      assert.ok(lengths.length >= 4, `${lengths.length}`);
      // A scan may be running at that time.
      assert.ok(
        lengths.every((length, index) => length > Math.min(2 ** index, 15) * minute - 25_000),
        String(lengths),
      );
    });
});

describe('times, in the simulated home', () => {
  test('joins a returned known network from the hotspot within 90 s', async () => {
    for (let shiftMs = 0; shiftMs < 60_000; shiftMs += 2500) {
      const world = createWifiWorld([router('home', { isOn: false })], [profile('home')]);
      const backMs = world.time.monotonicMs + 5 * minute + shiftMs;
      const events: WorldEvent[] = [{ atMs: backMs, name: 'on', apply: switchRouter('home', true) }];
      const run = await runWifi(world, { untilMs: backMs + 90_000, end: 'cut', events });
      assert.ok(eventsOf(run.lines).some(({ event }) => event === 'hotspot_started'));
      assert.deepEqual(judgeEnd(world, run), [], `${shiftMs}`);
    }
  });

  test('opens the hotspot and its page within half a minute at a first boot without any network', async () => {
    const world = createWifiWorld([], []);
    const run = await runWifi(world, { untilMs: world.time.monotonicMs + 30_000, end: 'cut' });
    assert.deepEqual(judgeEnd(world, run), []);
  });

  test('leaves the hotspot when a router that boots slower than the station is ready', async () => {
    const world = createWifiWorld([router('home', { isOn: false })], [profile('home')]);
    const startMs = world.time.monotonicMs;
    const events: WorldEvent[] = [{ atMs: startMs + 3 * minute, name: 'on', apply: switchRouter('home', true) }];
    const { lines, status } = await runWifi(world, { untilMs: startMs + 5 * minute, end: 'cut', events });
    const states = eventsOf(lines).filter(({ event }) => event === 'wifi_state');
    assert.deepEqual(
      states.map(({ to }) => to),
      ['CHECK', 'RETRYING', 'HOTSPOT_ACTIVE', 'JOINING', 'CONNECTED'],
    );
    assert.equal(eventsOf(lines).filter(({ event }) => event === 'wifi_attempt').length, 4);
    assert.equal(status.mode, 'client');
  });

  test('does not report a failure again after the station was online', async () => {
    const world = createWifiWorld([router('home')], []);
    const startMs = world.time.monotonicMs;
    const cable = { ip: '10.9.0.2', gateway: '10.9.0.1' };
    const views: unknown[] = [];
    const look = (atMs: number): WorldEvent => ({
      atMs,
      name: 'views the page',
      apply: ({ portal }) => views.push(portal?.view().lastJoin?.failure ?? null),
    });
    const events: WorldEvent[] = [
      ...joinAt(startMs + minute, 'home', 'secret-but-wrong'),
      look(startMs + 2 * minute),
      { atMs: startMs + 20 * minute, name: 'in', apply: ({ air }) => change(air, { cable }) },
      { atMs: startMs + 40 * minute, name: 'out', apply: ({ air }) => change(air, { cable: null }) },
      look(startMs + 50 * minute),
    ];
    await runWifi(world, { untilMs: startMs + 60 * minute, end: 'cut', events });
    assert.deepEqual(views, ['wrong_password', null]);
  });

  test('a wrong password: reports it and reopens the hotspot at once with the name', async () => {
    const world = createWifiWorld([router('home')], []);
    const startMs = world.time.monotonicMs;
    let view: unknown = null;
    const events = [
      ...joinAt(startMs + minute, 'home', 'secret-but-wrong'),
      {
        atMs: startMs + minute + 25_000,
        name: 'views the page again',
        apply: ({ portal }: WifiWorld) => (view = portal?.view().lastJoin),
      },
    ];
    const { lines, status } = await runWifi(world, { untilMs: startMs + 2 * minute, end: 'cut', events });
    const failed = { ssid: ssidFromText('home'), isHidden: false, security: 'wpa2', failure: 'wrong_password' };
    assert.deepEqual(view, failed);
    assert.equal(status.watchdog.lastFailure, 'wrong_password');
    assert.ok(!lines.join('').includes('secret-but-wrong'));
  });
});

test('reopens the hotspot after a failed join despite a connected cable, and closes it when nobody uses it', async () => {
  const world = createWifiWorld([router('home')], []);
  const startMs = world.time.monotonicMs;
  const joinMs = startMs + minute;
  const seen: unknown[] = [];
  const look = ({ air, portal }: WifiWorld): void =>
    void seen.push([air.hotspot !== null, portal?.view().lastJoin?.failure]);
  const cable = { ip: '10.9.0.2', gateway: '10.9.0.1' };
  const events: WorldEvent[] = [
    ...joinAt(joinMs, 'home', 'secret-but-wrong'),
    { atMs: joinMs - 5000, name: 'cable in', apply: ({ air }) => change(air, { cable, phones: 1 }) },
    { atMs: joinMs + 25_000, name: 'views the page again', apply: look },
  ];
  const run = await runWifi(world, { untilMs: joinMs + 3 * minute, end: 'cut', events });
  assert.deepEqual(seen, [[true, 'wrong_password']]);
  assert.deepEqual(judgeEnd(world, run), []);
});

test('closes the hotspot and starts the proxy when the agent stops', async () => {
  const world = createWifiWorld([router('home')], []);
  const startMs = world.time.monotonicMs;
  for (let ms = 1000; ms < 40_000; ms += 1700) {
    const run = await runWifi(world, { untilMs: world.time.monotonicMs + ms, end: 'stop' });
    assert.equal(run.outcome, 'stopped');
    assert.equal(run.surprise, null);
    assert.deepEqual([world.air.hotspot, world.isProxyRunning, world.portal], [null, true, null], `${ms}`);
    endProcess(world);
  }
  assert.ok(world.time.monotonicMs > startMs);
});
