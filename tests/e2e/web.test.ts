import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  logIn,
  look,
  openBrowser,
  openPerson,
  timeoutMs,
  recordChanges,
  textOn,
  type Person,
  goBySettings,
} from './web/browser.ts';
import { startRunningStation, type RunningStation } from './web/running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };

/** One evening with a new station; each journey goes on where the one before has ended. */
describe('the web app, in a real Chromium, with a real agent and backend', { timeout: 900_000 }, () => {
  const evening = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;

  const headline = () => page.getByRole('heading', { level: 1 });
  const see = (text: string | RegExp) => textOn(page, text);
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name }).click();
  const headlineIs = (text: string | RegExp) =>
    page.getByRole('heading', { level: 1, name: text }).waitFor({ timeout: timeoutMs });

  before(async () => {
    station = evening.use(await startRunningStation());
    browser = evening.use(await openBrowser());
    olena = evening.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
  });
  after(() => evening.disposeAsync());

  it('I set my station up with the code it shows, by keyboard alone, after mistyping it once', async () => {
    await page.goto('/settings/updates');
    await headlineIs('Set up this station');
    await look(page, '1-set-up');
    await page.getByLabel('Set-up code').focus();
    for (const text of ['WRONG-CODE', 'Kyiv flat', owner.name, owner.email, owner.password]) {
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await see('Wrong set-up code. Compare it with the one the station shows.');
    await page.getByLabel('Set-up code').fill(station.setupCode.toLowerCase().replaceAll('-', ' '));
    await page.keyboard.press('Enter');
    await headlineIs('All good: Everything is fine');
    assert.match(page.url(), /\/settings\/updates$/, 'I land where I wanted to go');
    await see('Kyiv flat');
  });

  it('I see at home that everything is fine, and find the way to the station', async () => {
    await go('Home');
    await headlineIs('All good: Everything is fine');
    await see(/^All \d+ devices online$/);
    await look(page, '2-home');
    await goBySettings(page, 'Updates');
    await see('Release 1.0.0');
    await look(page, '3-station');
  });

  it('I update, see the bytes come in, and stay on the page while the station restarts', async () => {
    const version = await station.offer('good');
    await press('Check now');
    await see(`${version} is ready to install`);
    await look(page, '4-update-ready');
    const bytes = await recordChanges(
      page,
      `document.querySelector('[role=progressbar]')?.getAttribute('aria-valuenow') ?? ''`,
    );
    await press(`Update to ${version}`);
    await headlineIs(`Working: Updating to ${version}`);
    await page.getByRole('progressbar').waitFor();
    await look(page, '5-downloading');
    await page.waitForFunction(`new Set(window.recorded.filter((value) => value !== '')).size >= 2`);
    const shown = (await bytes.stop()).filter((value) => value !== '').map(Number);
    assert.ok(shown.length >= 2, `the bar moved (${shown.join(', ')})`);
    assert.deepEqual(
      shown,
      shown.toSorted((a, b) => a - b),
      'and never back',
    );
    const headlines = await recordChanges(page, `document.querySelector('h1')?.textContent ?? 'no headline'`);
    await page.getByRole('heading', { name: `Updated to ${version}` }).waitFor();
    const seen = await headlines.stop();
    assert.deepEqual(
      seen.filter((text) => !/Updating to|Everything is fine/.test(text)),
      [],
      'calm all the way',
    );
    await see(/offline for .* s/i);
    await headlineIs('All good: Everything is fine');
  });

  it('the result stays until I have read it, and does not come back', async () => {
    await page.reload();
    await page.getByRole('heading', { name: 'Updated to 1.1.0' }).waitFor();
    await look(page, '6-updated');
    await press('Got it');
    assert.equal(await page.evaluate('document.activeElement.id'), 'content', 'the focus is not lost');
    await page.reload();
    await see('Release 1.1.0');
    assert.equal(await page.getByRole('button', { name: 'Got it' }).count(), 0);
  });

  it('a release that crashes comes back automatically; I watch it, and the page says so and why', async () => {
    const version = await station.offer('crashes');
    await press('Check now');
    const headlines = await recordChanges(page, `document.querySelector('h1')?.textContent ?? ''`);
    await press(`Update to ${version}`);
    await page.getByRole('heading', { name: `${version} did not become healthy and was rolled back` }).waitFor();
    // The backend of the new release never answers: only the agent's own file tells of the way back.
    assert.ok(
      (await headlines.stop()).some((text) => text.includes('Rolling back to 1.1.0')),
      'the rollback is seen while it happens',
    );
    await see('1.1.0 is running.');
    await see('It is held back and not installed automatically.');
    await see('Release 1.1.0');
    await look(page, '7-rolled-back');
    await press('Got it');
  });

  it('I think about installing it all the same, and Escape brings me back to where I was', async () => {
    const button = page.getByRole('button', { name: 'Install 1.2.0 anyway' });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Install 1.2.0 anyway?' }).waitFor();
    await look(page, '8-install-anyway');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Install 1.2.0 anyway');
  });

  it('I roll back to the previous release, knowing what that means', async () => {
    await press('Roll back to 1.0.0');
    const dialog = page.getByRole('dialog', { name: 'Roll back to 1.0.0?' });
    await dialog.getByText('1.1.0 is then not installed automatically.').waitFor();
    await look(page, '9-roll-back');
    await dialog.getByRole('button', { name: 'Roll back to 1.0.0' }).click();
    await page.getByRole('heading', { name: 'Rolled back to 1.0.0' }).waitFor();
    await see('Release 1.0.0');
    await press('Got it');
    await page.getByRole('button', { name: 'Install 1.1.0 anyway' }).waitFor();
  });

  it('the release server is away: I am told, and everything else is fine', async () => {
    await station.setPlugged(false);
    await press('Check now');
    await see('The release server gave no usable answer. The station asks again automatically.');
    await see('The release server cannot be reached');
    await headlineIs('All good: Everything is fine');
    await look(page, '10-release-server-away');
    await station.setPlugged(true);
    await press('Check now');
    await page.getByText('The release server cannot be reached').waitFor({ state: 'detached' });
  });

  it('I choose by keyboard that updates are installed automatically; it stays so until I want to be asked first', async () => {
    const card = page.getByRole('region', { name: 'Automatic updates' });
    const chosen = (name: RegExp) => card.getByRole('radio', { name, checked: true }).waitFor({ timeout: timeoutMs });
    await chosen(/^Ask first/);
    await card.getByRole('radio', { name: /^Ask first/ }).focus();
    await page.keyboard.press('ArrowUp');
    await card.getByText('Saved.', { exact: true }).waitFor({ timeout: timeoutMs });
    await chosen(/^Automatically/);
    await look(page, '10-automatic-updates');
    await page.reload();
    await chosen(/^Automatically/);
    await card.getByRole('radio', { name: /^Ask first/ }).check();
    await card.getByText('Saved.', { exact: true }).waitFor({ timeout: timeoutMs });
    await page.reload();
    await chosen(/^Ask first/);
  });

  it('the station stops answering: the page dims, says since when, and comes back automatically', async () => {
    // The check of the step before is answered: its button is free again.
    await page.locator('button:not([aria-disabled="true"])', { hasText: 'Check now' }).waitFor();
    await station.whileFrozen(page, async () => {
      await see(/Connection lost\. Last update \d\d:\d\d:\d\d\./);
      await see('It reconnects automatically.');
      await look(page, '11-connection-lost');
      assert.equal(await page.getByRole('button', { name: 'Check now' }).getAttribute('aria-disabled'), 'true');
    });
    await page.getByText('Connection lost').first().waitFor({ state: 'detached' });
  });

  it('I read everything in Ukrainian, and it stays so', async () => {
    await goBySettings(page, 'Account');
    await page.getByText('Українська').click();
    await page.getByRole('heading', { level: 2, name: 'Мова' }).waitFor();
    await look(page, '12-account');
    await goBySettings(page, 'Оновлення', 'Налаштування');
    await see(/випуск 1\.0\.0/i);
    await look(page, '13-station-uk');
    await page.reload();
    await see(/випуск 1\.0\.0/i);
    assert.equal(await page.evaluate('document.documentElement.lang'), 'uk');
    await goBySettings(page, 'Профіль', 'Налаштування');
    await page.getByText('English').click();
    await page.getByRole('heading', { level: 2, name: 'Language' }).waitFor();
  });

  it('I choose how it looks: it stays so, also against the browser, until I leave it to the browser', async () => {
    const paper = (): Promise<unknown> =>
      page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('--paper')`);
    const light = await paper();
    await page.getByText('Dark', { exact: true }).click();
    const dark = await paper();
    assert.notEqual(dark, light);
    await page.reload();
    await page.getByRole('radio', { name: 'Dark', checked: true }).waitFor({ state: 'attached' });
    assert.equal(await paper(), dark);
    await page.getByText('As the device').click();
    assert.equal(await paper(), light);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(
      `getComputedStyle(document.documentElement).getPropertyValue('--paper') === ${JSON.stringify(dark)}`,
    );
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('a page that cannot be fetched ahead leaves me where I am, and is fetched when I open it', async () => {
    // As over HTTP: no service worker has the files.
    await using visitor = await openPerson(browser, station.url, 'en-GB', { serviceWorkers: 'block' });
    const other = visitor.page;
    await other.route(/updates-place/, (route) => route.abort());
    const missing = other.waitForEvent('requestfailed', {
      predicate: (request) => /updates-place/.test(request.url()),
    });
    await logIn(other, owner);
    await other.getByRole('navigation').getByRole('link', { name: 'Home' }).waitFor();
    await other.evaluate('window.isSamePage = true');
    await missing;
    // To load itself again, the page asks once whether the station is there: answers to later questions find it gone.
    const isSamePage = await other.evaluate(
      `(async () => { for (let i = 0; i < 5; i++) await fetch('/', { cache: 'no-store' }); return window.isSamePage; })()`,
    );
    assert.equal(isSamePage, true, 'the page was not loaded again');
    await other.unroute(/updates-place/);
    await goBySettings(other, 'Updates');
    await other.getByRole('heading', { name: 'Firmware of devices' }).waitFor();
  });

  it('I log out in one tab and am out in the other; a wrong password is told, the right one lets me back in', async () => {
    const other = await olena.context.newPage();
    await other.goto('/settings/updates');
    await other
      .getByText(/release 1\.0\.0/i)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await headlineIs('Log in');
    await other.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
    await look(page, '14-log-in');
    await page.getByLabel('E-mail').fill(owner.email);
    await page.getByLabel('Password', { exact: true }).fill('not this one');
    await press('Log in');
    await see('Wrong e-mail or password. Check both and try again.');
    await page.getByLabel('Password', { exact: true }).fill(owner.password);
    await press('Log in');
    await headlineIs(owner.name);
    await other
      .getByText(/release 1\.0\.0/i)
      .first()
      .waitFor();
    await other.close();
  });

  it('a person without an account sees nothing but the log-in page', async () => {
    for (const [locale, heading] of [
      ['uk-UA', 'Вхід'],
      ['de-AT', 'Anmelden'],
      ['pl-PL', 'Zaloguj się'],
    ] as const) {
      await using visitor = await openPerson(browser, station.url, locale);
      const fetched = new Set<string>();
      visitor.page.on('request', (request) => fetched.add(request.url()));
      await visitor.page.goto('/settings/updates');
      await visitor.page.getByRole('heading', { level: 1, name: heading }).waitFor();
      assert.equal(await visitor.page.getByText('1.0.0').count(), 0);
      const texts = [...fetched].filter((url) => /\/assets\/texts-/.test(url));
      assert.equal(texts.length, 1, `no texts of other languages: ${texts.join(' ')}`);
    }
  });

  it('an address that does not exist says so and leads home', async () => {
    await page.goto('/nowhere');
    await headlineIs('There is no such page');
    await page.getByRole('link', { name: 'Go to Home' }).click();
    await headlineIs(/Everything is fine|attention/);
    assert.ok(await headline().isVisible());
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
