import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { homePassword } from '@station/simulators/wifi/home';
import { logIn, look, openBrowser, openPerson, textOn, timeoutMs, type Person } from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena', email: 'olena@example.org', password: 'correct horse battery' };
const wrongPassword = 'Wrong-Horse-3359';

/** The station itself, managed from the web app: its machine, services, log and network. The Wi-Fi is simulated, the agent is real. */
describe('the station itself, in a real Chromium, with a real agent and backend', { timeout: 600_000 }, () => {
  const evening = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  let log: Page;

  const see = (text: string | RegExp) => textOn(page, text);
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click();
  const dialog = () => page.getByRole('dialog');
  const lines = () => log.getByRole('region', { name: 'Lines of the log' });

  before(async () => {
    station = evening.use(await startRunningStation({ SIMULATE_WIFI: 'true' }));
    browser = evening.use(await openBrowser());
    olena = evening.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    const data = { ...owner, code: station.setupCode, stationName: 'Kyiv flat' };
    const answer = await page.request.post('/api/auth/setup', { data, headers: { origin: station.url } });
    assert.ok(answer.ok(), await answer.text());
    await olena.context.clearCookies();
    await logIn(page, owner);
    await page.getByRole('navigation').first().waitFor();
  });
  after(() => evening.disposeAsync());

  it('I see how the machine is', async () => {
    await page.goto('/settings/diagnostics');
    const card = page.getByRole('region', { name: 'Machine' });
    for (const name of ['Processor', 'Memory', 'Running for', 'Clock']) {
      await card.getByRole('heading', { name }).waitFor({ timeout: timeoutMs });
    }
    await textOn(card, /\d.* of .*B free/);
    await textOn(card, 'As on this device.');
    await look(page, 'station-1-machine');
  });

  it('I follow the log while I restart a service, and it goes on afterwards', async () => {
    log = await olena.context.newPage();
    await log.goto('/settings/log');
    await textOn(log, 'Live');
    await lines()
      .getByText(/backend_started/)
      .first()
      .waitFor();
    await press('Restart Backend');
    await dialog().getByText('This page, automations and devices stop for some seconds.').waitFor();
    await dialog().getByRole('button', { name: 'Restart', exact: true }).click();
    await see('Restarted a moment ago');
    // The stream ended with the backend; it goes on where it was.
    await log.getByLabel('Contains').fill('SERVICE_RESTART_requested');
    await lines()
      .getByText(/"userId"/)
      .first()
      .waitFor();
    await log.getByLabel('Contains').fill('backend_stopping');
    await lines()
      .getByText(/backend_stopping \{"signal"/)
      .first()
      .waitFor();
  });

  it('I filter the log, pause it and save it', async () => {
    await log.getByLabel('Contains').fill('');
    await log.getByLabel('Service', { exact: true }).selectOption({ label: 'Backend' });
    await lines()
      .getByText(/backend_started/)
      .first()
      .waitFor();
    assert.equal(
      await lines()
        .getByText(/"event":"service_restarted"/)
        .count(),
      0,
    );
    await look(log, 'station-3-log');
    await log.getByLabel('Level').selectOption({ label: 'Errors' });
    assert.equal(
      await lines()
        .getByText(/backend_started/)
        .count(),
      0,
    );
    await log.getByLabel('Level').selectOption({ label: 'Everything' });
    await log.getByRole('button', { name: 'Pause' }).click();
    await textOn(log, 'Paused. New lines are kept.');
    const saved = log.waitForEvent('download');
    await log.getByRole('button', { name: 'Save as file' }).click();
    const text = await readFile(await (await saved).path(), 'utf8');
    assert.match(text, /^\d{4}-\S+Z backend \{.*backend_started/m);
    assert.ok(!text.includes(owner.password));
    await log.getByRole('button', { name: 'Continue' }).click();
    await textOn(log, 'Live');
  });

  it('I see the networks nearby, and a wrong password leads back to mine, with the reason', async () => {
    await page.goto('/settings/network');
    await see('On Wi-Fi Home');
    await see('Home upstairs');
    await see(/The station is here/);
    assert.equal(await page.getByText('Cellar').count(), 0, 'a hidden network is not in the list');
    await look(page, 'station-4-network');
    await press('Join Home upstairs');
    await dialog().getByText('This page may be unreachable').waitFor();
    await dialog().getByRole('button', { name: 'Join' }).click();
    await dialog().getByText('Enter the password of this network.').waitFor();
    await dialog().getByLabel('Password', { exact: true }).fill(wrongPassword);
    await look(page, 'station-5-join');
    await dialog().getByRole('button', { name: 'Join' }).click();
    await see('Joining “Home upstairs”');
    await see('“Home upstairs” could not be joined');
    await see('The password is wrong.');
    await page.reload();
    await see('The password is wrong.');
    await see('On Wi-Fi Home');
    await press('Got it');
    await page.reload();
    await see('Home upstairs');
    assert.equal(await page.getByText('could not be joined').count(), 0);
  });

  it('I bring the station into a hidden network by its name', async () => {
    await press('Another network');
    await dialog().getByLabel('Network name').fill('Cellar');
    await dialog().getByLabel('Password', { exact: true }).fill(homePassword);
    await dialog().getByRole('button', { name: 'Join' }).click();
    await see('The station is now in “Cellar”');
    await see('On Wi-Fi Cellar');
    await press('Got it');
    await press('Show the password');
    await page.getByRole('img', { name: /QR code that joins the hotspot/ }).waitFor();
  });

  it('no device moves on the home page when the agent and what needs attention answer late', async () => {
    await using anna = await openPerson(browser, station.url, 'en-GB', { serviceWorkers: 'block' });
    const phone = anna.page;
    await logIn(phone, owner);
    await phone.getByRole('navigation').first().waitFor();
    await phone.setViewportSize({ width: 360, height: 740 });
    const tiles = phone.locator('main li');
    const late = async (path: string, answer: { status?: number; json: unknown }): Promise<void> => {
      await phone.route(`**${path}`, async (route) => {
        await tiles.first().waitFor();
        await route.fulfill(answer);
      });
    };
    // As an older station, which has no snapshots: each part comes by itself.
    const absent = { statusCode: 404, code: 'not_found', message: 'There is nothing here.' };
    await phone.route('**/api/snapshot', (route) => route.fulfill({ status: 404, json: absent }));
    const silent = { statusCode: 502, code: 'agent_unreachable', message: 'The agent does not answer.' };
    await late('/api/system/status', { status: 502, json: silent });
    const broken = {
      id: 'automations_broken',
      severity: 'warning',
      message: 'An automation cannot run.',
      since: new Date().toISOString(),
    };
    await late('/api/conditions', { json: [{ ...broken, details: { names: ['Evening'], count: 1 } }] });
    await phone.addInitScript(`
      window.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });
    `);
    await phone.goto('/');
    await phone.getByRole('button', { name: '2 things need attention' }).waitFor();
    await look(phone, 'station-6-late');
    const shift = await phone.evaluate<number>('window.shift');
    assert.ok(shift <= 0.05, `${shift}`);
  });

  it('no password was in the log, and nothing broke the rules of the page', async () => {
    await log.getByLabel('Service', { exact: true }).selectOption({ label: 'All services' });
    await lines()
      .getByText(/wifi_joined/)
      .first()
      .waitFor();
    const text = (await lines().textContent()) ?? '';
    for (const secret of [wrongPassword, homePassword, owner.password]) assert.ok(!text.includes(secret), secret);
    assert.deepEqual(olena.complaints, []);
  });
});
