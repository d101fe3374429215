import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { WatchdogState } from '@station/agent/wifi/facts';
import { until } from '../../vstation/agent.ts';
import { createStory, type Story } from './story.ts';

// What happens to a station that is in use: its router goes and comes, a cable is plugged in, the agent is killed.

const ssid = 'Home';
const password = 'Right-Horse-7741';
const router = { ssid, security: 'wpa2', password } as const;

let story: Story;
before(async () => {
  story = await createStory();
  await story.home.startRouter(router);
});
after(() => story?.[Symbol.asyncDispose]());

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function killedIn(t: TestContext, state: WatchdogState): Promise<void> {
  const { agent } = story;
  await until(`the state ${state}`, async () => (await agent.wifiStatus()).watchdog.state === state, {
    timeoutMs: 180_000,
    describe: async () => JSON.stringify(await agent.wifiStatus()),
  });
  const before = await agent.pid();
  await agent.kill();
  const killed = await story.now();
  const isSettled = async (): Promise<string | false> => {
    if ((await agent.pid()) === before) return false;
    const { mode, watchdog, connectivity } = await agent.wifiStatus();
    const proxy = await agent.isProxyRunning();
    if (watchdog.state === 'CONNECTED' && connectivity === 'full' && proxy) return mode;
    return watchdog.state === 'HOTSPOT_ACTIVE' && mode === 'hotspot' && !proxy && 'hotspot';
  };
  const { value } = await until('the station to be online or in the hotspot', isSettled, {
    timeoutMs: 150_000,
    describe: async () =>
      `${JSON.stringify(await agent.wifiStatus())}\n${await story.machine.journal({ unit: 'station-agent' })}`,
  });
  t.diagnostic(`killed in ${state} → ${value}: ${seconds((await story.now()) - killed)}`);
}

test('killed while it looks around for the first time, and in the hotspot', async (t) => {
  await story.agent.start();
  await killedIn(t, 'CHECK');
  await killedIn(t, 'HOTSPOT_ACTIVE');
});

test('a cable is plugged in: the hotspot goes, and none is opened, nor after a restart; it is pulled out: hotspot', async (t) => {
  const { agent, ethernet } = story;
  await agent.start();
  await story.hotspotUp();
  await ethernet.plug();
  const plugged = await story.now();
  const isWired = async (): Promise<boolean> => {
    const { mode, hotspot, watchdog, connectivity } = await agent.wifiStatus();
    const isCalm = watchdog.state === 'CONNECTED' && !hotspot.active && connectivity === 'full';
    return isCalm && mode === 'ethernet' && (await agent.isProxyRunning());
  };
  await until('the cable to be used', isWired, { timeoutMs: 120_000, describe: () => story.machine.journal() });
  const wired = await story.now();
  t.diagnostic(`cable plugged in → online, hotspot gone, proxy back: ${seconds(wired - plugged)}`);
  await killedIn(t, 'CONNECTED');
  assert.equal(await isWired(), true);
  const events = (await agent.events()).filter((line) => Date.parse(line.time) >= wired);
  assert.deepEqual(
    events.filter(({ event }) => event === 'hotspot_started'),
    [],
  );
  await ethernet.unplug();
  t.diagnostic(`cable pulled out → hotspot: ${seconds(await story.hotspotUp())}`);
});

test('killed while it tries the network of the form', async (t) => {
  await story.hotspotUp();
  await story.pageOnPhone();
  assert.equal((await story.submit({ ssid, password })).status, 200);
  await killedIn(t, 'JOINING');
});

test('joined', async () => {
  const { agent, phone } = story;
  if ((await agent.wifiStatus()).watchdog.state === 'HOTSPOT_ACTIVE') {
    await story.hotspotUp();
    await story.pageOnPhone();
    assert.equal((await story.submit({ ssid, password })).status, 200);
  }
  await story.online(ssid);
  await phone.leave();
});

test('the router goes: hotspot; it comes back: online again by itself, with the same profile', async (t) => {
  const { home, agent } = story;
  const before = await story.profiles();
  await home.stopRouter();
  const off = await story.now();
  await killedIn(t, 'RETRYING');
  await story.hotspotUp(240_000);
  t.diagnostic(`router off → hotspot (killed once on the way): ${seconds((await story.now()) - off)}`);
  assert.equal(await agent.isProxyRunning(), false);
  await home.startRouter(router);
  const on = await story.now();
  await story.online(ssid, 240_000);
  t.diagnostic(`router on → online, proxy back: ${seconds((await story.now()) - on)}`);
  assert.deepEqual(await story.profiles(), before);
});
