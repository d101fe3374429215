import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page, Request } from 'playwright-core';
import { createOwner, lampAtHome, logIn, look, openBrowser, openPerson, type Person, timeoutMs } from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };

/** An hour of somebody who looks for things: the search and the list of devices, with the real backend and real MQTT. */
describe('finding things in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const hour = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  /** Name of a lamp of these journeys. */
  let lamp = '';
  let deviceCount = 0;

  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const search = () => page.getByRole('combobox', { name: 'Search the station' });
  const option = (name: string | RegExp) => page.getByRole('option', { name });
  const headlineIs = (name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor({ timeout: timeoutMs });
  const searchIsClosed = () => search().waitFor({ state: 'detached' });
  const rows = () => page.getByRole('row').filter({ has: page.getByRole('checkbox') });
  const rowOf = (name: string) => rows().filter({ has: page.getByRole('link', { name, exact: true }) });
  /** What the field says to a screen reader is the chosen option. */
  const active = async (): Promise<string> => {
    const id = await search().getAttribute('aria-activedescendant');
    return page.evaluate<string>(`document.getElementById(${JSON.stringify(id)})?.innerText ?? ''`);
  };

  before(async () => {
    station = hour.use(await startRunningStation());
    browser = hour.use(await openBrowser());
    olena = hour.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await createOwner(page, { ...owner, setupCode: station.setupCode, stationName: 'Kyiv flat' });
    lamp = await lampAtHome(page);
    assert.notEqual(lamp, '');
  });
  after(() => hour.disposeAsync());

  it('I press / and find a page by a word that is not its name', async () => {
    await page.keyboard.press('/');
    await search().waitFor();
    await option(/^People and guests/).waitFor();
    await look(page, '80-search');
    await page.keyboard.type('people');
    await page.getByRole('status').filter({ hasText: '1 result' }).waitFor();
    assert.match(await active(), /^People and guests/);
    await page.keyboard.press('Enter');
    await headlineIs('People and guests');
    await searchIsClosed();
  });

  it('I press Ctrl-K, mistype the name of a lamp, and get to it with the arrow keys', async () => {
    await page.keyboard.press('Control+k');
    // Two letters exchanged.
    await search().fill(lamp.slice(0, 1) + lamp.charAt(2) + lamp.charAt(1) + lamp.slice(3));
    await option(new RegExp(`^${lamp}`)).waitFor();
    for (let steps = 0; !(await active()).startsWith(lamp); steps += 1) {
      assert.ok(steps < 30, 'the arrow keys reach the lamp');
      await page.keyboard.press('ArrowDown');
    }
    await look(page, '81-search-typed');
    await page.keyboard.press('Enter');
    await headlineIs(lamp);
  });

  it('I switch the lamp from the search, and see there that it did', async () => {
    await page.keyboard.press('/');
    await search().fill(`turn ${lamp}`);
    const first = option(new RegExp(`^Turn (on|off) ${lamp}`));
    await first.waitFor();
    const wanted = (await first.innerText()).startsWith('Turn on') ? 'On' : 'Off';
    const answered = page.waitForResponse((response) => response.url().endsWith('/command'));
    await page.keyboard.press('Enter');
    assert.equal((await answered).status(), 202);
    await option(new RegExp(`^Turn ${wanted === 'On' ? 'off' : 'on'} ${lamp}.*${wanted}$`, 's')).waitFor();
    await page.keyboard.press('Escape');
    await searchIsClosed();
    await go('Home');
    await page
      .getByRole('switch', { name: lamp, exact: true, checked: wanted === 'On' })
      .and(page.locator(':not([aria-busy])'))
      .waitFor({ timeout: timeoutMs });
  });

  it('I check for updates from the search', async () => {
    await press('Search');
    await search().fill('chekc');
    await option('Check for updates').click();
    await option(/^Check for updates.*No newer release/s).waitFor();
    await page.keyboard.press('Escape');
  });

  it('a / in a text field is a letter', async () => {
    await go('Devices');
    await headlineIs('Devices');
    const field = page.getByRole('searchbox', { name: 'Filter by name, type or id' });
    await field.focus();
    await page.keyboard.type('/');
    assert.equal(await field.inputValue(), '/');
    assert.equal(await search().count(), 0);
    await field.fill('');
  });

  it('I see all my devices in a table, and sort it', async () => {
    await rows().first().waitFor();
    deviceCount = await rows().count();
    assert.ok(deviceCount > 5);
    await look(page, '82-devices');
    const names = () => rows().getByRole('link').allInnerTexts();
    const upwards = await names();
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
    await page.getByRole('columnheader', { name: 'Name' }).and(page.locator('[aria-sort=descending]')).waitFor();
    assert.deepEqual(await names(), upwards.toReversed());
    assert.match(page.url(), /order=down/);
  });

  it('I filter them, and the filter is in the address', async () => {
    await page.getByLabel('Type', { exact: true }).selectOption({ label: 'Climate sensor' });
    await page.getByText(/^\d+ of \d+ shown$/).waitFor();
    const climate = await rows().count();
    assert.ok(climate > 0 && climate < deviceCount);
    await press(/^Offline/);
    await page.getByRole('heading', { name: 'No matching devices' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'No matching devices' }).waitFor();
    await look(page, '83-devices-none');
    await press('Clear filter');
    await rows().first().waitFor();
    assert.equal(await rows().count(), deviceCount);
  });

  it('I put several devices into a new zone at once', async () => {
    const put = async (zone: string, known = 'New zone…'): Promise<void> => {
      await page.getByText('3 selected').waitFor();
      await page.getByRole('region', { name: 'Selected devices' }).getByRole('button', { name: 'Zone' }).click();
      const dialog = page.getByRole('dialog', { name: 'Zone of 3 devices' });
      await dialog.getByLabel('Zone', { exact: true }).selectOption({ label: known });
      if (known !== zone) await dialog.getByLabel('Name of the new zone').fill(zone);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    for (const index of [3, 4, 5]) await rows().nth(index).getByRole('checkbox').check();
    await put('Basement');
    for (const index of [0, 1, 2]) await rows().nth(index).getByRole('checkbox').check();
    await look(page, '84-devices-chosen');
    await put('Attic');
    await page.getByRole('status').getByText('3 devices are now in Attic.').waitFor();
    await look(page, '84-devices-undo');
    await press('Undo');
    await page.getByText('3 devices are now in Attic.').waitFor({ state: 'detached' });
    await page.getByLabel('Zone', { exact: true }).selectOption({ label: 'Attic' });
    await page.getByRole('heading', { name: 'No matching devices' }).waitFor();
    await press('Clear filter');
    for (const index of [0, 1, 2]) await rows().nth(index).getByRole('checkbox').check();
    await put('Attic', 'Attic');
    await page.getByLabel('Zone', { exact: true }).selectOption({ label: 'Attic' });
    await page.getByText(`3 of ${deviceCount} shown`).waitFor();
    await page.reload();
    await page.getByText(`3 of ${deviceCount} shown`).waitFor();
    await press('Clear filter');
  });

  it('I remove a device and undo it: nothing was sent to the station', async () => {
    const sent: string[] = [];
    const note = (request: Request): void => {
      if (request.method() === 'DELETE') sent.push(request.url());
    };
    page.on('request', note);
    const name = await rows().last().getByRole('link').innerText();
    await rowOf(name).getByRole('checkbox').check();
    await page.getByRole('region', { name: 'Selected devices' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByText(`${name} will be removed`).waitFor();
    await rowOf(name).waitFor({ state: 'detached' });
    await look(page, '85-devices-removal');
    await press('Undo');
    await rowOf(name).waitFor();
    // Leaving the page keeps the device, too.
    await rowOf(name).getByRole('checkbox').check();
    await page.getByRole('region', { name: 'Selected devices' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByText(`${name} will be removed`).waitFor();
    await go('Home');
    await go('Devices');
    await rowOf(name).waitFor();
    assert.deepEqual(sent, []);
    page.off('request', note);
  });

  it('I remove it for good when the time is over', async () => {
    const name = await rows().last().getByRole('link').innerText();
    await rowOf(name).getByRole('checkbox').check();
    const answered = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await page.getByRole('region', { name: 'Selected devices' }).getByRole('button', { name: 'Remove' }).click();
    // The mouse and the focus would hold the time.
    await page.mouse.move(0, 0);
    assert.equal((await answered).status(), 200);
    await page.getByText('will be removed').waitFor({ state: 'detached' });
    await page.reload();
    await rows().first().waitFor();
    assert.equal(await rowOf(name).count(), 0);
    assert.equal(await rows().count(), deviceCount - 1);
    await go('Activity');
    const entry = page.getByRole('listitem').filter({ hasText: name }).filter({ hasText: 'Removed' });
    await entry.filter({ hasText: 'by Olena' }).first().waitFor();
    await go('Devices');
  });

  it('I make a lamp my favourite, and it comes first at home', async () => {
    await go('Devices');
    await page.getByRole('link', { name: lamp, exact: true }).click();
    await headlineIs(lamp);
    const saved = page.waitForResponse((response) => response.url().endsWith('/api/favourites') && response.ok());
    await press(`Favourite: ${lamp}`);
    await saved;
    const star = (pressed: boolean) => page.getByRole('button', { name: `Favourite: ${lamp}`, pressed });
    await star(true).click();
    await star(false).waitFor();
    await page.getByRole('status').getByText(`${lamp} is no longer a favourite.`).waitFor();
    await press('Undo');
    await star(true).waitFor();
    await go('Home');
    const first = page.getByRole('main').getByRole('region').first();
    await first.getByRole('heading', { name: 'Favourites' }).waitFor();
    await first.getByRole('switch', { name: lamp, exact: true }).waitFor();
    assert.equal(await page.getByRole('switch', { name: lamp, exact: true }).count(), 1, 'it is not shown twice');
    await page.reload();
    await page.getByRole('heading', { name: 'Favourites' }).waitFor();
    await look(page, '86-favourites');
  });

  it('I put the zones in another order, with the keyboard and by dragging', async () => {
    const zonesOn = (on: Page) =>
      on.locator('main section h2').filter({ hasNotText: /^(Favourites|Other devices|Devices)$/ });
    const zoneNames = async (): Promise<string[]> => {
      await zonesOn(page).first().waitFor();
      return zonesOn(page).allInnerTexts();
    };
    const other = hour.use(await openPerson(browser, station.url, 'en-GB'));
    await logIn(other.page, owner);
    const before = await zoneNames();
    assert.ok(before.length >= 2, before.join());
    const [first = '', second = ''] = before;
    await press('Arrange home');
    const dialog = page.getByRole('dialog', { name: 'Arrange home' });
    const handle = (name: string) => dialog.getByRole('button', { name: new RegExp(`^Move ${name}, `) });
    await look(page, '87-arrange');
    await handle(first).focus();
    await page.keyboard.press('End');
    await dialog
      .getByRole('status')
      .filter({ hasText: `${first} is now ${before.length} of ${before.length}` })
      .waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    const wanted = [...before.slice(1), first];
    assert.deepEqual(await zoneNames(), wanted);
    // The household sees it without loading the page again.
    await other.page.getByRole('region').filter({ hasText: second }).first().waitFor();
    await zonesOn(other.page).first().filter({ hasText: second }).waitFor();
    await press('Arrange home');
    const from = await handle(first).boundingBox();
    const to = await handle(second).boundingBox();
    assert.ok(from && to);
    await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
    await page.mouse.down();
    await page.mouse.move(from.x + from.width / 2, to.y + to.height / 2, { steps: 10 });
    await page.mouse.up();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await zoneNames(), before);
    await page.reload();
    assert.deepEqual(await zoneNames(), before);
  });

  it('I switch everything off in a zone, and the devices do it', async () => {
    const on = page.getByRole('switch', { checked: true });
    const off = page.getByRole('button', { name: 'All off: Favourites' });
    if ((await page.getByRole('switch', { name: lamp, exact: true }).getAttribute('aria-checked')) !== 'true')
      await page.getByRole('switch', { name: lamp, exact: true }).click();
    await on
      .and(page.getByLabel(lamp, { exact: true }))
      .and(page.locator(':not([aria-busy])'))
      .waitFor();
    await page.getByRole('region', { name: 'Favourites' }).getByText(/^1 on/).waitFor();
    await off.click();
    await off.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('switch', { name: lamp, exact: true, checked: false }).waitFor();
    assert.equal(await off.count(), 0);
  });

  it('I log out from the search', async () => {
    await press('Search');
    await search().fill('sign out');
    await page.keyboard.press('Enter');
    await headlineIs('Log in');
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
