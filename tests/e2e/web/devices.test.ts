import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  chooseInMenu,
  createOwner,
  goBySettings,
  lampAtHome,
  look,
  openBrowser,
  openDevice,
  openPerson,
  type Person,
  timeoutMs,
} from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };

/** A morning with devices that use real MQTT and the real backend; each journey continues from the previous one. */
describe('devices in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const morning = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  /** Name of the lamp of these journeys. */
  let lamp = '';

  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name }).click();
  const tile = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const theSwitch = (name: string) => page.getByRole('switch', { name, exact: true });
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const heading = (name: string | RegExp) =>
    page.getByRole('heading', { name }).first().waitFor({ timeout: timeoutMs });

  const rename = async (on: Page, name: string): Promise<void> => {
    await chooseInMenu(on, 'Rename');
    await on.getByRole('dialog').getByLabel('Name', { exact: true }).fill(name);
    await on.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await on.getByRole('dialog').waitFor({ state: 'detached' });
  };

  before(async () => {
    station = morning.use(await startRunningStation());
    browser = morning.use(await openBrowser());
    olena = morning.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await createOwner(page, { ...owner, setupCode: station.setupCode, stationName: 'Kyiv flat' });
  });
  after(() => morning.disposeAsync());

  it('I see at home that all my devices are online, each with its value', async () => {
    await heading(/Everything is fine|attention/);
    await page.getByText(/devices online/).waitFor();
    lamp = await lampAtHome(page);
    assert.notEqual(lamp, '');
    await page.getByText('°C').first().waitFor();
    await look(page, '20-devices');
  });

  it('I switch a lamp with a tap, and the device itself confirms it', async () => {
    const before = await theSwitch(lamp).getAttribute('aria-checked');
    const wanted = before === 'true' ? 'false' : 'true';
    await theSwitch(lamp).click();
    const confirmed = page
      .getByRole('switch', { name: lamp, exact: true, checked: wanted === 'true' })
      .and(page.locator(':not([aria-busy])'));
    await confirmed.waitFor({ timeout: timeoutMs });
    // Checks the station's state, not the state of this page.
    await page.reload();
    await confirmed.waitFor({ timeout: timeoutMs });
  });

  it('I dim it with the keyboard alone', async () => {
    await page.getByRole('button', { name: `${lamp}: details`, exact: true }).click();
    await look(page, '20-devices-sheet');
    await page.getByRole('slider', { name: 'Brightness' }).focus();
    // A reload would take back a request that is not answered.
    const answered = page.waitForResponse((response) => response.url().endsWith('/command'));
    await page.keyboard.press('Home');
    // At 0 % it would be off.
    await page.keyboard.press('ArrowRight');
    await tile(lamp).getByText('Brightness 1\u00a0%', { exact: true }).waitFor();
    await answered;
    await page.reload();
    await tile(lamp).getByText('Brightness 1\u00a0%', { exact: true }).waitFor();
  });

  it('a tap in the moment in which the station stops answering says so, and does not pretend', async () => {
    const wasOn = await theSwitch(lamp).getAttribute('aria-checked');
    await station.whileFrozen(page, async () => {
      await theSwitch(lamp).click();
      await page.getByText(/Connection lost\. Last update/).waitFor();
      // Long before the command itself is given up.
      await tile(lamp)
        .getByText(/^No answer\. Check whether it worked/)
        .waitFor({ timeout: 3_000 });
      assert.equal(await theSwitch(lamp).getAttribute('aria-checked'), wasOn);
      await look(page, '20a-tap-without-answer');
    });
    // The command has reached it after all, and the page shows what the lamp is.
    const isOther = page.getByRole('switch', { name: lamp, exact: true, checked: wasOn !== 'true' });
    await isOther.and(page.locator(':not([aria-busy])')).waitFor({ timeout: timeoutMs });
    await theSwitch(lamp).click();
    const isAsBefore = page.getByRole('switch', { name: lamp, exact: true, checked: wasOn === 'true' });
    await isAsBefore.and(page.locator(':not([aria-busy])')).waitFor({ timeout: timeoutMs });
  });

  it('I log out where no network is: I am told that I am still logged in', async () => {
    await olena.context.setOffline(true);
    await page.getByRole('button', { name: /Olena/ }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    const told = page.getByRole('dialog', { name: 'You are still logged in' });
    await told.getByText(/^The station does not answer/).waitFor();
    await told.getByRole('button', { name: 'Close' }).click();
    await told.waitFor({ state: 'detached' });
    await olena.context.setOffline(false);
    await page.getByText('Live', { exact: true }).waitFor({ timeout: timeoutMs });
  });

  it('I look at it closely: its state, its day, what happened', async () => {
    await openDevice(page, lamp);
    await heading(lamp);
    await page.locator('canvas').waitFor();
    await page.getByText(/^On: .+% of the time, \d+ changes?$/).waitFor();
    await look(page, '21-lamp');
  });

  it('I give it a better name and a room of its own', async () => {
    await rename(page, 'Night light');
    await heading('Night light');
    await chooseInMenu(page, 'Change zone');
    await page.getByLabel('Zone', { exact: true }).selectOption({ label: 'New zone…' });
    await page.getByLabel('Name of the new zone').fill('Study');
    await press('Save');
    await page.getByRole('status').getByText('1 device is now in Study.').waitFor();
    await go('Home');
    await heading('Study');
    await theSwitch('Night light').waitFor();
    await look(page, '22-zones');
    lamp = 'Night light';
  });

  it('what I changed in another tab is not taken back by this one', async () => {
    await openDevice(page, lamp);
    const other = await olena.context.newPage();
    await other.goto(page.url());
    await rename(other, 'Reading light');
    await heading('Reading light');
    await chooseInMenu(page, 'Change zone');
    await press('Save');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await chooseInMenu(page, 'Rename');
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Reading light');
    await page.keyboard.press('Escape');
    await rename(other, lamp);
    await heading(lamp);
    await other.close();
    await go('Home');
  });

  it('I call the room by its better name', async () => {
    await goBySettings(page, 'Home and zones');
    await press('Change zone Study');
    const dialog = page.getByRole('dialog', { name: 'Zone Study' });
    await dialog.getByLabel('Name', { exact: true }).fill('Library');
    await look(page, '22-zone');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await go('Home');
    await heading('Library');
    await page.reload();
    await heading('Library');
  });

  it('a command that nobody carries out is taken back, with the reason', async () => {
    const before = await theSwitch(lamp).getAttribute('aria-checked');
    // The station is there, the browser has its page, but this request gets no further.
    await page.route('**/command', (route) => route.abort());
    await theSwitch(lamp).click();
    await tile(lamp).getByRole('alert').getByText('The station did not answer. Try again.').waitFor();
    assert.equal(await theSwitch(lamp).getAttribute('aria-checked'), before);
    await look(page, '23-taken-back');
    await page.unroute('**/command');
    await theSwitch(lamp).click();
    await page.getByText('The station did not answer. Try again.').waitFor({ state: 'detached' });
  });

  it('a lamp that is on is not shown as unanswered, though the confirmation was lost', async () => {
    await page.routeWebSocket('**/ws', (socket) => {
      const station = socket.connectToServer();
      station.onMessage((message) => {
        if (!String(message).includes('"device_command"')) socket.send(message);
      });
    });
    await page.reload();
    const before = (await theSwitch(lamp).getAttribute('aria-checked')) === 'true';
    await theSwitch(lamp).click();
    const settled = page
      .getByRole('switch', { name: lamp, exact: true, checked: !before })
      .and(page.locator(':not([aria-busy])'));
    await settled.waitFor({ timeout: timeoutMs });
    assert.equal(await tile(lamp).getByRole('alert').textContent(), '');
  });

  it('I ask a chart for a value, a part of it, another device beside it, and its file', async () => {
    await go('Home');
    await page.getByRole('listitem').filter({ hasText: '°C' }).getByRole('link').first().click();
    await page.getByText('Temperature', { exact: true }).first().click();
    await page.getByText('7 days', { exact: true }).click();
    await page.locator('figure[data-resolution] canvas').waitFor();
    const chart = page.getByRole('slider', { name: 'Time on the chart' });
    await chart.focus();
    await page.keyboard.press('ArrowLeft');
    await page.locator('[role=slider][aria-valuetext*=": "][aria-valuetext*="°C"]').waitFor();
    await page.keyboard.press('+');
    await page.getByRole('button', { name: 'Whole range' }).waitFor();
    await chart.focus();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Whole range' }).waitFor({ state: 'detached' });
    await press('Add another device');
    await page.getByLabel('Add another device').selectOption({ index: 1 });
    await page.getByRole('button', { name: /^Remove from the chart: / }).waitFor();
    await look(page, '26-chart');
    const download = page.waitForEvent('download');
    await press('Download as CSV');
    const lines = (await readFile(await (await download).path(), 'utf8')).split('\r\n');
    assert.match(lines[0] ?? '', /^device,/);
    const devices = new Set(lines.slice(1, -1).map((line) => line.slice(0, line.indexOf(','))));
    assert.equal(devices.size, 2, 'a line for each of both devices');
  });

  it('I read what happened at all devices', async () => {
    await go('Activity');
    await page.getByText('Motion detected').first().waitFor({ timeout: 120_000 });
    await page.getByRole('heading', { name: 'Today' }).waitFor();
    await look(page, '24-activity');
  });

  it('I see who switched my lamp, and find what happened to the station and its people', async () => {
    const entries = page.getByRole('region', { name: 'Activity' }).getByRole('listitem');
    const filter = page.getByRole('search', { name: 'Activity' });
    await filter.getByLabel('Show').selectOption({ label: 'People' });
    await entries
      .filter({ hasText: `${lamp}: Light: On · by Olena Kovalenko` })
      .first()
      .waitFor();
    await entries.filter({ hasText: 'Olena Kovalenko logged in on a new device' }).waitFor();
    assert.equal(await entries.filter({ hasText: 'Motion detected' }).count(), 0);
    await filter.getByLabel('Show').selectOption({ label: 'Station' });
    await entries.filter({ hasText: 'The station started' }).first().waitFor();
    await press('Clear filter');
    await filter.getByRole('combobox', { name: 'Device' }).fill(lamp);
    await filter
      .getByRole('option', { name: new RegExp(`^${lamp}`) })
      .first()
      .click();
    await entries.first().waitFor();
    await filter.getByRole('searchbox').fill('by olena');
    await page.getByText(/^Searched the newest/).waitFor();
    assert.deepEqual(await entries.filter({ hasNotText: /by Olena/ }).allInnerTexts(), []);
    assert.ok((await entries.count()) > 0);
    await look(page, '24-activity-filter');
    // The filter is in the address.
    await page.reload();
    await page.getByText(/^Searched the newest/).waitFor();
    await press('Clear filter');
  });

  it('I remove a device, after having been asked', async () => {
    await go('Home');
    await openDevice(page, lamp);
    await chooseInMenu(page, 'Remove device');
    const dialog = page.getByRole('dialog', { name: `Remove ${lamp}?` });
    await dialog.getByText('It is online, so it is reset at once.').waitFor();
    await look(page, '25-remove');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await chooseInMenu(page, 'Remove device');
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText(/devices online/).waitFor();
    assert.equal(await theSwitch(lamp).count(), 0);
    await page.reload();
    await page.getByText(/devices online/).waitFor();
    assert.equal(await theSwitch(lamp).count(), 0);
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
