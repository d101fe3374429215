import assert from 'node:assert/strict';
import { type TestContext, before, describe, test } from 'node:test';
import type { WatchdogState } from '@station/agent/wifi/wifi-facts';
import { until } from '../../vstation/agent.ts';
import { internetAddress } from '../../vstation/home.ts';
import type { Machine } from '../../vstation/machine.ts';
import { browser, createStory, hexOf, portalUrl, stationCode, type Story } from './story.ts';

// What happens to a station that is in use: its router goes and comes, a cable is plugged in, the agent is killed.

const ssid = 'Home';
const password = 'Right-Horse-7741';
const router = { ssid, security: 'wpa2', password } as const;

const watching = '/run/vstation/watching-the-bus';

/**
 * Stops the agent as NetworkManager begins to join: by its signal (state 40, "prepare"), because asking again and again can be
 * slower than the whole join. The file `watching` is there once no signal is missed.
 */
const pauseWhenJoining = (machine: Machine): Promise<string> =>
  machine.must(
    `rm -f ${watching}
    pid=$(systemctl show -P MainPID station-agent)
    path=$(nmcli -g GENERAL.DBUS-PATH device show wlan0)
    while read -r line; do
      case $line in
        *member=NameLost*) touch ${watching} ;;
        'uint32 40') kill -STOP "$pid" && break ;;
      esac
    done < <(exec dbus-monitor --system "type='signal',interface='org.freedesktop.NetworkManager.Device',member='StateChanged',path='$path'")
    kill $!`,
    { timeoutMs: 90_000 },
  );

let story: Story;
describe('a station in use', () => {
  before(async () => {
    story = await createStory();
    await story.home.startRouter(router);
  });

  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

  async function killedIn(t: TestContext, state: WatchdogState): Promise<void> {
    const { agent } = story;
    await until(`the state ${state}`, async () => (await agent.wifiStatus()).watchdog.state === state, {
      timeoutMs: 180_000,
      pauseMs: 100,
      describe: async () => JSON.stringify(await agent.wifiStatus()),
    });
    await killed(t, state);
  }

  /** Kills the agent, runs a command, and follows what becomes of the station. */
  async function killed(t: TestContext, when: string, then = ''): Promise<void> {
    const { agent } = story;
    const before = await agent.pid();
    await agent.kill();
    await story.machine.must(then);
    const killedMs = await story.now();
    let isAnother = false;
    const isSettled = async (): Promise<string | false> => {
      // The system manager is asked only until the agent is another one: every question takes time from the emulated processor.
      isAnother ||= (await agent.pid()) !== before;
      if (!isAnother) return false;
      const { mode, watchdog, connectivity } = await agent.wifiStatus();
      if (watchdog.state === 'CONNECTED' && connectivity === 'full') return (await agent.isProxyRunning()) && mode;
      return watchdog.state === 'HOTSPOT_ACTIVE' && mode === 'hotspot' && !(await agent.isProxyRunning()) && 'hotspot';
    };
    const { value } = await until('the station to be online or in the hotspot', isSettled, {
      timeoutMs: 150_000,
      describe: async () =>
        `${JSON.stringify(await agent.wifiStatus())}\n${await story.machine.journal({ unit: 'station-agent' })}`,
    });
    t.diagnostic(`killed in ${when} → ${value}: ${seconds((await story.now()) - killedMs)}`);
  }

  const joinFromApp = (name: string, key: string): Promise<number> =>
    story.agent.joinFromApp({ ssid: hexOf(name), security: null, password: key, isHidden: false });

  test('killed before it has seen anything, while it looks around for the first time, and in the hotspot', async (t) => {
    const { agent, machine } = story;
    // A network manager that does not answer keeps the agent where it begins.
    await machine.must('systemctl kill -s STOP NetworkManager');
    await agent.start();
    // In INIT; before a radio is known the state is DISABLED (WIFI_WATCHDOG=auto).
    assert.equal((await agent.wifiStatus()).watchdog.state, 'DISABLED');
    await killed(t, 'INIT', 'systemctl kill -s CONT NetworkManager');
    await agent.stop();
    await agent.start();
    await killedIn(t, 'CHECK');
    await killedIn(t, 'HOTSPOT_ACTIVE');
  });

  test('a cable is plugged in: the hotspot goes, and none is opened, nor after a restart; it is pulled out: hotspot', async (t) => {
    const { agent, ethernet, machine, phone } = story;
    await agent.start();
    await story.hotspotUp();
    await story.pageOnPhone();
    await ethernet.plug();
    await t.test('a phone that uses the page keeps the hotspot, and gets nowhere through it', async () => {
      const inHouse = `http://${internetAddress}/`;
      const isReached = async (): Promise<boolean> => (await machine.run(`curl -s -m 5 ${inHouse}`)).code === 0;
      await until('the station to reach the internet', isReached, {
        timeoutMs: 60_000,
        describe: () => machine.journal(),
      });
      assert.notEqual((await phone.fetch(inHouse)).curlCode, 0);
      assert.equal(await machine.must('cat /proc/sys/net/ipv4/conf/wlan0/forwarding'), '0');
      assert.equal((await phone.fetch(portalUrl, { headers: browser })).status, 200);
      assert.equal((await agent.wifiStatus()).watchdog.state, 'HOTSPOT_ACTIVE');
    });
    await phone.leave();
    const plugged = await story.now();
    const isWired = async (): Promise<boolean> => {
      const { mode, hotspot, watchdog, connectivity } = await agent.wifiStatus();
      const isCalm = watchdog.state === 'CONNECTED' && !hotspot.active && connectivity === 'full';
      return isCalm && mode === 'ethernet' && (await agent.isProxyRunning());
    };
    await until('the cable to be used', isWired, { timeoutMs: 120_000, describe: () => story.machine.journal() });
    const wired = await story.now();
    t.diagnostic(`phone gone, cable in → online, hotspot gone, proxy back: ${seconds(wired - plugged)}`);
    await killedIn(t, 'CONNECTED');
    assert.equal(await isWired(), true);
    const opened = (await agent.events(wired)).filter(({ event }) => event === 'hotspot_started');
    assert.deepEqual(opened, []);
    await ethernet.unplug();
    t.diagnostic(`cable pulled out → hotspot: ${seconds(await story.hotspotUp())}`);
  });

  test('killed while it tries the network of the form', async (t) => {
    await story.hotspotUp();
    await story.pageOnPhone();
    assert.equal((await story.submit({ ssid, password, code: stationCode })).status, 200);
    await killedIn(t, 'JOINING');
  });

  test('killed when the network is joined and not on disk yet: it is kept, and the backend learns of it', async (t) => {
    const { agent, machine, phone } = story;
    await phone.leave();
    await agent.stop();
    await story.forgetNetworks();
    await agent.start();
    await story.hotspotUp();
    await story.pageOnPhone();
    const sent = await story.now();
    const paused = pauseWhenJoining(machine);
    await until('the bus to be watched', async () => (await machine.run(`[ -e ${watching} ]`)).code === 0, {
      timeoutMs: 30_000,
      describe: () => machine.journal(),
    });
    assert.equal((await story.submit({ ssid, password, code: stationCode })).status, 200);
    await paused;
    const isJoined = async (): Promise<boolean> =>
      (await machine.must('nmcli -g GENERAL.STATE device show wlan0')).startsWith('100 ');
    await until('NetworkManager to have joined', isJoined, { timeoutMs: 60_000, describe: () => machine.journal() });
    assert.deepEqual(await story.profiles(), [], 'nothing is on disk yet');
    await killed(t, 'JOINING, joined');
    await story.online(ssid);
    assert.equal((await story.profiles()).length, 1);
    await story.event('credentials_forwarded', sent);
    assert.match(JSON.stringify((await agent.credentials()).at(-1)), new RegExp(`"${ssid}".*"${password}"`));
    await phone.leave();
  });

  test('hotspot when the router goes off; online automatically, with the same profile, when it is back', async (t) => {
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

  test('a join from the web app: a wrong password leads back to the network of before, with the reason', async (t) => {
    const { agent } = story;
    const before = await story.profiles();
    const isSeen = async (): Promise<boolean> => (await agent.network()).networks.some(({ name }) => name === ssid);
    await until('the network to be in the list', isSeen, {
      timeoutMs: 60_000,
      describe: () => story.machine.journal(),
    });
    assert.equal((await agent.network()).blocker, null);
    const sent = await story.now();
    assert.equal(await joinFromApp(ssid, 'Wrong-Horse-3359'), 202);
    const failed = await story.event('wifi_join_failed', sent);
    assert.equal(failed['failure'], 'wrong_password');
    await story.online(ssid);
    t.diagnostic(`wrong password from the app → online again: ${seconds((await story.now()) - sent)}`);
    assert.deepEqual(await story.profiles(), before);
    const { lastJoin, joining } = await agent.network();
    assert.deepEqual([lastJoin?.name, lastJoin?.failure, joining], [ssid, 'wrong_password', null]);
  });

  test('a new router: on the cable, a join from the web app brings the station into its network, without the cable too', async (t) => {
    const { agent, ethernet, home, machine } = story;
    const next = { ssid: 'Next', security: 'wpa2', password: 'Other-Horse-1184' } as const;
    await ethernet.plug();
    await home.startRouter(next);
    const isWired = async (): Promise<boolean> => {
      const { mode, watchdog, connectivity } = await agent.wifiStatus();
      return mode === 'ethernet' && watchdog.state === 'CONNECTED' && connectivity === 'full';
    };
    await until('the cable to be used', isWired, { timeoutMs: 120_000, describe: () => machine.journal() });
    const sent = await story.now();
    assert.equal(await joinFromApp(next.ssid, next.password), 202);
    const joined = await story.event('wifi_joined', sent);
    t.diagnostic(`join from the app → joined: ${seconds(Date.parse(joined.time) - sent)}`);
    const { lastJoin } = await agent.network();
    assert.deepEqual([lastJoin?.name, lastJoin?.failure], [next.ssid, null]);
    await ethernet.unplug();
    await story.online(next.ssid);
    assert.equal((await home.stations()).length, 1);
    assert.equal((await story.profiles()).length, 2, 'both networks are kept');
  });
});
