import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Mailbox, type PostBox, startMailbox, startPostBox } from '@station/simulators/notifications/receivers';
import { type PushBrowser, type PushService, startPushService } from '@station/simulators/notifications/push-service';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import type { Browser, Page } from 'playwright-core';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { superviseBackend, type Supervised } from '../cloud/supervised.ts';
import { logIn, look, openBrowser, openPerson, type Person, textOn, timeoutMs } from './browser.ts';

const root = join(import.meta.dirname, '../../..');
const owner = { name: 'Olena', email: 'olena@example.org', password: 'correct horse battery' };

/** Each journey continues from the previous one. Only the push service of the browser's maker is replaced: it is on the internet. */
describe('notifications in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let browser: Browser;
  let station: Supervised;
  let token: string;
  let mailbox: Mailbox;
  let ntfy: PostBox;
  let service: PushService;
  let pushed: PushBrowser;
  let olena: Person;
  let page: Page;

  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' }).click();
  const card = (name: string) => page.getByRole('region', { name });
  const toggle = (name: string) => page.getByRole('switch', { name }).click();
  const says = (on: string, text: string | RegExp) => textOn(card(on), text);
  const channels = 'Channels of the station';

  before(async () => {
    const path = process.env['PATH'] ?? '';
    if (await isWebStale(root))
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    const workspace = day.use(await createWorkspace());
    const env = { WEB_DIR: join(root, 'dist/web'), AUTOMATION_WEBHOOK_ALLOW: '127.0.0.1' };
    station = day.use(await superviseBackend(workspace, { devices: [], ...env }));
    mailbox = day.use(await startMailbox(null));
    ntfy = day.use(await startPostBox());
    service = day.use(await startPushService());
    pushed = service.subscribe();
    browser = day.use(await openBrowser());
    const code = await waitFor('the set-up code', async () => {
      const text = await readFile(join(station.dataDir, 'setup-code'), 'utf8').catch(() => '');
      return text.trim() || null;
    });
    const session = await station.post('/api/auth/setup', { code, ...owner, stationName: 'Carpathian cabin' });
    token = (session as { accessToken: string }).accessToken;
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    ({ page } = olena);
    await olena.context.grantPermissions(['notifications']);
  });
  after(() => day.disposeAsync());

  it('from the settings I come to a page that says what is missing', async () => {
    await logIn(page, owner);
    await page.getByRole('navigation').first().waitFor({ timeout: timeoutMs });
    await page.goto('/settings');
    await page.getByRole('link', { name: /^Notifications/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor({ timeout: timeoutMs });
    await says('In this browser', 'This browser shows no notifications of the station.');
    await says('By e-mail', /Enter a mail server/);
    await look(page, 'notifications-empty');
  });

  it('I enter a mail server and an ntfy topic, and a forgotten field is marked', async () => {
    await toggle('Mail server');
    await press('Save');
    await textOn(page, 'Please fill this in.');
    await page.getByLabel('Server', { exact: true }).and(page.locator(':focus')).waitFor();
    await page.getByLabel('Server', { exact: true }).fill('127.0.0.1');
    await page.getByLabel('Encryption').selectOption('none');
    await page.getByLabel('Port').fill(String(mailbox.port));
    await page.getByLabel('Sender address').fill('station@example.org');
    await toggle('ntfy');
    await page.getByLabel('Address', { exact: true }).fill(ntfy.url);
    await page.getByLabel('Topic').fill('cabin');
    await page.getByLabel('Access token (optional)').fill('tk_secret');
    await press('Save');
    await says(channels, 'Saved.');
    await page.reload();
    await says(channels, 'Leave it empty to keep the current one.');
    assert.equal(await page.getByLabel('Access token (optional)').inputValue(), '');
  });

  it('a test says in words how it ended', async () => {
    await press('Send a test: By e-mail');
    await says('By e-mail', 'The test was sent. It should arrive in a moment.');
    assert.match(mailbox.mails[0]?.text ?? '', /Subject: Carpathian cabin: Test message/);
    ntfy.answer(401);
    await press('Send a test: ntfy');
    await says(channels, /The test did not arrive: the login was refused/);
    await look(page, 'notifications-tested');
    ntfy.answer(200);
    await press('Send a test: ntfy');
    await says(channels, 'The test was sent. It should arrive in a moment.');
    assert.equal(ntfy.posts[0]?.headers.authorization, 'Bearer tk_secret');
  });

  it('I choose what I am told, my quiet hours, and e-mail; it is there after a reload', async () => {
    await toggle('E-mail to me');
    await page.getByRole('switch', { name: 'E-mail to me', checked: true }).waitFor({ timeout: timeoutMs });
    const told = card('What you are told');
    await told.getByLabel('Low batteries').click();
    await told.getByRole('switch', { name: 'Quiet hours' }).click();
    await told.getByLabel('From', { exact: true }).fill('23:30');
    await told.getByLabel('To', { exact: true }).click();
    const saved = async (): Promise<unknown> => {
      const view = (await station.get('/api/notifications', token)) as { preferences: unknown };
      return view.preferences;
    };
    const wanted = {
      email: true,
      topics: ['devices', 'updates', 'conditions', 'automations'],
      language: 'en',
      quiet: { from: '23:30', to: '07:00' },
    };
    await waitFor('it is saved', async () => JSON.stringify(await saved()).includes('23:30') || null);
    assert.deepEqual(await saved(), wanted);
    await page.reload();
    assert.equal(await told.getByLabel('From', { exact: true }).inputValue(), '23:30');
    assert.equal(await told.getByLabel('Low batteries').isChecked(), false);
  });

  it('without the push service of the browser, turning notifications on says so', async () => {
    await press('Turn on');
    await says('In this browser', /The push service of this browser does not answer/);
  });

  it('I turn notifications on, and the real service worker shows what the station encrypted', async () => {
    // What the push service of the browser would answer; its simulation has the keys.
    const answer = JSON.stringify(pushed.subscription);
    await page.addInitScript(`PushManager.prototype.subscribe = async () => ({ toJSON: () => (${answer}) });`);
    await page.reload();
    await press('Turn on');
    await says('In this browser', /This browser shows notifications/);
    await press('Send a test: In this browser');
    await says('In this browser', 'The test was sent. It should arrive in a moment.');
    const content = pushed.received[0]?.content;
    assert.partialDeepStrictEqual(content, { title: 'Test message', path: '/settings/notifications', lang: 'en' });
    await deliver(JSON.stringify(content), 'Test message');
    await deliver('what no station sends', 'Station');
    await look(page, 'notifications-on');
  });

  it('what an automation says arrives in the browser, by e-mail and by ntfy', async () => {
    const nodes = [
      { id: 'at', type: 'trigger', data: { kind: 'schedule', config: { time: '12:00' } } },
      { id: 'say', type: 'action', data: { kind: 'notify', config: { message: 'Water in the bathroom' } } },
    ];
    const call = async (path: string, body: unknown): Promise<{ id: string }> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(station.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      assert.ok(response.ok, await response.clone().text());
      return (await response.json()) as { id: string };
    };
    const flow = { nodes, edges: [{ id: 'e', source: 'at', target: 'say' }] };
    const { id } = await call('/api/automations', { name: 'Leak', flow });
    const counts = () => [pushed.received.length, mailbox.mails.length, ntfy.posts.length];
    const known = counts();
    await call(`/api/automations/${id}/run`, {});
    await waitFor('it arrives', async () => counts().every((count, index) => count > known[index]!) || null);
    assert.partialDeepStrictEqual(pushed.received.at(-1)?.content, {
      title: 'Leak',
      body: 'Water in the bathroom\nCarpathian cabin',
    });
  });

  it('in Ukrainian, too, and the app can be installed', async () => {
    await page.goto('/account');
    await page.getByText('Українська').click();
    await page.getByRole('heading', { level: 2, name: 'Мова' }).waitFor({ timeout: timeoutMs });
    await page.goto('/settings/notifications');
    await page.getByRole('heading', { level: 1, name: 'Сповіщення' }).waitFor({ timeout: timeoutMs });
    await textOn(page, 'Канали станції');
    await look(page, 'notifications-uk');
    const cdp = await olena.context.newCDPSession(page);
    const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors');
    // Playwright's pages are private windows, in which nothing can be installed.
    assert.deepEqual(
      installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'),
      [],
    );
  });

  it('after I log out nothing more is sent to this browser', async () => {
    await page.goto('/account');
    await page.getByRole('button', { name: 'Вийти', exact: true }).click();
    // Not its password field: a card of the account page has the same name.
    await page.getByRole('heading', { level: 1, name: 'Вхід', exact: true }).waitFor({ timeout: timeoutMs });
    const view = (await station.get('/api/notifications', token)) as { push: { subscriptions: unknown[] } };
    assert.deepEqual(view.push.subscriptions, []);
    assert.deepEqual(olena.complaints, []);
  });

  /** Gives a push message to the service worker, as the browser does, and waits until a notification with this title is shown. */
  async function deliver(data: string, title: string): Promise<void> {
    const cdp = await olena.context.newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const found = registrations.find(({ scopeURL }) => scopeURL.endsWith('/push/'));
        if (found !== undefined) resolve(found.registrationId);
      });
    });
    await cdp.send('ServiceWorker.enable');
    const registrationId = await registered;
    await cdp.send('ServiceWorker.deliverPushMessage', { origin: station.url, registrationId, data });
    const isShown = (): Promise<boolean> =>
      page.evaluate<boolean>(`navigator.serviceWorker.getRegistration('/push/')
        .then((registration) => registration.getNotifications())
        .then((shown) => shown.some((one) => one.title === ${JSON.stringify(title)}))`);
    await waitFor(`the notification ${title}`, async () => (await isShown()) || null);
    await cdp.detach();
  }
});
