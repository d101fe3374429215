import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ssidFromText } from '@station/agent/core/wifi-network';
import type { NetworkView } from '@station/agent/core/network-port';
import { runWifi, type WifiRunResult, type WorldEvent } from './wifi-run.ts';
import { judgeEnd } from './wifi-schedules.ts';
import { activate, createWifiWorld, passwordOf, profile, router, type WifiWorld } from './wifi-world.ts';

const minute = 60_000;

/** What a person in the web app is answered, and sees later. */
type Seen = { answer: string | null; during: NetworkView | null; after: NetworkView | null };

type Choice = { name: string; password?: string | null; cable?: boolean; prepare?: (world: WifiWorld) => void };

/** A station in the network `home`, whose owner chooses another one after three minutes. */
async function joinFromApp({ name, password = passwordOf(name), cable = false, prepare }: Choice) {
  const world = createWifiWorld(
    [router('home'), router('other'), router('dead', { answers: false })],
    [profile('home')],
  );
  if (cable) world.air.cable = { ip: '10.9.0.2', gateway: '10.9.0.1' };
  activate(world, ssidFromText('home'));
  prepare?.(world);
  const startMs = world.time.monotonicMs;
  const seen: Seen = { answer: null, during: null, after: null };
  const at = (minutes: number, what: string, apply: WorldEvent['apply']): WorldEvent => ({
    atMs: startMs + minutes * minute,
    name: what,
    apply,
  });
  const run = await runWifi(world, {
    untilMs: startMs + 8 * minute,
    end: 'cut',
    events: [
      at(2, 'scan', ({ network }) => void network?.rescan()),
      at(3, 'join', ({ network }) => {
        const request = { ssid: ssidFromText(name), security: null, password, isHidden: false };
        seen.answer = network?.join(request) ?? null;
      }),
      at(3.05, 'look', ({ network }) => (seen.during = network?.view() ?? null)),
      at(7, 'look again', ({ network }) => (seen.after = network?.view() ?? null)),
    ],
  });
  return { world, run, seen };
}

const names = (run: WifiRunResult): string[] =>
  run.lines.map((line) => String((JSON.parse(line) as { event: string }).event));
const outcomeOf = ({ after }: Seen) => after?.lastJoin && [after.lastJoin.name, after.lastJoin.failure];

test('a join from the web app moves the station, without the hotspot', async () => {
  const { world, run, seen } = await joinFromApp({ name: 'other' });
  assert.equal(seen.answer, 'accepted');
  assert.equal(seen.during?.joining, 'other');
  assert.equal(seen.during?.blocker, 'joining');
  assert.deepEqual(seen.after?.networks.map((network) => network.name).sort(), ['dead', 'home', 'other']);
  assert.deepEqual(outcomeOf(seen), ['other', null]);
  assert.deepEqual([run.status.ssid, run.status.watchdog.state], ['other', 'CONNECTED']);
  assert.ok(!names(run).includes('hotspot_started'));
  assert.ok(world.isProxyRunning);
  assert.deepEqual(judgeEnd(world, run), []);
});

for (const [what, choice, failure] of [
  ['with a wrong password', { name: 'other', password: 'not the right one' }, 'wrong_password'],
  ['that is not there', { name: 'nowhere' }, 'not_found'],
  ['behind which nothing answers', { name: 'dead' }, 'no_gateway'],
] as const) {
  test(`a network ${what} leads back to the one before, without the hotspot`, async () => {
    const { world, run, seen } = await joinFromApp(choice);
    assert.deepEqual(outcomeOf(seen), [choice.name, failure]);
    assert.deepEqual([run.status.ssid, run.status.watchdog.state], ['home', 'CONNECTED']);
    assert.ok(!names(run).includes('hotspot_started'));
    assert.deepEqual(
      world.air.profiles.map(({ ssid }) => ssid),
      [ssidFromText('home')],
    );
    assert.deepEqual(judgeEnd(world, run), []);
  });
}

test('when the network before is gone, too, the hotspot opens', async () => {
  const { run, seen } = await joinFromApp({
    name: 'other',
    password: 'not the right one',
    prepare: ({ air }) => {
      // It stays as long as the station is in it, and does not take it back.
      for (const each of air.profiles) each.password = 'changed';
    },
  });
  assert.deepEqual(outcomeOf(seen), ['other', 'wrong_password']);
  assert.ok(names(run).includes('hotspot_started'));
});

test('with a cable a failed join changes nothing, and a good one is kept beside it', async () => {
  const failed = await joinFromApp({ name: 'other', password: 'not the right one', cable: true });
  assert.deepEqual(outcomeOf(failed.seen), ['other', 'wrong_password']);
  assert.deepEqual([failed.run.status.mode, failed.run.status.watchdog.state], ['ethernet', 'CONNECTED']);
  assert.ok(!names(failed.run).includes('hotspot_started'));
  const joined = await joinFromApp({ name: 'other', cable: true });
  assert.deepEqual(outcomeOf(joined.seen), ['other', null]);
  assert.deepEqual([joined.run.status.mode, joined.run.status.ssid], ['ethernet', 'other']);
});

test('in the hotspot, and without a radio, the web app is refused', async () => {
  const hotspot = await joinFromApp({ name: 'other', prepare: ({ air }) => (air.profiles = []) });
  assert.deepEqual([hotspot.seen.answer, hotspot.run.status.mode], ['hotspot', 'hotspot']);
  const bare = await joinFromApp({ name: 'other', cable: true, prepare: ({ air }) => (air.hasRadio = false) });
  assert.equal(bare.seen.answer, 'no_radio');
});

test('no password of a join is in the log', async () => {
  const { run } = await joinFromApp({ name: 'other', password: 'Not-In-The-Log' });
  assert.ok(!run.lines.some((line) => line.includes('Not-In-The-Log')));
});
