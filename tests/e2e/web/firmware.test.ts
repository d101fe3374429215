import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import {
  attend,
  goBySettings,
  logIn,
  look,
  openBrowser,
  openPerson,
  type Person,
  textOn,
  timeoutMs,
} from './browser.ts';
import { startScriptedDevice, type ScriptedDevice } from './scripted-device.ts';

const root = join(import.meta.dirname, '../../..');
const agentToken = 'token-between-agent-and-backend';
const taras = { name: 'Taras', email: 'taras@example.org', password: 'a password of his own' };
/** Four of each type, so that there are three waves: one, two, four. */
const count = 16;

/** A day of new firmware with scripted devices; each journey continues from the previous one. */
describe('firmware in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: Installation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  const devices = new Map<string, ScriptedDevice>();

  const device = (name: string): ScriptedDevice => {
    const found = devices.get(name);
    assert.ok(found, name);
    return found;
  };
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const see = (text: string | RegExp, on: Page = page) => textOn(on, text);
  const card = (name: string, on = page) => on.getByRole('region', { name, exact: true }).first();
  const seeIn = (name: string, text: string | RegExp) => textOn(card(name), text);
  const row = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const bar = (name: string) => page.getByRole('progressbar', { name: `Update of ${name}` });

  /** As the agent hands it over; the file itself is not fetched by these devices. */
  const publish = async (type: string, version: string, more: object = {}): Promise<void> => {
    const body = {
      name: type,
      version,
      file: `${type}@${version}.bin`,
      checksum: `sha256:${'5a'.repeat(32)}`,
      size: 1_234_567,
      ...more,
    };
    const response = await fetch(`${station.url}/api/ota/firmware-ready`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agentToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 204, await response.text());
  };
  const told = async (name: string, version: string): Promise<void> =>
    void (await waitFor(`${name} to be told`, () => device(name).take(version), timeoutMs));
  /** Which of these gets the command first; only the station decides it. */
  const firstTold = async (names: readonly string[], version: string): Promise<ScriptedDevice> =>
    waitFor('the first to be told', () => names.map(device).find((one) => one.take(version)) ?? false, timeoutMs);
  const namesOf = (type: string): string[] =>
    station.logins.filter((login) => login.type === type).map(({ name }) => name);

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    const env = { WEB_DIR: join(root, 'dist/web'), AGENT_TOKEN: agentToken, FIRMWARE_SOAK_SECONDS: '3' };
    station = day.use(await install('the embedded broker and SQLite', { devices: count, env }));
    await station.startBackend();
    for (const login of station.logins) {
      const started = startScriptedDevice({ url: station.mqttUrl, stationId, login, firmwareVersion: '1.0.0' });
      devices.set(login.name, day.use(started));
    }
    await station.logIn();
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
  });
  after(() => day.disposeAsync());

  it('I see what my devices run, and that nothing newer is there', async () => {
    await goBySettings(page, 'Updates');
    await see('No firmware has been published for these devices yet.');
    await seeIn('Climate sensor', '4 devices');
    await seeIn('Climate sensor', '1.0.0');
    await see(/^No update has ended yet/);
    await look(page, '70-firmware-nothing');
  });

  it('I want to be asked first. New firmware comes: home says so, and nothing is installed before I approve', async () => {
    await go('Home');
    await publish('climate', '2.0.0', { needsApproval: true });
    await attend(page, /New firmware is waiting for approval/);
    await seeIn('Climate sensor: 2.0.0', 'Waiting for approval');
    await seeIn('Climate sensor: 2.0.0', /^0 of 4 updated/);
    await see('1 update is waiting for approval.');
    await look(page, '72-firmware-approval');
  });

  it('I approve: one device tries it first, and I watch its bar', async () => {
    await device('Cellar climate').sleep();
    await card('Climate sensor: 2.0.0').getByText('Asleep or switched off').waitFor({ timeout: timeoutMs });
    await press('Approve');
    const first = await firstTold(namesOf('climate'), '2.0.0');
    first.progress(40);
    await seeIn('Climate sensor: 2.0.0', 'Trying the first device');
    await page.locator('[role=progressbar][aria-valuenow="40"]').waitFor({ timeout: timeoutMs });
    assert.equal(await bar(first.name).getAttribute('aria-valuetext'), 'Downloading, 40%');
    await look(page, '73-firmware-first');
    await row(first.name).getByRole('link', { name: first.name }).click();
    await see('From 1.0.0 to 2.0.0');
    first.progress(70);
    await page.locator('[role=progressbar][aria-valuenow="70"]').waitFor({ timeout: timeoutMs });
    await look(page, '74-device-updating');
    first.progress(100);
    first.restartWith('2.0.0');
    await see('2.0.0');
    await page.locator('[role=progressbar]').waitFor({ state: 'detached', timeout: timeoutMs });
    await page.goBack();
    await seeIn('Climate sensor: 2.0.0', /^1 of 4 updated/);
  });

  it('it goes on in waves; I pause and resume it', async () => {
    await seeIn('Climate sensor: 2.0.0', /^Wave [23] of 3$/);
    await press('Pause');
    await seeIn('Climate sensor: 2.0.0', 'Paused');
    await look(page, '75-firmware-paused');
    await press('Resume');
    // One in the second wave, and the last that is awake in the third.
    for (let nth = 0; nth < 2; nth += 1) {
      const next = await firstTold(namesOf('climate'), '2.0.0');
      next.progress(100);
      next.restartWith('2.0.0');
    }
    await seeIn('Climate sensor: 2.0.0', 'Wave 3 of 3');
    await seeIn('Climate sensor: 2.0.0', /^3 of 4 updated/);
  });

  it('the one that slept gets it when it wakes up, and then all of it is done and stays to be read', async () => {
    await seeIn('Climate sensor: 2.0.0', 'Asleep or switched off');
    await device('Cellar climate').wake();
    await told('Cellar climate', '2.0.0');
    device('Cellar climate').restartWith('2.0.0');
    await seeIn('Earlier updates', 'Done');
    await seeIn('Earlier updates', /^4 of 4 updated/);
    await page.getByRole('button', { name: /^Show devices/ }).click();
    assert.equal(await card('Earlier updates').getByText('Updated', { exact: true }).count(), 4);
    await look(page, '76-firmware-done');
  });

  it('firmware that its first device does not take is stopped automatically, and I am told why', async () => {
    await go('Home');
    await publish('light', '2.0.0');
    const first = await firstTold(namesOf('light'), '2.0.0');
    first.progress(30);
    first.refuse('the image is for another chip');
    await told(first.name, '2.0.0');
    first.refuse('the image is for another chip');
    await attend(page, /A firmware update was stopped/);
    await seeIn('Light: 2.0.0', 'Stopped, because the first device failed to update');
    await row(first.name).getByText('Failed to update, keeps its old firmware').waitFor();
    await row(first.name).getByText('the image is for another chip').waitFor();
    await seeIn('Light: 2.0.0', /3 left as they were/);
    await look(page, '77-firmware-stopped');
    await go('Home');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page
      .getByLabel(/^Ceiling lamp/)
      .first()
      .waitFor();
    assert.equal(await page.getByText(/was stopped/).count(), 0, 'I have seen it');
  });

  it('I stop one manually, after having been asked', async () => {
    await goBySettings(page, 'Updates');
    await publish('pir', '1.5.0');
    await firstTold(namesOf('pir'), '1.5.0');
    await seeIn('Motion sensor: 1.5.0', 'Trying the first device');
    const stop = card('Motion sensor: 1.5.0').getByRole('button', { name: 'Stop' });
    await stop.click();
    const dialog = page.getByRole('dialog', { name: 'Stop 1.5.0 for Motion sensor?' });
    await look(page, '78-firmware-stop');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await stop.click();
    await dialog.getByRole('button', { name: 'Stop the update' }).click();
    await seeIn('Earlier updates', 'Stopped manually');
    await card('Motion sensor: 1.5.0').waitFor({ state: 'detached' });
  });

  it('I go back to an older version, after having been warned', async () => {
    await publish('climate', '1.9.0');
    await page.reload();
    await page.getByRole('button', { name: 'Install a version for Climate sensor' }).click();
    const dialog = page.getByRole('dialog', { name: 'Install firmware for Climate sensor' });
    await dialog.getByText('All devices run it already').waitFor();
    await dialog.getByRole('radio', { name: /^1\.9\.0/ }).check();
    await dialog.getByText(/^This is older than 2\.0\.0/).waitFor();
    await look(page, '79-firmware-older');
    await dialog.getByRole('button', { name: 'Go back to 1.9.0' }).click();
    await dialog.waitFor({ state: 'detached' });
    const first = await firstTold(namesOf('climate'), '1.9.0');
    first.progress(100);
    first.restartWith('1.9.0');
    await seeIn('Climate sensor: 1.9.0', /^1 of 4 updated/);
    await seeIn('Climate sensor', '1.9.0');
  });

  it('the station stops answering: all of it stays readable, dimmed, and nothing can be pressed', async () => {
    process.kill(station.pid(), 'SIGSTOP');
    try {
      await see(/Connection lost\. Last update/);
      assert.equal(await page.getByRole('button', { name: 'Stop' }).getAttribute('aria-disabled'), 'true');
      await look(page, '80-firmware-stale');
    } finally {
      process.kill(station.pid(), 'SIGCONT');
    }
    await page.getByText('Live', { exact: true }).waitFor({ timeout: timeoutMs });
  });

  it('Taras, a member, reads the same on his phone in Ukrainian, and is told that it is not his to change', async () => {
    const added = await fetch(`${station.url}/api/station/members`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await station.logIn()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...taras, role: 'member' }),
    });
    assert.equal(added.status, 201);
    await using person = await openPerson(browser, station.url, 'uk-UA');
    const phone = person.page;
    await phone.setViewportSize({ width: 360, height: 740 });
    await phone.goto('/settings/updates');
    await phone.getByRole('textbox').first().fill(taras.email);
    await phone.locator('input[name=password]').fill(taras.password);
    await phone.keyboard.press('Enter');
    await see('Датчик клімату: 1.9.0', phone);
    await see('Схвалювати, зупиняти й починати оновлення пристроїв можуть лише власник та адміністратори.', phone);
    assert.equal(await phone.getByRole('button', { name: /Зупинити|Змінити|Встановити/ }).count(), 0);
    await look(phone, '81-firmware-member-uk');
    assert.deepEqual(person.complaints, []);
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
