import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../../vstation/agent.ts';
import { browser, createStory, portalUrl, stationCode, type Story } from './story.ts';

// Somebody in the street: the cable of a station without a hotspot password is pulled out, and its hotspot is open to everybody.

const freeCodes = 5;
const own = { ssid: 'Neighbour', password: 'Neighbour-Horse-1', isTyped: true };

let story: Story;
describe('a neighbour of a station with an open hotspot', () => {
  let began = 0;

  before(async () => {
    story = await createStory();
    const { agent, ethernet } = story;
    await ethernet.plug();
    await agent.start();
    const isWired = async (): Promise<boolean> => (await agent.wifiStatus()).watchdog.state === 'CONNECTED';
    await until('the station to be online', isWired, { timeoutMs: 120_000, describe: () => story.machine.journal() });
    await ethernet.unplug();
    await story.hotspotUp();
    began = await story.now();
  });

  /** What became of the forms so far. */
  const outcomes = async (): Promise<string[]> =>
    (await story.agent.events(began)).map(({ event }) => event).filter((event) => /join|code|forwarded/.test(event));

  test('reads no code, no token and no network on the page, and reaches nothing but the page', async () => {
    const page = await story.pageOnPhone();
    assert.ok(!page.body.includes(stationCode));
    // The agent's own API, which needs no token to be read.
    const api = await story.phone.fetch('http://192.0.2.1:3001/status', { timeoutMs: 3_000 });
    assert.notEqual(api.curlCode, 0);
    assert.notEqual((await story.phone.fetch(`${portalUrl}status`, { headers: browser })).status, 200);
  });

  test('sends forms without the code, or by a web page on somebody else’s phone: none counts', async () => {
    assert.match((await story.submit(own)).body, /The station code is missing/);
    for (const origin of ['http://evil.test', 'null', 'https://192.0.2.1', 'http://192.0.2.1.evil.test']) {
      const form = { ssid: 'other', name: own.ssid, security: 'auto', password: own.password, confirm: 'yes' };
      const headers = { ...browser, Origin: origin };
      const sent = await story.phone.fetch(`${portalUrl}join`, { form: { ...form, code: stationCode }, headers });
      assert.equal(sent.status, 403, origin);
    }
    assert.deepEqual(await outcomes(), []);
  });

  test('opens 200 connections, and sends large headers: the page still answers', async () => {
    const connections = `timeout 60 ip netns exec phone sh -c '
      for each in $(seq 200); do busybox nc 192.0.2.1 80 </dev/zero >/dev/null 2>&1 & done; sleep 20; kill $(jobs -p) 2>/dev/null'`;
    await story.machine.must(
      `systemd-run -q --unit=vstation-flood bash -c ${JSON.stringify(connections).replaceAll('$', '\\$')}`,
    );
    const large = await story.phone.fetch(portalUrl, { headers: { ...browser, 'X-Large': 'x'.repeat(40_000) } });
    assert.notEqual(large.status, 200);
    const isAnswered = async (): Promise<boolean> =>
      (await story.phone.fetch(portalUrl, { headers: browser })).status === 200;
    await until('the page', isAnswered, { timeoutMs: 60_000, describe: () => story.machine.journal() });
  });

  test('guesses the code: after five nothing counts for a while, not even after a restart', async () => {
    for (let guess = 0; guess < freeCodes; guess++) {
      const { body } = await story.submit({ ...own, code: `GUESS-2345${guess + 2}` });
      assert.match(body, guess < freeCodes - 1 ? /The station code is wrong/ : /Too many wrong codes/);
    }
    assert.match((await story.submit({ ...own, code: stationCode })).body, /Too many wrong codes/);
    await story.agent.kill();
    await story.hotspotUp();
    await story.pageOnPhone();
    await story.submit({ ...own, code: stationCode });
    assert.deepEqual(
      await outcomes(),
      Array.from({ length: freeCodes }, () => 'portal_code_refused'),
    );
    assert.equal((await story.agent.wifiStatus()).watchdog.state, 'HOTSPOT_ACTIVE');
    assert.deepEqual(await story.profiles(), []);
    assert.deepEqual(await story.agent.credentials(), []);
  });
});
