import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  chooseInPart,
  createOwner,
  goToScenes,
  lampAtHome,
  look,
  openBrowser,
  openPerson,
  timeoutMs,
  type Person,
} from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };

/** Scenes, with the real backend and real MQTT: each story goes on where the one before has ended. */
describe('scenes in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const evening = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  /** Name of a lamp of these stories. */
  let lamp = '';

  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const option = (name: string | RegExp) => page.getByRole('option', { name });
  const headlineIs = (name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor({ timeout: timeoutMs });
  const lampSwitch = (state: { checked?: boolean } = {}) =>
    page.getByRole('switch', { name: lamp, exact: true, ...state });
  /** At home: it has done what was asked of it. */
  const lampIs = (checked: boolean) =>
    lampSwitch({ checked }).and(page.locator(':not([aria-busy])')).waitFor({ timeout: timeoutMs });

  before(async () => {
    station = evening.use(await startRunningStation());
    browser = evening.use(await openBrowser());
    olena = evening.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await createOwner(page, { ...owner, setupCode: station.setupCode, stationName: 'Kyiv flat' });
    lamp = await lampAtHome(page);
    assert.notEqual(lamp, '');
  });
  after(() => evening.disposeAsync());

  it('I keep how my lamp is as a scene, and run it with one tap from home and from the search', async () => {
    if ((await lampSwitch().getAttribute('aria-checked')) !== 'true') await lampSwitch().click();
    await lampIs(true);
    await goToScenes(page);
    await page.getByRole('heading', { name: 'No scenes yet' }).waitFor();
    await page.getByRole('link', { name: 'New scene' }).click();
    await headlineIs('New scene');
    await press('Save');
    await page.getByText('Choose something here.').waitFor();
    await press('Use the current state');
    const dialog = page.getByRole('dialog', { name: 'Use the current state' });
    await dialog.getByRole('searchbox', { name: 'Search devices' }).fill(lamp);
    await dialog.getByRole('checkbox', { name: new RegExp(`^${lamp}`) }).check();
    await look(page, '89-scene-present');
    await dialog.getByRole('button', { name: 'Use it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Name of the scene').fill('Evening');
    await press('Save');
    await headlineIs('Scenes');
    await page.getByRole('button', { name: 'Evening', exact: true }).waitFor();
    await look(page, '90-scenes');
    await go('Home');
    await lampSwitch().click();
    await lampIs(false);
    await page.getByRole('button', { name: 'Evening', exact: true }).click();
    await page.getByRole('region', { name: 'Scenes' }).getByText('Commands sent').waitFor();
    await lampIs(true);
    await look(page, '91-home-scene');
    await lampSwitch().click();
    await lampIs(false);
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search the station' }).fill('evening');
    await option(/^Evening/).waitFor();
    await page.keyboard.press('Enter');
    await option(/^Evening.*Commands sent/s).waitFor();
    await page.keyboard.press('Escape');
    await lampIs(true);
  });

  it('I make a scene with the keyboard by choosing what a lamp does, and try it before I save it', async () => {
    await lampIs(true);
    await goToScenes(page);
    await page.getByRole('link', { name: 'New scene' }).press('Enter');
    await headlineIs('New scene');
    const line = page.getByRole('group', { name: 'Device 1', exact: true });
    await line.getByRole('combobox', { name: 'Which device' }).focus();
    await page.keyboard.type(lamp);
    await page.keyboard.press('Enter');
    await line.getByLabel('What', { exact: true }).selectOption({ label: 'turn off' });
    // The new line has the keyboard; one that is not needed goes again.
    await page.getByRole('button', { name: 'Add device' }).press('Enter');
    await page.keyboard.type('no such device');
    await page.getByText('Nothing found').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Remove: Device 2' }).press('Enter');
    await page.getByRole('button', { name: 'Add device' }).and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: 'Try it' }).press('Enter');
    await page.getByText('Commands sent').waitFor();
    await look(page, '92-scene-made');
    await page.getByLabel('Name of the scene').fill('Night');
    await page.getByLabel('Name of the scene').press('Enter');
    await headlineIs('Scenes');
    await page.getByRole('button', { name: 'Night', exact: true }).waitFor();
    await go('Home');
    await lampIs(false);
    // Changed and left without saving: it waits there, and can be given up.
    await goToScenes(page);
    await page.getByRole('link', { name: 'Change scene Night' }).click();
    await line.getByLabel('What', { exact: true }).selectOption({ label: 'turn on' });
    await go('Home');
    await lampIs(false);
    await goToScenes(page);
    await page.getByRole('link', { name: 'Change scene Night' }).click();
    await page.getByText('These changes are not saved yet.').waitFor();
    assert.equal(await line.getByLabel('What', { exact: true }).locator('option:checked').innerText(), 'turn on');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByText('These changes are not saved yet.').waitFor({ state: 'detached' });
    assert.equal(await line.getByLabel('What', { exact: true }).locator('option:checked').innerText(), 'turn off');
  });

  it('somebody removes the scene that I change: what I typed stays, and saving creates it again', async () => {
    await goToScenes(page);
    await page.getByRole('link', { name: 'Change scene Night' }).click();
    await page.getByLabel('Name of the scene').fill('Late');
    const other = await olena.context.newPage();
    await other.goto(page.url());
    await other.getByRole('button', { name: 'Remove scene' }).click();
    await other.getByRole('dialog').getByRole('button', { name: 'Remove scene' }).click();
    await other.getByRole('heading', { level: 1, name: 'Scenes' }).waitFor();
    await other.close();
    await headlineIs('This scene is no longer here');
    assert.equal(await page.getByLabel('Name of the scene').inputValue(), 'Late');
    await page.getByLabel('Name of the scene').fill('Night');
    await press('Save');
    await headlineIs('Scenes');
    await page.getByRole('button', { name: 'Night', exact: true }).waitFor();
    await go('Home');
  });

  it('an automation runs my scene, and says so when the scene is gone', async () => {
    await lampSwitch().click();
    await lampIs(true);
    await go('Automations');
    await page.getByRole('link', { name: 'New automation' }).click();
    await chooseInPart(page, 'Trigger 1', 'A time of day');
    await chooseInPart(page, 'Step 1', 'Night');
    await page.getByText('run scene “Night”').waitFor();
    await press('Test');
    await page.getByText('would be done').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await look(page, '93-scene-in-automation');
    await press('Save and turn on');
    await press('Run now');
    await page.getByText('Done', { exact: true }).waitFor({ timeout: timeoutMs });
    await go('Home');
    await lampIs(false);
    await go('Activity');
    const given = page.getByRole('listitem').filter({ hasText: lamp });
    await given.filter({ hasText: 'by an automation' }).first().waitFor();
    await given.filter({ hasText: 'by scene Evening, Olena Kovalenko' }).first().waitFor();
    const remove = async (): Promise<void> => {
      await goToScenes(page);
      await page.getByRole('link', { name: 'Change scene Night' }).click();
      await press('Remove scene');
      const dialog = page.getByRole('dialog', { name: 'Remove the scene Night?' });
      await dialog.getByText('This automation will stop working:').waitFor();
      await dialog.getByRole('button', { name: 'Remove scene' }).click();
      await headlineIs('Scenes');
      await page.getByText('“Night” was removed.').waitFor();
    };
    await remove();
    await press('Undo');
    await page.getByRole('link', { name: 'Change scene Night' }).waitFor();
    await go('Automations');
    await page.getByRole('heading', { level: 1, name: 'Automations' }).waitFor();
    assert.equal(await page.getByText(/^It no longer works/).count(), 0, 'the automation has its scene again');
    await remove();
    await go('Automations');
    await page.getByText(/^It no longer works/).waitFor();
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
