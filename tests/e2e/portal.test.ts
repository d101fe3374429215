import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSimulatedWatchdog, network, simulatedCode, startPortal } from '@station/agent/testing/running-portal';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { languages } from '@station/protocol/languages';
import type { Browser, Page } from 'playwright-core';
import { needPackages } from '../rig/debian.ts';
import { waitFor } from '../rig/program.ts';
import { lookAtSheet, openSheet, pictureOf } from './portal/captive-sheet.ts';
import { pressInLynx, readWithW3m } from './portal/text-browser.ts';
import { openBrowser } from './web/browser.ts';

const street = [
  network('Kovalenko', 'wpa2', 88, true),
  network('Кав’ярня «Ранок»', 'open', 64),
  network('Kovalenko_5G', 'wpa3', 52),
  network('<b>Thirty-two bytes of a name</b>', 'wpa2-wpa3', 44),
  network('\u202eylbaler gnihtyna', 'wpa2', 33),
  network('Campus', 'enterprise', 31),
  network('grandmother', 'wep', 20),
];
const password = 'correct horse battery';

describe('the setup page in a phone, 320 px wide', { timeout: 600_000 }, () => {
  const evening = new AsyncDisposableStack();
  let browser: Browser;

  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).first().waitFor();
  const join = (page: Page) => page.getByRole('button', { name: 'Connect the station' }).click();

  before(async () => {
    await needPackages(['chromium']);
    browser = evening.use(await openBrowser());
  });
  after(() => evening.disposeAsync());

  it('a person chooses a network, corrects the password, and sees the address of the station', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street });
    await using portal = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, portal.url);
    const { page } = sheet;
    await page.goto('/');
    await lookAtSheet(page, '1-start');
    await join(page);
    await heading(page, 'No network is chosen');
    await page.getByText('Kovalenko', { exact: true }).tap();
    await page.getByLabel('Password of the network').fill('short');
    await join(page);
    await heading(page, 'The password cannot be right');
    assert.equal(await page.evaluate('document.activeElement.className'), 'fault', 'the error has the focus');
    assert.ok(await page.getByRole('radio', { name: /^Kovalenko Strong signal/ }).isChecked());
    assert.equal(await page.getByLabel('Password of the network').inputValue(), '');
    await lookAtSheet(page, '2-password-too-short');
    await page.getByLabel('Password of the network').fill(password);
    await page.getByRole('button', { name: 'Show' }).tap();
    assert.equal(await page.getByLabel('Password of the network').getAttribute('type'), 'text');
    assert.equal(await page.getByLabel('Password of the network').inputValue(), password, 'and stays in the field');
    await lookAtSheet(page, '3-password-shown');
    await page.getByRole('button', { name: 'Hide' }).tap();
    await join(page);
    await heading(page, 'The station is connecting to Kovalenko');
    await page.getByRole('link', { name: 'http://station.local/' }).waitFor();
    await lookAtSheet(page, '4-trying');
    assert.deepEqual(watchdog.state.joins, [
      { ssid: ssidFromText('Kovalenko'), security: 'wpa2', password, isHidden: false },
    ]);
    assert.deepEqual(sheet.complaints, []);
  });

  it('the page waits while the hotspot is off, then shows why the join failed', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street });
    const first = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, first.url);
    const { page } = sheet;
    await page.goto('/');
    await page.getByText('Kovalenko_5G').tap();
    await page.getByLabel('Password of the network').fill(password);
    await join(page);
    await heading(page, 'The station is connecting to Kovalenko_5G');
    const missed = page.waitForEvent('requestfailed');
    await first[Symbol.asyncDispose]();
    await missed;
    await heading(page, 'The station is connecting to Kovalenko_5G');
    const lastJoin = {
      ssid: ssidFromText('Kovalenko_5G'),
      isHidden: false,
      security: null,
      failure: 'wrong_password' as const,
    };
    watchdog.set({ joining: null, lastJoin });
    await using _again = await startPortal(watchdog.actions, first.port);
    await heading(page, 'The password of Kovalenko_5G is probably wrong');
    assert.ok(await page.getByRole('radio', { name: /^Kovalenko_5G/ }).isChecked());
    await lookAtSheet(page, '5-wrong-password');
    assert.deepEqual(sheet.complaints, []);
  });

  it('a hidden network is entered by keyboard, and an open one needs no password', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street });
    await using portal = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, portal.url);
    const { page } = sheet;
    await page.goto('/');
    assert.ok(!(await page.getByLabel('Name of the network').isVisible()));
    await page.getByText('Кав’ярня «Ранок»').tap();
    assert.ok(!(await page.getByLabel('Password of the network').isVisible()));
    await page.getByRole('radio', { name: 'Another network' }).focus();
    await page.keyboard.press('Space');
    await lookAtSheet(page, '6-another-network');
    for (const text of ['Схованка', '', password]) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(text);
    }
    await page.keyboard.press('Enter');
    await heading(page, 'The station is connecting to Схованка');
    assert.deepEqual(watchdog.state.joins, [
      { ssid: ssidFromText('Схованка'), security: null, password, isHidden: true },
    ]);
  });

  it('on an open hotspot of a station in use, a person reads the warning, confirms it, and types the code', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street, isOpen: true });
    await using portal = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, portal.url);
    const { page } = sheet;
    await page.goto('/');
    await page.getByText('others nearby can read what you type here').waitFor();
    await lookAtSheet(page, '10-open-hotspot');
    await page.getByText('Kovalenko', { exact: true }).tap();
    await page.getByLabel('Password of the network').fill(password);
    await page.getByLabel('Station code').fill('guessed');
    await join(page);
    assert.equal(await page.evaluate('document.querySelector("input:invalid").name'), 'confirm');
    await page.getByText('I know that others nearby can read what I send').tap();
    await join(page);
    await heading(page, 'The station code is wrong');
    await lookAtSheet(page, '11-wrong-code');
    assert.equal(await page.getByLabel('Station code').inputValue(), 'guessed');
    assert.ok(await page.getByRole('checkbox').isChecked());
    await page.getByLabel('Password of the network').fill(password);
    await page.getByLabel('Station code').fill(simulatedCode);
    await page.keyboard.press('Enter');
    await heading(page, 'The station is connecting to Kovalenko');
    assert.equal(watchdog.state.joins.length, 1);
    assert.deepEqual(sheet.complaints, []);
  });

  it('a new search keeps the phone connected', async () => {
    const watchdog = createSimulatedWatchdog({ networks: [] });
    await using portal = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, portal.url);
    const { page } = sheet;
    await page.goto('/');
    await lookAtSheet(page, '7-no-networks');
    await page.getByRole('button', { name: 'Search again' }).tap();
    await heading(page, 'Searching for networks');
    await pictureOf(page, '8-searching');
    watchdog.found(street);
    await page.getByText('Kovalenko', { exact: true }).waitFor();
  });

  it('без скриптів, українською: я бачу, що ввожу, і станція під’єднується', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street });
    await using portal = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, portal.url, { locale: 'uk-UA', hasScript: false });
    const { page } = sheet;
    await page.goto('/');
    await page.getByText('Kovalenko', { exact: true }).tap();
    await page.getByRole('button', { name: 'Показувати пароль, поки я вводжу' }).tap();
    await page.locator('input[name=password][type=text]').waitFor();
    assert.ok(await page.getByRole('radio', { name: /^Kovalenko Сильний сигнал/ }).isChecked());
    await page.getByLabel('Пароль мережі').fill(password);
    await page.keyboard.press('Enter');
    await heading(page, 'Станція під’єднується до Kovalenko');
    assert.equal(watchdog.state.joins[0]?.password, password);
    watchdog.set({ joining: null });
    await page.getByRole('link', { name: 'Подивитися, чи вийшло' }).tap();
    await page.getByRole('link', { name: 'English' }).tap();
    await heading(page, 'Connect the station to Wi-Fi');
  });

  it('українською, з причиною й у темряві', async () => {
    const lastJoin = {
      ssid: ssidFromText('Kovalenko'),
      isHidden: false,
      security: null,
      failure: 'no_address' as const,
    };
    const watchdog = createSimulatedWatchdog({ networks: street, lastJoin, isOpen: true });
    await using portal = await startPortal(watchdog.actions);
    await using sheet = await openSheet(browser, portal.url, { locale: 'uk-UA' });
    await sheet.page.goto('/');
    await heading(sheet.page, 'Мережа Kovalenko не дала станції адреси');
    await lookAtSheet(sheet.page, '9-no-address-uk');
    assert.deepEqual(sheet.complaints, []);
  });
});

describe('the setup page in a text browser', () => {
  it('shows each network on its own line', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street });
    await using portal = await startPortal(watchdog.actions);
    const text = await readWithW3m(`${portal.url}/`, 'uk');
    const lines = text.split('\n').map((line) => line.trim());
    assert.ok(lines.includes('( )Kovalenko Сильний сигнал · з паролем · збережена'), text);
    assert.ok(
      lines.some((line) => line.startsWith('( )<b>Thirty-two bytes of a name</b>')),
      text,
    );
    assert.ok(lines.includes('Пароль мережі'), text);
  });

  it('works for choosing, typing and connecting', async () => {
    const watchdog = createSimulatedWatchdog({ networks: street.slice(0, 1) });
    await using portal = await startPortal(watchdog.actions);
    await pressInLynx(`${portal.url}/`, keysToJoin);
    await waitFor('the join', () => watchdog.state.joins.length > 0);
    assert.deepEqual(watchdog.state.joins, [
      { ssid: ssidFromText('Kovalenko'), security: 'wpa2', password: 'longenough', isHidden: false },
    ]);
  });
});

/** From the top of the page: the other languages, search, the network, another one, its name, its security, the password, the button. */
const keysToJoin = [
  ...languages.map(() => 'Down Arrow'),
  '^J',
  'Down Arrow',
  'Down Arrow',
  'Down Arrow',
  'Down Arrow',
  ...'longenough',
  'Down Arrow',
  '^J',
  'q',
  'y',
];
