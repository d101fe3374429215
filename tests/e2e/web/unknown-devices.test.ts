import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { startVirtualDevice, type DeviceLogin, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import {
  attend,
  chooseInMenu,
  look,
  openBrowser,
  openDevice,
  openPerson,
  timeoutMs,
  textOn,
  type Person,
  logIn,
} from './browser.ts';

const root = join(import.meta.dirname, '../../..');

const login = (externalId: string, type: string, name: string): DeviceLogin => ({
  externalId,
  type,
  name,
  token: randomBytes(32).toString('base64url'),
  profile: 'field',
});

/** A day with devices that the station does not have; each journey continues from the previous one. */
describe('unknown devices in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: Installation;
  let browser: Browser;
  let olena: Person;
  let page: Page;

  const see = (text: string | RegExp) => textOn(page, text);
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const gone = (text: string | RegExp) =>
    page.getByText(text).first().waitFor({ state: 'detached', timeout: timeoutMs });
  const connect = (one: DeviceLogin): VirtualDevice =>
    day.use(
      startVirtualDevice({
        url: station.mqttUrl,
        stationId,
        login: one,
        seed: 'unknown',
        speed: 0.001,
        heartbeatMs: 1_000,
        profile: { reconnectMs: 500, handshakeRetryMs: 2_000 },
      }),
    );

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    const logins = [login('light-0001', 'light', 'Hall lamp'), login('climate-0001', 'climate', 'Balcony')];
    const env = { WEB_DIR: join(root, 'dist/web') };
    station = day.use(await install('the embedded broker and SQLite', { logins, env }));
    await station.startBackend();
    await station.logIn();
    for (const one of logins) connect(one);
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
    await page.getByRole('switch', { name: 'Hall lamp' }).waitFor({ timeout: timeoutMs });
  });
  after(() => day.disposeAsync());

  it('a device that nobody added wants to connect: home says so without an alarm', async () => {
    connect(login('pir-unknown', 'pir', ''));
    await page.getByRole('button', { name: /things? needs? attention/ }).waitFor();
    await look(page, '85-unknown-home');
    await attend(page, /A device is waiting to be added/);
    await page.getByRole('heading', { level: 1, name: 'Unknown devices' }).waitFor();
    await see('pir-unknown');
    await look(page, '86-unknown');
  });

  it('I accept it, and it is a device of mine as soon as it logs in again', async () => {
    await press('Accept…: pir-unknown');
    const dialog = page.getByRole('dialog', { name: 'Add this device?' });
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.getByText('Please fill this in.').waitFor();
    await dialog.getByLabel('Name').fill('Garage motion');
    await dialog.getByLabel('Zone', { exact: true }).selectOption({ label: 'New zone…' });
    await dialog.getByLabel('Name of the new zone').fill('Garage');
    await look(page, '87-accept');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.waitFor({ state: 'detached' });
    await see('Garage motion was accepted.');
    await go('Home');
    await page.getByRole('link', { name: /^Garage motion/ }).waitFor({ timeout: timeoutMs });
    await gone('A device is waiting to be added');
    await page.getByRole('link', { name: /^Garage motion/ }).click();
    await see('Garage · online');
  });

  it('I block the device of a neighbour; it is not shown again, and I can undo it', async () => {
    connect(login('light-neighbour', 'light', ''));
    await go('Home');
    await attend(page, /A device is waiting to be added/);
    await press('Block: light-neighbour');
    await press('Unblock: light-neighbour');
    await page.getByRole('button', { name: 'Accept…: light-neighbour' }).waitFor();
    await press('Block: light-neighbour');
    await see('Nothing is waiting');
    await look(page, '88-blocked');
    await go('Home');
    await page.getByRole('switch', { name: 'Hall lamp' }).waitFor();
    assert.equal(await page.getByText('A device is waiting to be added').count(), 0);
    await go('Devices');
    await page.getByRole('link', { name: /^Unknown devices/ }).click();
    await page.getByRole('button', { name: 'Unblock: light-neighbour' }).waitFor();
  });

  it('I remove a device: it is told to erase itself, and the dialog has said so', async () => {
    const lamp = connect(login('light-unused', 'light', ''));
    await go('Home');
    await attend(page, /A device is waiting to be added/);
    await press('Accept…: light-unused');
    await page.getByRole('dialog').getByLabel('Name').fill('Old lamp');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await go('Home');
    await openDevice(page, 'Old lamp');
    await page.getByText('online', { exact: true }).waitFor({ timeout: timeoutMs });
    await chooseInMenu(page, 'Remove device');
    const dialog = page.getByRole('dialog', { name: 'Remove Old lamp?' });
    await dialog.getByText('It is online, so it is reset at once.').waitFor();
    await look(page, '89-remove-online');
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await waitFor('the lamp to erase itself', () => lamp.isErased(), timeoutMs);
    await page.getByRole('switch', { name: 'Hall lamp' }).waitFor();
    assert.equal(await page.getByText('Old lamp').count(), 0);
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
