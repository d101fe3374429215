import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ssidFromText } from '../core/wifi-network.ts';
import {
  ask,
  createSimulatedWatchdog,
  network,
  simulatedCode,
  startPortal,
  type Reply,
} from '../../testing/running-portal.ts';

const html = { Accept: 'text/html' };
const formType = 'application/x-www-form-urlencoded';
const home = ssidFromText('Home');

const post = (
  port: number,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Reply> =>
  ask(port, {
    method: 'POST',
    path,
    headers: { Host: `127.0.0.1:${port}`, 'Content-Type': formType, ...headers },
    body: new URLSearchParams(fields).toString(),
  });
const get = (port: number, path = '/', headers: Record<string, string> = {}): Promise<Reply> =>
  ask(port, { path, headers: { Host: `127.0.0.1:${port}`, ...html, ...headers } });

describe('a probe', () => {
  it('is led to the page by the same answer for every name, path and method', async () => {
    const { actions, state } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const answers = [];
    for (const method of ['GET', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PROPFIND'])
      for (const [host, path] of [
        ['captive.apple.com', '/hotspot-detect.html'],
        ['connectivitycheck.gstatic.com', '/generate_204'],
        ['www.msftconnecttest.com', '/connecttest.txt'],
        ['127.0.0.1', '/'],
      ] as const)
        answers.push(await ask(running.port, { method, path, headers: { Host: host, Accept: 'text/html' } }));
    for (const { status, headers, body } of answers) {
      assert.equal(status, 302);
      assert.equal(headers.location, `${running.url}/`);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers.connection, 'close');
      assert.ok(body.includes(`href="${running.url}/"`));
      assert.equal(body, answers[0]?.body);
    }
    const head = await ask(running.port, { method: 'HEAD', headers: { Host: 'example.org' } });
    assert.deepEqual([head.status, head.headers.location, head.body], [302, `${running.url}/`, '']);
    assert.equal(state.seen, 0, 'nobody looked at the page');
  });

  it('without a name, over the oldest HTTP, is one too', async () => {
    await using running = await startPortal(createSimulatedWatchdog().actions);
    assert.match(await raw(running.port, 'GET /generate_204 HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 302 /);
    assert.match(await raw(running.port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 302 /);
  });
});

describe('the page', () => {
  it('is shown at the literal address, in the language of the browser, and counts as seen', async () => {
    const { actions, state } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const english = await get(running.port, '/', { 'Accept-Language': 'en' });
    const ukrainian = await get(running.port, '/', { 'Accept-Language': 'uk-UA,en;q=0.5' });
    const switched = await get(running.port, '/?lang=en', { 'Accept-Language': 'uk' });
    assert.deepEqual([english.status, ukrainian.status, switched.status], [200, 200, 200]);
    assert.match(english.body, /<html lang="en">/);
    assert.match(ukrainian.body, /<html lang="uk">/);
    assert.match(switched.body, /<html lang="en">/);
    assert.equal(state.seen, 3);
    assert.match(String(english.headers['content-security-policy']), /default-src 'none'/);
    assert.equal(english.headers['referrer-policy'], 'same-origin');
    assert.equal(english.headers['cache-control'], 'no-store');
  });

  it('is not seen by a program that asks for it', async () => {
    const { actions, state } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    await get(running.port, '/', { Accept: '*/*' });
    await get(running.port, '/', { 'User-Agent': 'CaptiveNetworkSupport-479.60.1 wispr' });
    assert.equal((await get(running.port, '/state')).body, 'ready');
    assert.equal((await get(running.port, '/favicon.ico')).status, 404);
    assert.equal(state.seen, 0);
  });
});

describe('a join', () => {
  it('goes to the watchdog, and is answered by the page that shows what happens', async () => {
    const { actions, state } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const answer = await post(
      running.port,
      '/join',
      { ssid: home, password: 'correct horse' },
      { Origin: running.url },
    );
    assert.equal(answer.status, 200);
    assert.match(answer.body, /The station is connecting to <bdi>Home<\/bdi>/);
    assert.ok(!answer.body.includes('correct horse'));
    assert.deepEqual(state.joins, [{ ssid: home, security: 'wpa2', password: 'correct horse', isHidden: false }]);
    assert.match((await get(running.port)).body, /is connecting to <bdi>Home/, 'a reload shows it too');
    assert.equal((await get(running.port, '/state')).body, 'joining');
  });

  it('that comes while another is tried gets a page about that', async () => {
    const { actions, state } = createSimulatedWatchdog({ joining: ssidFromText('First') });
    await using running = await startPortal(actions);
    const answer = await post(running.port, '/join', { ssid: home, password: 'correct horse' });
    assert.match(answer.body, /is connecting to <bdi>First<\/bdi>/);
    assert.match(answer.body, /already trying/);
    assert.deepEqual(state.joins, []);
  });

  it('that comes as the hotspot ends automatically gets a page about that', async () => {
    const { actions } = createSimulatedWatchdog();
    await using running = await startPortal({ ...actions, join: () => 'busy' });
    const answer = await post(running.port, '/join', { ssid: home, password: 'correct horse' });
    assert.equal(answer.status, 200);
    assert.match(answer.body, /connecting automatically/);
    assert.ok(!/already trying|correct horse/.test(answer.body));
  });

  it('that cannot work comes back as a page that people get to read, without the password', async () => {
    const { actions, state } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const answer = await post(running.port, '/join', { ssid: home, password: 'sh0rt!', lang: 'uk' });
    assert.equal(answer.status, 200);
    assert.match(answer.body, /від 8 до 63 символів/);
    assert.ok(!answer.body.includes('sh0rt!'));
    assert.match(answer.body, new RegExp(`value="${home}.wpa2"[^>]*checked`));
    const shown = await post(running.port, '/show', { ssid: home, password: 'sh0rt!', name: 'x' });
    assert.match(shown.body, /type="text"\s+id="password"/);
    assert.ok(!shown.body.includes('sh0rt!'));
    assert.match(shown.body, new RegExp(`value="${home}.wpa2"[^>]*checked`));
    assert.deepEqual(state.joins, []);
    assert.equal(running.events.filter(({ event }) => event !== 'portal_opened').length, 0);
  });

  it('of another site is refused', async () => {
    const { actions, state } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const fields = { ssid: home, password: 'correct horse' };
    for (const origin of ['https://example.org', 'null']) {
      const answer = await post(running.port, '/join', fields, { Origin: origin });
      assert.equal(answer.status, 403);
      assert.match(answer.body, new RegExp(`Open <bdi>${running.url}/</bdi> in the browser`));
    }
    assert.equal((await post(running.port, '/join', fields, { 'Content-Type': 'text/plain' })).status, 403);
    assert.equal((await post(running.port, '/join', fields, { Host: 'rebound.example' })).status, 302);
    assert.deepEqual(state.joins, []);
  });

  it('with a form that is too large is answered readably, and with one that is no text as well', async () => {
    const { actions } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const headers = { Host: `127.0.0.1:${running.port}`, 'Content-Type': formType };
    const large = await ask(running.port, { method: 'POST', path: '/join', headers, body: 'a'.repeat(900_000) });
    assert.equal(large.status, 413);
    assert.match(large.body, /larger than the station takes/);
    const broken = await ask(running.port, { method: 'POST', path: '/join', headers, body: 'name=%ff' });
    assert.equal(broken.status, 200);
    assert.match(broken.body, /could not be read/);
  });
});

describe('a join on an open hotspot', () => {
  const form = { ssid: home, password: 'correct horse' };

  it('of a new station needs the confirmation only', async () => {
    const { actions, state } = createSimulatedWatchdog({ isOpen: true, wasEverJoined: false });
    await using running = await startPortal(actions);
    const unconfirmed = await post(running.port, '/join', form);
    assert.equal(unconfirmed.status, 200);
    assert.match(unconfirmed.body, /Your confirmation is missing/);
    assert.match(unconfirmed.body, new RegExp(`value="${home}.wpa2"[^>]*checked`));
    assert.ok(!unconfirmed.body.includes('correct horse'));
    assert.deepEqual(state.joins, []);
    await post(running.port, '/join', { ...form, confirm: 'yes' });
    assert.equal(state.joins.length, 1);
  });

  it('of a station in use needs the code before anything else counts', async () => {
    const { actions, state } = createSimulatedWatchdog({ isOpen: true });
    await using running = await startPortal(actions);
    const send = async (fields: Record<string, string>): Promise<string> =>
      (await post(running.port, '/join', { ...form, ...fields })).body;
    assert.match(await send({ confirm: 'yes' }), /The station code is missing/);
    assert.match(await send({ code: simulatedCode }), /Your confirmation is missing/);
    const wrong = await send({ code: 'XXXX-XXXX-XXXX', confirm: 'yes', password: 'short' });
    assert.match(wrong, /The station code is wrong[^]*Tries left: <bdi>4<\/bdi>/);
    assert.doesNotMatch(wrong, /The password cannot be right|short/);
    assert.deepEqual(state.joins, []);
    const short = await send({ code: simulatedCode, confirm: 'yes', password: 'short' });
    assert.match(short, /The password cannot be right/);
    assert.match(short, new RegExp(`name="code"\\s+value="${simulatedCode}"`), 'nobody has to type it again');
    await send({ code: simulatedCode, confirm: 'yes' });
    assert.equal(state.joins.length, 1);
  });

  it('says when the next code counts', async () => {
    const { actions, state } = createSimulatedWatchdog({ isOpen: true });
    const check = async () => ({ kind: 'closed', retryInMs: 61_000 }) as const;
    await using running = await startPortal(actions, 0, { check });
    const answer = await post(running.port, '/join', { ...form, code: simulatedCode, confirm: 'yes' });
    assert.match(answer.body, /Too many wrong codes[^]*in <bdi>2<\/bdi> min/);
    assert.deepEqual(state.joins, []);
  });

  it('is not needed to see the page, to search, or to see what one types', async () => {
    const { actions, state } = createSimulatedWatchdog({ isOpen: true });
    await using running = await startPortal(actions);
    assert.equal((await get(running.port)).status, 200);
    assert.equal((await post(running.port, '/search', {})).status, 303);
    assert.equal(state.searches, 1);
    const shown = await post(running.port, '/show', { ...form, code: 'bcdf', confirm: 'yes' });
    assert.match(shown.body, /name="code"\s+value="bcdf"/);
    assert.match(shown.body, /name="confirm"[^>]*checked/);
  });
});

describe('a search', () => {
  it('shows a page that reloads automatically, and the list when it has ended', async () => {
    const { actions, state, found } = createSimulatedWatchdog();
    await using running = await startPortal(actions);
    const asked = await post(running.port, '/search', { lang: 'uk' });
    assert.deepEqual([asked.status, asked.headers.location], [303, `${running.url}/searching?lang=uk`]);
    const waiting = await get(running.port, '/searching?lang=uk');
    assert.match(waiting.body, /Шукаємо мережі/);
    assert.equal(state.searches, 1);
    found([network('New here', 'open', 60)]);
    await sleep(0);
    const done = await get(running.port, '/searching?lang=uk');
    assert.deepEqual([done.status, done.headers.location], [303, `${running.url}/?lang=uk`]);
    assert.match((await get(running.port)).body, /New here/);
  });
});

describe('a first look around', () => {
  it('is waited for in place of an empty list; a list that is there already is shown', async () => {
    const { actions, set } = createSimulatedWatchdog({ networks: [], isLooking: true });
    await using running = await startPortal(actions);
    assert.match((await get(running.port)).body, /Searching for networks/);
    assert.equal((await get(running.port, '/searching?lang=en')).status, 200);
    set({ networks: [network('Here', 'open', 60)] });
    assert.match((await get(running.port)).body, /Here/);
    set({ networks: [], isLooking: false });
    assert.equal((await get(running.port, '/searching?lang=en')).status, 303);
    assert.match((await get(running.port)).body, /No network was found/);
  });
});

describe('the server', () => {
  it('takes no headers beyond 8 KiB', async () => {
    await using running = await startPortal(createSimulatedWatchdog().actions);
    const answer = await get(running.port, '/', { 'X-Much': 'a'.repeat(9000) });
    assert.equal(answer.status, 431);
  });

  it('answers what is no HTTP with a refusal, and goes on', async () => {
    await using running = await startPortal(createSimulatedWatchdog().actions);
    assert.match(await raw(running.port, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'), /^HTTP\/1\.1 400 /);
    assert.equal((await get(running.port)).status, 200);
  });

  it('keeps room for the next one when 64 connections do not end their request: the oldest goes', async () => {
    await using running = await startPortal(createSimulatedWatchdog().actions);
    const held: Socket[] = [];
    for (let count = 0; count < 64; count += 1) {
      const socket = connect(running.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      const form = `Host: 127.0.0.1:${running.port}\r\nContent-Type: ${formType}\r\nContent-Length: 4000\r\n\r\nx`;
      socket.write(count % 2 === 0 ? 'GET / HTTP/1.1\r\n' : `POST /join HTTP/1.1\r\n${form}`);
      await once(socket, 'connect');
      held.push(socket);
    }
    assert.equal((await get(running.port)).status, 200);
    const first = held[0] ?? assert.fail();
    if (!first.destroyed) await once(first, 'close');
    assert.ok(held.filter(({ destroyed }) => destroyed).length < 10);
    for (const socket of held) socket.destroy();
  });

  it('waits for its port, logs once why, and opens when it is free', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const { port } = blocker.address() as AddressInfo;
    await using running = await startPortal(createSimulatedWatchdog().actions, port);
    assert.equal(running.portal.address(), null);
    assert.equal(running.portal.isPortTaken(), true);
    blocker.close();
    while (running.portal.address() === null) await sleep(10);
    assert.equal(running.portal.isPortTaken(), false);
    assert.equal((await get(port)).status, 200);
    assert.deepEqual(
      running.events.map(({ event }) => event),
      ['portal_unavailable', 'portal_opened'],
    );
  });

  it('stops waiting for its port when it is closed', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const running = await startPortal(createSimulatedWatchdog().actions, (blocker.address() as AddressInfo).port);
    await running[Symbol.asyncDispose]();
    blocker.close();
    assert.equal(running.portal.address(), null);
  });

  it('closes with connections open, and the port is free at once', async () => {
    const first = await startPortal(createSimulatedWatchdog().actions);
    const idle = connect(first.port, '127.0.0.1');
    await once(idle, 'connect');
    idle.on('error', () => undefined);
    await first[Symbol.asyncDispose]();
    assert.equal(first.portal.address(), null);
    await using second = await startPortal(createSimulatedWatchdog().actions, first.port);
    assert.equal((await get(second.port)).status, 200);
  });

  it('survives a watchdog that fails, and logs it without what was typed', async () => {
    const { actions } = createSimulatedWatchdog();
    const broken = { ...actions, join: () => assert.fail('out of order') };
    await using running = await startPortal(broken);
    const answer = await post(running.port, '/join', { ssid: home, password: 'correct horse' });
    assert.equal(answer.status, 500);
    assert.match(answer.body, /Something went wrong in the station/);
    assert.ok(!JSON.stringify([answer, running.events]).includes('correct horse'));
    assert.equal(running.events.at(-1)?.event, 'unexpected_error');
  });
});

/** Sends bytes as they are, and gives what comes back until the end. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8');
  socket.write(text, 'latin1');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}
