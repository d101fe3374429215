import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import type { Browser, Page } from 'playwright-core';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { addDevice } from '../../../apps/backend/testing/test-device.ts';
import { owner, runBackend, type RunningBackend } from '../../../apps/backend/testing/running-backend.ts';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { logIn, look, openBrowser, openPerson, type Person, textOn } from './browser.ts';

const root = join(import.meta.dirname, '../../..');

/** From the switch to its end; each journey continues from the previous one. */
describe('the station’s devices in other systems, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: RunningBackend;
  let assistant: MqttClient;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  const seen = new Map<string, string>();

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const see = (text: string | RegExp) => textOn(page, text);
  const valueOf = async (name: string): Promise<string> => {
    const term = page.locator('dt').getByText(name, { exact: true });
    return (await term.locator('xpath=following-sibling::dd[1]/span').innerText()).trim();
  };
  /** The form of one of the two systems. */
  const formOf = (label: string) => page.locator('form').filter({ has: page.getByLabel(label) });

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    station = day.use(await runBackend({ env: { WEB_DIR: join(root, 'dist/web') } }));
    await station.setUp();
    await addDevice(station.backend.db, 'lamp-1');
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.backend.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
    await page.getByRole('navigation').first().waitFor();
  });
  after(() => day.disposeAsync());

  it('I switch Home Assistant on: what it needs is shown once', async () => {
    await page.goto('/settings');
    await page.getByRole('link', { name: /^Home Assistant and others/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Home Assistant and others' }).waitFor();
    await look(page, 'consumers-1-off');
    const topic = page.getByLabel('Discovery prefix');
    await topic.fill('station/mine');
    await formOf('Discovery prefix').getByRole('button', { name: 'Switch on' }).click();
    assert.equal(await topic.getAttribute('aria-invalid'), 'true');
    await topic.fill('homeassistant');
    await formOf('Discovery prefix').getByRole('button', { name: 'Switch on' }).click();
    await page.getByRole('heading', { name: 'Login for Home Assistant' }).waitFor();
    await look(page, 'consumers-2-login');
    const login = { username: await valueOf('User'), password: await valueOf('Password') };
    assert.match(await valueOf('Port'), /^\d+$/);
    assistant = await connectAsync(station.backend.mqttAddress ?? '', { ...login, reconnectPeriod: 0 });
    day.defer(() => assistant.endAsync(true));
    assistant.on('message', (at, payload) => seen.set(at, payload.toString()));
    await assistant.subscribeAsync('homeassistant/#', { qos: 1 });
    await waitFor('the lamp', () => [...seen.values()].some((text) => text.includes('"lamp-1"')));
    await page.reload();
    await see(/^Connected.+1 device/);
    assert.equal(await page.locator('dt').getByText('Password', { exact: true }).count(), 0, 'shown once');
    await look(page, 'consumers-3-connected');
  });

  it('a new password ends the one before', async () => {
    await press('New password');
    await page.getByRole('dialog').getByRole('button', { name: 'New password' }).click();
    await page.getByRole('heading', { name: 'Login for Home Assistant' }).waitFor();
    await waitFor('the login of before to end', () => !assistant.connected);
  });

  it('after I switch it off it is a form again', async () => {
    await press('Switch off');
    const asked = page.getByRole('dialog', { name: 'Switch off Home Assistant?' });
    await asked.getByRole('button', { name: 'Switch off' }).click();
    await asked.waitFor({ state: 'detached' });
    await page.getByLabel('Discovery prefix').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Login for Home Assistant' }).count(), 0);
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
