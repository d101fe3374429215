import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { buildForTests } from '../../rig/build.ts';
import { createCaddy } from '../../rig/caddy.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, owner, type Installation } from '../backend/installation.ts';
import { logIn, openBrowser, openPerson, textOn, type Person } from '../web/browser.ts';
import { startNameServer } from './name-server.ts';

// Somebody in the house opens a page of an attacker, in the browser in which the owner is logged in to the station.

/** Of the attacker's server and of the station. A browser tries them in this order. */
const attackerAddress = '127.0.0.1';
const stationAddress = '127.0.0.2';
const names = {
  'station.local': [stationAddress],
  'evil.example': [attackerAddress, stationAddress],
  'other.example': [attackerAddress],
  // Anybody in the network may announce such a name, and browsers send it the cookies of the same site.
  'evil.station.local': [attackerAddress],
};

const root = join(import.meta.dirname, '../../..');

/** Runs in a page. @returns what a request of it gets: the status and code, or that the browser keeps the answer from it. */
const asking = (url: string, init: object): string => `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
  async (answer) => answer.status + ' ' + (/"code":"([a-z_]+)"/.exec(await answer.text())?.[1] ?? ''),
  () => 'no answer')`;
const openingSocket = (url: string): string => `new Promise((resolve) => {
  const socket = new WebSocket(${JSON.stringify(url)});
  socket.onopen = () => resolve('open');
  socket.onclose = () => resolve('refused');
})`;

describe('a page of an attacker in the browser of the owner', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let attacker: Server;
  let browser: Browser;
  let victim: Person;

  before(async () => {
    await buildForTests('web');
    const workspace = life.use(await createWorkspace());
    station = life.use(
      await install('the embedded broker and SQLite', { devices: 4, env: { WEB_DIR: join(root, 'dist/web') } }),
    );
    await station.startBackend();
    await station.logIn();
    const places = { port: 80, backendUrl: station.url, firmwareFolder: workspace.folder };
    await createCaddy(workspace, { ...places, bind: stationAddress });
    attacker = createServer((_, answer) => {
      answer.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end('<title>Free games</title>');
    });
    attacker.listen(80, attackerAddress);
    await once(attacker, 'listening');
    life.defer(() => void attacker.close());
    browser = life.use(await openBrowser(await startNameServer(workspace, names)));
    victim = life.use(await openPerson(browser, 'http://station.local', 'en-GB'));
    await logIn(victim.page, owner);
    await textOn(victim.page, station.logins[3]?.name ?? '');
  });
  after(() => life.disposeAsync());

  const openAttack = async (host: string): Promise<Page> => {
    const page = await victim.context.newPage();
    await page.goto(`http://${host}/`);
    assert.equal(await page.title(), 'Free games');
    return page;
  };

  for (const host of ['other.example', 'evil.station.local']) {
    it(`from ${host} cannot use the session, end it, read anything or open a WebSocket`, async () => {
      const page = await openAttack(host);
      const answers: string[] = [];
      page.on('response', (answer) => {
        const url = new URL(answer.url());
        if (url.hostname === 'station.local')
          answers.push(`${answer.request().method()} ${url.pathname} ${answer.status()}`);
      });
      const ask = (path: string, init: object) =>
        page.evaluate<string>(asking(`http://station.local${path}`, { credentials: 'include', ...init }));
      for (const path of ['/api/auth/refresh', '/api/auth/logout']) {
        assert.equal(await ask(path, { method: 'POST' }), 'no answer');
        await ask(path, { method: 'POST', mode: 'no-cors' });
      }
      for (const path of ['/api/auth/me', '/api/devices', '/api/health'])
        assert.equal(await ask(path, {}), 'no answer');
      const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
      assert.equal(await ask('/api/auth/login', json), 'no answer');
      assert.equal(await page.evaluate(openingSocket('ws://station.local/ws')), 'refused');
      // A form needs nobody's permission to be sent.
      const form = `document.body.innerHTML = '<form method=post action="http://station.local/api/auth/logout">'; document.forms[0].submit()`;
      await Promise.all([page.waitForURL('http://station.local/**'), page.evaluate(form)]);
      // Those that the browser sends without asking the station first.
      const sent = answers.filter((line) => line.startsWith('POST'));
      assert.deepEqual(
        sent,
        ['refresh', 'logout', 'logout'].map((name) => `POST /api/auth/${name} 403`),
      );
      await page.close();
      await victim.page.reload();
      await textOn(victim.page, station.logins[3]?.name ?? '');
    });
  }

  it('cannot put the station into a frame', async () => {
    const page = await openAttack('other.example');
    await page.evaluate(`document.body.innerHTML = '<iframe src="http://station.local/"></iframe>'`);
    const frame = await (await page.waitForSelector('iframe')).contentFrame();
    await frame?.waitForLoadState();
    assert.notEqual(frame?.url(), 'http://station.local/');
    await page.close();
  });

  it('that points its own name at the station gets 421, on REST and WebSocket', async () => {
    const page = await openAttack('evil.example');
    attacker.closeAllConnections();
    attacker.close();
    await once(attacker, 'close');
    const ask = (path: string, init: object = {}) => page.evaluate<string>(asking(path, init));
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(owner) };
    for (const [path, init] of [
      ['/api/health', {}],
      ['/api/auth/status', {}],
      ['/api/auth/login', json],
      ['/api/auth/refresh', { method: 'POST' }],
      ['/metrics', {}],
    ] as const) {
      assert.equal(await ask(path, init), '421 host_unknown', path);
    }
    assert.equal(await page.evaluate(openingSocket('ws://evil.example/ws')), 'refused');
    // The same way in under a name of the station is open.
    assert.match(await victim.page.evaluate<string>(asking('/api/health', {})), /^200/);
    assert.equal(await victim.page.evaluate(openingSocket('ws://station.local/ws')), 'open');
  });
});
