import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { WebSocket } from 'ws';
import { agentWithoutDocker, createAgentProcess } from '../../rig/agent-process.ts';
import { buildForTests } from '../../rig/build.ts';
import { createCaddy } from '../../rig/caddy.ts';
import { needPackages } from '../../rig/debian.ts';
import { run, systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { look, textOn, timeoutMs } from '../web/browser.ts';

const root = join(import.meta.dirname, '../../..');
const name = 'station.local';
/** Where it has the usual ports. */
const stationAddress = '127.0.0.2';
const devices = ['iPhone or iPad', 'Android', 'Windows', 'Mac', 'Firefox on a computer', 'Linux'];

/** As the browser shows it beside the address (DevTools protocol, `Security.VisibleSecurityState`). */
type Padlock = {
  securityState: string;
  certificateSecurityState?: {
    protocol: string;
    subjectName: string;
    issuer: string;
    certificateNetworkError?: string;
    certificateHasWeakSignature: boolean;
    modernSSL: boolean;
  };
};

/** A real agent, backend and proxy, and a browser that ignores no fault of a certificate. */
describe('from the first page over HTTP to the padlock', { timeout: 900_000 }, () => {
  const all = new AsyncDisposableStack();
  let workspace: Workspace;
  let station: Installation;
  let authority: string;

  before(async () => {
    await needPackages(['chromium', 'libnss3-tools', 'caddy']);
    await buildForTests('web');
    workspace = all.use(await createWorkspace());
    const agentEnv = {
      ...systemEnv,
      HOME: workspace.folder,
      STATION_ID: stationId,
      STATION_URL: `http://${name}/`,
      COMPOSE_PROJECT_PATH: workspace.folder,
      UPDATE_SERVER_URL: 'http://127.0.0.1:9/manifest.json',
      PORT: '0',
    };
    const agent = await createAgentProcess(workspace, agentEnv, 'agent', agentWithoutDocker);
    await agent.start();
    const env = { AGENT_SOCKET: agent.socketPath, WEB_DIR: join(root, 'dist/web') };
    station = all.use(await install('the embedded broker and SQLite', { devices: 4, env }));
    await station.startBackend();
    await station.logIn();
    const certificates = join(agent.dataDir, 'tls/https');
    const pair = join(certificates, 'station.pem');
    authority = await readFile(join(certificates, 'ca.crt'), 'utf8');
    const places = { port: 80, backendUrl: station.url, firmwareFolder: workspace.folder, bind: stationAddress };
    await createCaddy(workspace, { ...places, certificates, https: { port: 443, certificate: pair, key: pair } });
  });
  after(() => all.disposeAsync());

  /** A person's computer that nobody has used before. @param trusted a certificate that they have installed. */
  async function openComputer(trusted: string | null): Promise<BrowserContext> {
    const home = await workspace.subfolder(trusted === null ? 'new-computer' : 'computer');
    const database = ['-d', `sql:${home}/.pki/nssdb`];
    await mkdir(join(home, '.pki/nssdb'), { recursive: true });
    await run('certutil', [...database, '-N', '--empty-password']);
    if (trusted !== null) await run('certutil', [...database, '-A', '-t', 'C,,', '-n', 'Station', '-i', trusted]);
    const hosts = [name, 'evil.example'].map((host) => `MAP ${host} ${stationAddress}`).join(',');
    const opened = await chromium.launchPersistentContext(join(home, 'profile'), {
      executablePath: '/usr/bin/chromium',
      locale: 'en-GB',
      acceptDownloads: true,
      ignoreHTTPSErrors: false,
      env: { ...process.env, HOME: home },
      args: ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=${hosts}`],
    });
    opened.setDefaultTimeout(timeoutMs);
    all.defer(() => opened.close());
    return opened;
  }

  /** Opens `url` and reads what the browser shows of its security. */
  async function padlockOf(page: Page, url: string): Promise<Padlock> {
    await page.goto(url);
    const session = await page.context().newCDPSession(page);
    let seen: Padlock | null = null;
    session.on('Security.visibleSecurityStateChanged', (event) => {
      seen = event.visibleSecurityState as unknown as Padlock;
    });
    await session.send('Security.enable');
    const shown = await waitFor('the security state', () => seen !== null && seen.securityState !== 'unknown' && seen);
    await session.detach();
    return shown;
  }

  let file = '';
  let page: Page;

  it('on a new computer the page over HTTP says that it is not encrypted, and HTTPS is refused', async () => {
    const context = await openComputer(null);
    // In a tab of its own: Chromium goes on to its page about the fault after the fault was told.
    const refused = await context.newPage();
    await assert.rejects(refused.goto(`https://${name}/`), /ERR_CERT_AUTHORITY_INVALID/);
    await refused.close();
    page = await context.newPage();
    const padlock = await padlockOf(page, `http://${name}/`);
    assert.notEqual(padlock.securityState, 'secure');
    await page.getByRole('link', { name: 'This connection is not encrypted' }).click();
    await textOn(page, 'Three steps change that');
  });

  it('three steps on one page lead every kind of device through it', async () => {
    for (const device of devices) {
      await page.getByLabel('Your device').selectOption(device);
      assert.equal(await page.getByRole('listitem').count(), 3, device);
    }
    await page.getByRole('button', { name: 'Check and open' }).click();
    await textOn(page, 'This browser does not trust the certificate yet.');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    file = join(workspace.folder, 'ca.crt');
    await (await download).saveAs(file);
    assert.equal(await readFile(file, 'utf8'), authority);
    await page.context().close();
  });

  it('with the certificate installed the page over HTTP leads to the encrypted one, with a padlock', async () => {
    page = await (await openComputer(file)).newPage();
    await page.goto(`http://${name}/`);
    await page.waitForURL(`https://${name}/`);
    const padlock = await padlockOf(page, `https://${name}/secure`);
    const state = padlock.certificateSecurityState;
    assert.ok(state, JSON.stringify(padlock));
    assert.equal(padlock.securityState, 'secure');
    assert.equal(state.certificateNetworkError ?? '', '');
    assert.deepEqual([state.protocol, state.subjectName, state.modernSSL], ['TLS 1.3', name, true]);
    assert.equal(state.certificateHasWeakSignature, false);
    assert.match(state.issuer, /^Station-/);
    await textOn(page, 'This connection is encrypted.');
    await look(page, '92-padlock');
  });

  it('I log in there; the cookie never travels in the open, and the socket is encrypted', async () => {
    const socket = page.waitForEvent('websocket');
    await page.goto(`https://${name}/`);
    await page.getByLabel('E-mail').fill(owner.email);
    await page.getByLabel('Password', { exact: true }).fill(owner.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('navigation').first().waitFor();
    assert.equal((await socket).url(), `wss://${name}/ws`);
    const cookies = await page.context().cookies(`https://${name}/api/auth/refresh`);
    const refresh = cookies.find((cookie) => cookie.name === 'station_refresh');
    assert.deepEqual([refresh?.secure, refresh?.httpOnly], [true, true]);
  });

  it('I log out everywhere: this browser and the others are out', async () => {
    const elsewhere = await station.logIn();
    const me = async (): Promise<number> =>
      (await fetch(`${station.url}/api/auth/me`, { headers: { authorization: `Bearer ${elsewhere}` } })).status;
    assert.equal(await me(), 200);
    await page.goto(`https://${name}/account`);
    await page.getByRole('button', { name: 'Log out everywhere' }).click();
    const dialog = page.getByRole('dialog', { name: 'Log out everywhere?' });
    await look(page, '93-log-out-everywhere');
    await dialog.getByRole('button', { name: 'Log out everywhere' }).click();
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
    assert.equal(await me(), 401);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
  });

  it('a page that rebinds its name to the station gets no padlock there', async () => {
    await assert.rejects(page.goto('https://evil.example/'), /ERR_CERT_COMMON_NAME_INVALID/);
  });

  /** @param scheme with `https` as a client that trusts the authority, whatever name it asks for. */
  async function askAs(scheme: 'http' | 'https', host: string, path: string): Promise<string> {
    const place = { host: stationAddress, path, headers: { host }, agent: false } as const;
    const sent = scheme === 'http' ? httpRequest(place) : httpsRequest({ ...place, ca: authority, servername: name });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const code = /"code":"([a-z_]+)"/.exec(await text(answer))?.[1] ?? '';
    return `${answer.statusCode} ${code}`.trim();
  }
  const openSocket = (scheme: 'ws' | 'wss', host: string): Promise<string> =>
    new Promise((resolve) => {
      const options = { ca: authority, servername: name, headers: { host } };
      const socket = new WebSocket(`${scheme}://${stationAddress}/ws`, options);
      socket.on('open', () => {
        socket.close();
        resolve('open');
      });
      socket.on('unexpected-response', (_request, { statusCode }) => resolve(String(statusCode)));
      socket.on('error', () => resolve('refused'));
    });

  for (const scheme of ['http', 'https'] as const) {
    it(`over ${scheme} a foreign Host gets 421, on the WebSocket as well; the station’s own names do not`, async () => {
      const socketScheme = scheme === 'http' ? 'ws' : 'wss';
      for (const host of ['evil.example', 'station.local.evil.example', 'evil.local']) {
        for (const path of ['/api/health', '/api/auth/setup', '/metrics'])
          assert.equal(await askAs(scheme, host, path), '421 host_unknown', `${host}${path}`);
        assert.equal(await openSocket(socketScheme, host), '421', host);
      }
      for (const host of [name, 'station-2.local', stationAddress, 'localhost']) {
        assert.equal(await askAs(scheme, host, '/api/health'), '200', host);
        assert.equal(await openSocket(socketScheme, host), 'open', host);
      }
    });
  }
});
