import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { certificateMaker } from '@station/agent/tls/adapters/certificates';
import { findFreePort } from '@station/kit/free-port';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { chromium, type BrowserContext, type CDPSession, type Page } from 'playwright-core';
import { type Caddy, createCaddy } from '../../rig/caddy.ts';
import { needPackages } from '../../rig/debian.ts';
import { run, systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { superviseBackend, type Supervised } from '../cloud/supervised.ts';
import { collectComplaints, look, textOn, timeoutMs } from './browser.ts';

const root = join(import.meta.dirname, '../../..');
const owner = { name: 'Olena', email: 'olena@example.org', password: 'correct horse battery' };
const name = 'station.local';
const address = '192.168.77.7';
const lamp = { externalId: 'light-0001', type: 'light', name: 'Hall lamp', token: 'a token of the lamp, long enough' };
const dayMs = 24 * 3600_000;

/** A phone that trusts the station's own authority; each journey continues from the previous one. */
describe('the web app in a real Chromium over HTTPS: passkeys, and without the station', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let workspace: Workspace;
  let backend: Supervised;
  let proxy: Caddy;
  let web: string;
  let port: number;
  let context: BrowserContext;
  let page: Page;
  let device: CDPSession;
  let authenticatorId = '';
  let complaints: string[];

  const press = (label: string | RegExp) => page.getByRole('button', { name: label, exact: true }).click();
  const see = (text: string | RegExp) => textOn(page, text);
  const card = () => page.getByRole('region', { name: 'Passkeys' });
  const logInWithPassword = async (): Promise<void> => {
    await page.getByLabel('E-mail').fill(owner.email);
    await page.getByLabel('Password', { exact: true }).fill(owner.password);
    await press('Log in');
  };
  const isIn = () => page.getByRole('navigation').first().waitFor({ timeout: timeoutMs });
  const logOut = async (): Promise<void> => {
    await page.goto('/account');
    await page.getByRole('button', { name: 'Log out', exact: true }).last().click();
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor({ timeout: timeoutMs });
  };
  /** Whether the person is there to confirm. */
  const setPresent = (enabled: boolean) =>
    device.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  const credentials = async () => (await device.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

  /** The stack's proxy with a certificate as the agent makes it. */
  async function startProxy(): Promise<string> {
    const authority = await certificateMaker.makeAuthority('Station-ab12', Date.now() + dayMs);
    const period = { notBefore: Date.now() - dayMs, notAfter: Date.now() + dayMs };
    const pair = await certificateMaker.issue(authority, { names: [name], addresses: [address], ...period });
    const folder = await workspace.subfolder('tls');
    const file = async (leaf: string, content: string): Promise<string> => {
      await writeFile(join(folder, leaf), content);
      return join(folder, leaf);
    };
    const https = {
      port,
      certificate: await file('station.crt', pair.certificate),
      key: await file('station.key', pair.key),
    };
    const firmwareFolder = await workspace.subfolder('firmware');
    proxy = await createCaddy(workspace, {
      port: await findFreePort(),
      backendUrl: backend.url,
      firmwareFolder,
      https,
    });
    return file('ca.crt', authority.certificate);
  }

  /** A browser of somebody who installed the certificate of the station's authority. */
  async function openBrowser(authority: string): Promise<BrowserContext> {
    const home = await workspace.subfolder('home');
    await mkdir(join(home, '.pki/nssdb'), { recursive: true });
    const database = ['-d', `sql:${home}/.pki/nssdb`];
    await run('certutil', [...database, '-N', '--empty-password']);
    await run('certutil', [...database, '-A', '-t', 'C,,', '-n', 'Station', '-i', authority]);
    const here = [name, address].map((host) => `MAP ${host} 127.0.0.1`).join(',');
    const opened = await chromium.launchPersistentContext(join(home, 'profile'), {
      executablePath: '/usr/bin/chromium',
      baseURL: `https://${name}:${port}`,
      locale: 'en-GB',
      env: { ...process.env, HOME: home },
      args: ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=${here}`],
    });
    opened.setDefaultTimeout(timeoutMs);
    return opened;
  }

  before(async () => {
    await needPackages(['chromium', 'libnss3-tools', 'caddy']);
    const path = process.env['PATH'] ?? '';
    if (await isWebStale(root))
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    workspace = day.use(await createWorkspace());
    web = await workspace.subfolder('web');
    await cp(join(root, 'dist/web'), web, { recursive: true });
    backend = day.use(await superviseBackend(workspace, { devices: [lamp], WEB_DIR: web }));
    const code = (await readFile(join(backend.dataDir, 'setup-code'), 'utf8')).trim();
    await backend.post('/api/auth/setup', { code, ...owner, stationName: 'Carpathian cabin' });
    port = await findFreePort();
    context = await openBrowser(await startProxy());
    day.defer(() => context.close());
    page = await context.newPage();
    complaints = collectComplaints(page);
  });
  after(() => day.disposeAsync());

  it('without encryption I am told what is missing, and the log-in page offers none', async () => {
    await page.goto(`${backend.url}/account`);
    await page.getByLabel('E-mail').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Log in with a passkey' }).count(), 0);
    await logInWithPassword();
    await card().getByText('Passkeys need an encrypted connection.').waitFor();
    assert.equal(await card().getByRole('link').getAttribute('href'), '/secure');
    assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).count(), 0);
    await look(page, '95-passkeys-not-encrypted');
  });

  it('under the address of the station I am led to its name', async () => {
    await page.goto(`https://${address}:${port}/account`);
    await logInWithPassword();
    await card()
      .getByText(/^Passkeys need the name of the station in the address/)
      .waitFor();
    await look(page, '95-passkeys-by-address');
    await card().getByRole('link').click();
    await page.waitForURL(`https://${name}:${port}/account`);
  });

  it('I add one with my password, after mistyping it', async () => {
    device = await context.newCDPSession(page);
    await device.send('WebAuthn.enable');
    const options = { protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal' } as const;
    const abilities = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true };
    ({ authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
      options: { ...options, ...abilities, automaticPresenceSimulation: true },
    }));
    await logInWithPassword();
    await press('Add a passkey');
    const dialog = page.getByRole('dialog', { name: 'Add a passkey' });
    assert.match(await dialog.getByLabel('Name').inputValue(), /Linux$/);
    await dialog.getByLabel('Name').fill('Blue phone');
    await dialog.getByLabel('Current password').fill('not this one');
    await press('Continue');
    await see('The current password is wrong.');
    await look(page, '96-passkey-add');
    assert.deepEqual(await credentials(), []);
    await dialog.getByLabel('Current password').fill(owner.password);
    await press('Continue');
    await dialog.waitFor({ state: 'detached' });
    await card().getByText('Blue phone').waitFor();
    await card().getByText('Not used yet').waitFor();
    const made = await credentials();
    assert.deepEqual(
      made.map(({ rpId, isResidentCredential }) => ({ rpId, isResidentCredential })),
      [{ rpId: name, isResidentCredential: true }],
    );
    await look(page, '96-passkeys');
  });

  it('this device makes no second one', async () => {
    await press('Add a passkey');
    const dialog = page.getByRole('dialog', { name: 'Add a passkey' });
    await dialog.getByLabel('Current password').fill(owner.password);
    await press('Continue');
    await see('This device already has a passkey for this station.');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await credentials()).length, 1);
  });

  it('I log out, and log in with it by a button, without a password', async () => {
    await setPresent(false);
    await logOut();
    await page.getByRole('button', { name: 'Log in with a passkey' }).waitFor();
    await look(page, '97-login-passkey');
    await setPresent(true);
    await press('Log in with a passkey');
    await isIn();
    await page.goto('/account');
    await card()
      .getByText(/^Last used/)
      .waitFor();
    await see('This browser');
  });

  it('the browser offers it in the e-mail field, and choosing it there is enough', async () => {
    await setPresent(false);
    await logOut();
    await setPresent(true);
    await page.reload();
    await isIn();
  });

  it('in Ukrainian the card says the same', async () => {
    await page.goto('/account');
    await page.getByText('Українська', { exact: true }).click();
    await page.getByRole('region', { name: 'Ключі доступу' }).waitFor();
    await look(page, '98-passkeys-uk');
    await page.getByRole('button', { name: 'Додати ключ доступу' }).click();
    await look(page, '98-passkey-add-uk');
    await page.keyboard.press('Escape');
    await page.getByText('English', { exact: true }).click();
  });

  it('I give it another name', async () => {
    await card().getByRole('button', { name: 'Rename passkey Blue phone' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rename the passkey Blue phone' });
    await dialog.getByLabel('Name').fill('  ');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await dialog.getByText('Please fill this in.').waitFor();
    await look(page, '98-passkey-rename');
    await dialog.getByLabel('Name').fill('Red phone');
    await dialog.getByLabel('Name').press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.reload();
    await card().getByText('Red phone', { exact: true }).waitFor();
  });

  it('I remove it, and it opens nothing any more', async () => {
    await card().getByRole('button', { name: 'Remove passkey Red phone' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove the passkey Red phone?' });
    await dialog.waitFor();
    await look(page, '99-passkey-remove');
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await card().getByRole('listitem').waitFor({ state: 'detached' });
    assert.equal((await credentials()).length, 1, 'the device still has it');
    await setPresent(false);
    await logOut();
    await setPresent(true);
    await press('Log in with a passkey');
    await see('The station does not accept this passkey. Log in with the password.');
    await setPresent(false);
    await look(page, '99-passkey-refused');
    await logInWithPassword();
    await isIn();
  });

  const shellCaches = (): Promise<string[]> =>
    page.evaluate<string[]>(`caches.keys().then((keys) => keys.filter((key) => key.startsWith('station-shell-')))`);
  const keepsLastKnown = (): Promise<boolean> => page.evaluate<boolean>(`caches.has('station-last-known')`);
  const entryOnPage = (): Promise<string> =>
    page.evaluate<string>(`new URL(document.querySelector('script[src]').src).pathname`);
  const isReached = () =>
    page.getByText('The station cannot be reached').first().waitFor({ state: 'detached', timeout: timeoutMs });

  /** The same web app as another release: all its files have other names. */
  async function putRelease(release: string): Promise<void> {
    const assets = join(web, 'assets');
    for (const file of await readdir(assets)) {
      // What is compressed still has the names of before.
      if (/\.(br|gz)$/.test(file)) await rm(join(assets, file));
    }
    const names = await readdir(assets);
    const anyName = new RegExp(names.join('|').replaceAll('.', '\\.'), 'g');
    for (const path of [...names.map((name) => `assets/${name}`), 'index.html', 'shell-worker.js']) {
      const text = await readFile(join(web, path), 'utf8').catch(() => null);
      if (text === null) continue;
      const named = text.replace(anyName, (name) => `${release}.${name}`);
      await writeFile(join(web, path), named.replace(/^(self\.release = \{"name":)"[^"]*"/, `$1"${release}"`));
    }
    for (const name of names) await rename(join(assets, name), join(assets, `${release}.${name}`));
  }

  it('what home reads comes compressed, but nothing with a token', async () => {
    const answerTo = (path: string) => page.waitForResponse((response) => new URL(response.url()).pathname === path);
    const answers = Promise.all([answerTo('/api/snapshot'), answerTo('/api/auth/refresh')]);
    await page.goto('/');
    const [snapshot, session] = await answers;
    assert.match((await snapshot.headerValue('content-encoding')) ?? 'none', /^(zstd|gzip)$/);
    assert.equal(await session.headerValue('content-encoding'), null);
  });

  it('with the station away the app opens, says so, and shows dimmed what it knew last', async () => {
    await page.goto('/');
    await page.getByText('Hall lamp').first().waitFor();
    await waitFor(
      'the browser keeps the app',
      async () => ((await shellCaches()).length === 1 && (await keepsLastKnown())) || null,
    );
    await proxy.stop();
    await page.reload();
    await see(/The station cannot be reached\. Last update \d\d:\d\d:\d\d\./);
    await see('Carpathian cabin');
    await page.locator('.dimmed').getByText('Hall lamp').first().waitFor();
    await look(page, '100-station-away');
    await page.goto('/automations');
    await see('The station does not answer.');
    await page.goto('/');
    await proxy.start();
    await isReached();
  });

  it('a new release is there on the next load, and is what opens without the station', async () => {
    await putRelease('next');
    await page.goto('/');
    assert.match(await entryOnPage(), /assets\/next\./);
    await waitFor('its files are kept', async () => (await shellCaches()).join() === 'station-shell-next' || null);
    await proxy.stop();
    await page.reload();
    await see('Hall lamp');
    assert.match(await entryOnPage(), /assets\/next\./);
    await proxy.start();
    await isReached();
  });

  it('a page that was opened without the station learns of a release that came meanwhile', async () => {
    await proxy.stop();
    await page.reload();
    await see('The station cannot be reached');
    await putRelease('later');
    await proxy.start();
    await see('A new version is available.');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.waitForURL('/');
    await waitFor('the new page', async () => /assets\/later\./.test(await entryOnPage()) || null);
  });

  it('after I log out nothing of the station is in the browser but its pages', async () => {
    await waitFor('what home shows is kept', async () => (await keepsLastKnown()) || null);
    await logOut();
    await waitFor('it is removed', async () => !(await keepsLastKnown()) || null);
    await proxy.stop();
    await page.goto('/');
    await see(/^No answer since \d\d:\d\d:\d\d\./);
    assert.equal(await page.getByText(/Hall lamp|Carpathian cabin/).count(), 0);
    await look(page, '101-station-away-logged-out');
    await proxy.start();
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
  });

  it('a rollback to a release without this worker removes it', async () => {
    await putRelease('previous');
    await rm(join(web, 'shell-worker.js'));
    await page.goto('/');
    assert.match(await entryOnPage(), /assets\/previous\./);
    const isGone = () =>
      page.evaluate<boolean>(`navigator.serviceWorker.getRegistration('/').then((found) => found === undefined)`);
    await waitFor('the worker is gone', async () => ((await isGone()) && (await shellCaches()).length === 0) || null);
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(complaints, []);
  });
});
