import assert from 'node:assert/strict';
import { type TestContext, before, describe, test } from 'node:test';
import { until } from '../../vstation/agent.ts';
import { country, type RouterSettings } from '../../vstation/home.ts';
import { browser, createStory, hexOf, portalUrl, watchForSecrets, type Story } from './story.ts';

// What the owner of a new station sees, with a phone in hand: from the hotspot into each kind of network.

const rightPassword = 'Right-Horse-7741';
const wrongPassword = 'Wrong-Horse-3359';

/** What the form says, and why the station then does not join; an open network has no password. */
type Refusal = { password?: string; failure: string };

let story: Story;
let secrets: Awaited<ReturnType<typeof watchForSecrets>>;
describe('a new station', () => {
  before(async () => {
    story = await createStory({ WIFI_COUNTRY: country });
    secrets = await watchForSecrets(story.machine, [rightPassword, wrongPassword]);
  });

  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

  /** From a station that knows no network to its page on the phone. */
  async function openPage(t: TestContext, router: RouterSettings): Promise<string> {
    const { agent, home } = story;
    await home.startRouter(router);
    const started = performance.now();
    await agent.start();
    await story.hotspotUp();
    t.diagnostic(`start of the agent → hotspot and page: ${seconds(performance.now() - started)}`);
    assert.equal(await agent.isProxyRunning(), false);
    return (await story.pageOnPhone()).body;
  }

  async function backToNew(): Promise<void> {
    await story.phone.leave();
    await story.agent.stop();
    await story.forgetNetworks();
    await story.machine.must('rm -f /var/lib/station-agent/wifi-joined.json');
    await story.home.stopRouter();
  }

  /** Sends the form, by default with a wrong password, and follows the pages of the phone until one shows the reason. */
  async function failToJoin(
    t: TestContext,
    ssid: string,
    { password = '', failure }: Refusal = { password: wrongPassword, failure: 'wrong_password' },
  ): Promise<void> {
    const { agent } = story;
    const before = await story.profiles();
    const sent = await story.now();
    assert.equal((await story.submit({ ssid, password })).status, 200);
    const failed = await story.event('wifi_join_failed', sent);
    assert.equal(failed['failure'], failure);
    const back = await story.event('hotspot_started', Date.parse(failed.time));
    t.diagnostic(`form → verdict ${failure}: ${seconds(Date.parse(failed.time) - sent)}`);
    t.diagnostic(`verdict → hotspot back: ${seconds(Date.parse(back.time) - Date.parse(failed.time))}`);
    await story.hotspotUp();
    assert.equal(await agent.isProxyRunning(), false);
    const page = await story.pageOnPhone();
    assert.match(page.body, /class="fault"/);
    assert.match(page.body, new RegExp(`value="${hexOf(ssid)}[^"]*"[^>]* checked`));
    if (password !== '') assert.ok(!page.body.includes(password));
    assert.deepEqual(
      await story.profiles(),
      before,
      'a failed join leaves every profile as it was, and none of its own',
    );
  }

  async function join(t: TestContext, form: Parameters<Story['submit']>[0]): Promise<void> {
    const sent = await story.now();
    assert.equal((await story.submit(form)).status, 200);
    const joined = await story.event('wifi_joined', sent);
    t.diagnostic(`form → joined: ${seconds(Date.parse(joined.time) - sent)}`);
    await story.online(form.ssid);
    t.diagnostic(`form → online, proxy back: ${seconds((await story.now()) - sent)}`);
    assert.equal((await story.home.stations()).length, 1);
    assert.ok((await story.profiles()).length > 0, 'the network is kept');
  }

  test('a new station: the phone finds the hotspot, its sheet opens, a wrong password is reported, the right one works', async (t) => {
    const { agent, machine, phone } = story;
    const ssid = 'Дім №2';
    // A person's own profile for the same network must stay unchanged.
    await machine.must(
      `nmcli connection add type wifi con-name Old ssid '${ssid}' connection.autoconnect no wifi-sec.key-mgmt wpa-psk wifi-sec.psk 'an older one' >/dev/null`,
    );
    const page = await openPage(t, { ssid, security: 'wpa2', password: rightPassword });
    assert.ok(page.includes(hexOf(ssid)), 'the network is in the list');
    assert.match(page, /name="confirm"/);
    assert.doesNotMatch(page, /name="code"/, 'a new station asks for no code');

    await t.test('every name leads to the page', async () => {
      assert.deepEqual(await phone.dnsLookup('captive.apple.com', 'A'), { addresses: ['192.0.2.1'], problem: null });
      assert.deepEqual((await phone.dnsLookup('captive.apple.com', 'AAAA')).addresses, []);
      for (const probe of ['captive.apple.com/hotspot-detect.html', 'connectivitycheck.gstatic.com/generate_204']) {
        const answer = await phone.fetch(`http://${probe}`);
        assert.equal(answer.status, 302, probe);
        assert.equal(answer.headers['location'], portalUrl);
      }
      const followed = await phone.fetch('http://captive.apple.com/hotspot-detect.html', { follow: true });
      assert.equal(followed.status, 200);
      assert.equal(followed.url, portalUrl);
      // Refused at once: a phone that waits for a time-out does not open its sheet.
      assert.equal((await phone.fetch('https://connectivitycheck.gstatic.com/generate_204')).curlCode, 7);
    });

    await t.test('a search does not drop the phone', async () => {
      const answer = await phone.fetch(`${portalUrl}search`, { form: { lang: 'en' }, headers: browser });
      assert.equal(answer.status, 303);
      // The page of the search leads back to the first when it is done.
      await until('the search to end', async () => (await phone.fetch(`${portalUrl}searching`)).status === 303, {
        timeoutMs: 60_000,
      });
      assert.equal(await phone.isJoined(), true);
      assert.equal((await phone.fetch(portalUrl, { headers: browser })).status, 200);
    });

    await t.test('a wrong password ends with the reason on the page', (each) => failToJoin(each, ssid));

    await t.test('the right password ends online, with the proxy back', async (each) => {
      const old = (await story.profiles()).find((line) => line.includes('Old'));
      await join(each, { ssid, password: rightPassword });
      assert.ok((await story.profiles()).includes(old ?? ''), 'the profile that somebody made is as it was');
      await story.event('credentials_forwarded', 0);
      assert.deepEqual((await agent.credentials()).length, 1);
      assert.match(JSON.stringify(await agent.credentials()), /Дім №2.*Right-Horse-7741/);
    });
    await backToNew();
  });

  test('WPA3: a wrong password is reported, the right one works', async (t) => {
    const ssid = 'Home WPA3';
    await openPage(t, { ssid, security: 'wpa3', password: rightPassword });
    await failToJoin(t, ssid);
    await join(t, { ssid, password: rightPassword });
    await backToNew();
  });

  test('joins a hidden network by its typed name', async (t) => {
    const ssid = 'Not to be seen';
    const page = await openPage(t, { ssid, security: 'wpa2', password: rightPassword, isHidden: true });
    assert.ok(!page.includes(hexOf(ssid)));
    await join(t, { ssid, password: rightPassword, isTyped: true });
    await backToNew();
  });

  test('reports an open router without addresses, and joins one without internet with a condition', async (t) => {
    const { agent, home } = story;
    const ssid = 'Half a café';
    const router = { ssid, security: 'open' } as const;
    await openPage(t, { ...router, hasDhcp: false });
    await failToJoin(t, ssid, { failure: 'no_address' });
    await home.startRouter({ ...router, hasInternet: false });
    const sent = await story.now();
    assert.equal((await story.submit({ ssid })).status, 200);
    await story.event('wifi_joined', sent);
    const isSettled = async (): Promise<boolean> => {
      const { conditions, wifi } = await agent.status();
      const isTold = conditions.some(({ id }) => id === 'internet_unreachable');
      return isTold && wifi.connectivity === 'local' && (await agent.isProxyRunning());
    };
    await until('the proxy, and word of the internet', isSettled, { timeoutMs: 60_000 });
    assert.equal((await agent.wifiStatus()).ssid, ssid);
    await backToNew();
  });

  test('a radio that software has switched off is switched on for the hotspot, and keeps to the rules of its country', async (t) => {
    const { agent, machine } = story;
    await machine.must('iw reg set 00; nmcli radio wifi off');
    const started = performance.now();
    await agent.start();
    await story.hotspotUp();
    t.diagnostic(`start of the agent → hotspot and page: ${seconds(performance.now() - started)}`);
    assert.match(await machine.must('iw reg get'), new RegExp(`country ${country}`));
    assert.deepEqual(
      (await agent.status()).conditions.filter(({ id }) => id.startsWith('wifi_')),
      [],
    );
    await backToNew();
  });

  test('no password is in the journal, in the arguments or environment of a program, or in the state of the agent', async () => {
    assert.deepEqual(await secrets.found(), []);
  });
});
