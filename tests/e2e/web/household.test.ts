import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { look, openBrowser, openPerson, timeoutMs, textOn, type Person } from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };
const maria = { name: 'Maria', email: 'maria@example.org', password: 'a password of my own' };

/** An afternoon on which a household moves in; each journey continues from the previous one. */
describe('people and settings in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const afternoon = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  let marias: Person;
  /** What the station made for Maria. */
  let firstPassword = '';

  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const see = (text: string | RegExp, on = page) => textOn(on, text);
  const headlineIs = (name: string | RegExp, on = page) =>
    on.getByRole('heading', { level: 1, name }).waitFor({ timeout: timeoutMs });
  const dialog = (name: string) => page.getByRole('dialog', { name });
  const row = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const made = async (): Promise<string> => {
    const text = await page.getByRole('dialog').innerText();
    const password = /([B-Z2-9]{4}-){3}[B-Z2-9]{4}/.exec(text)?.[0];
    assert.ok(password, `a password is shown: ${text}`);
    return password;
  };
  const logInAsMaria = async (password: string): Promise<void> => {
    await marias.page.getByRole('textbox').first().fill(maria.email);
    await marias.page.locator('input[name=password]').fill(password);
    await marias.page.keyboard.press('Enter');
  };

  before(async () => {
    station = afternoon.use(await startRunningStation());
    browser = afternoon.use(await openBrowser());
    olena = afternoon.use(await openPerson(browser, station.url, 'en-GB'));
    marias = afternoon.use(await openPerson(browser, station.url, 'uk-UA'));
    await olena.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = olena.page;
    await page.goto('/');
    for (const [label, text] of [
      ['Set-up code', station.setupCode],
      ['Your name', owner.name],
      ['E-mail', owner.email],
    ] as const) {
      await page.getByLabel(label).fill(text);
    }
    await page.getByLabel('Password', { exact: true }).fill(owner.password);
    await press('Create account');
    await headlineIs(/devices online/);
  });
  after(() => afternoon.disposeAsync());

  it('I give the station a better name and the clock of its place', async () => {
    await go('Settings');
    await page.getByLabel('Name', { exact: true }).fill('Carpathian cabin');
    await page.getByLabel('Time zone').selectOption('Pacific/Auckland');
    await see(/^It is .* there now/);
    await press('Save');
    await see('Saved.');
    await see('Carpathian cabin');
    await page.reload();
    await headlineIs('Settings');
    assert.equal(await page.getByLabel('Time zone').inputValue(), 'Pacific/Auckland');
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Carpathian cabin');
    assert.match(await page.title(), /Carpathian cabin/);
  });

  it('I tell which Wi-Fi new devices get, and nobody is shown its password again', async () => {
    await see('No network is set yet');
    await press('Set network');
    await page.getByLabel('Network name').fill('Cabin');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.keyboard.press('Enter');
    await see('A Wi-Fi password has at least 8 characters.');
    await page.getByLabel('Password', { exact: true }).fill('');
    await page.keyboard.press('Enter');
    await see('Type the password of this network');
    await look(page, '30-settings-wifi');
    await page.getByLabel('Password', { exact: true }).fill('under the doormat');
    await page.keyboard.press('Enter');
    await see('New devices join Cabin');
    await see('Its password is kept encrypted and never shown again.');
    await page.reload();
    await see('New devices join Cabin');
    assert.ok(!(await page.content()).includes('doormat'));
    await look(page, '30-settings');
  });

  it('I am the only one here, and am told what to do about it', async () => {
    await go('Members');
    await see('One person has access to this station.');
    await see('Only you so far');
    assert.equal(await page.getByRole('button', { name: /^Change/ }).count(), 0, 'nothing can be done to the owner');
    await look(page, '31-members-alone');
  });

  it('I add Maria by keyboard alone, and copy what she needs to log in', async () => {
    await page.getByRole('button', { name: 'Add member' }).focus();
    await page.keyboard.press('Enter');
    await dialog('Add a member').waitFor();
    await page.keyboard.type(maria.name);
    await page.keyboard.press('Enter');
    await see('Please fill this in.');
    await page.keyboard.type(maria.email);
    await page.keyboard.press('Tab');
    assert.equal(await page.getByRole('radio', { name: /^Member/ }).isChecked(), true);
    await look(page, '32-add-member');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await dialog('Maria can log in now').waitFor();
    firstPassword = await made();
    await press('Copy');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    for (const part of [station.url, maria.email, firstPassword]) assert.ok(copied.includes(part), copied);
    await look(page, '33-first-password');
    await press('Done');
    await row(maria.email).waitFor();
    await see('2 people have access to this station.');
    assert.ok(!(await page.content()).includes(firstPassword), 'it is shown once');
  });

  it('a second Maria with the same address is refused, and I am told why', async () => {
    await press('Add member');
    await page.getByLabel('Name', { exact: true }).fill('Another Maria');
    await page.getByLabel('E-mail').fill(maria.email.toUpperCase());
    await dialog('Add a member').getByRole('button', { name: 'Add', exact: true }).click();
    await see('Someone with this address is a member already.');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('Maria logs in on her phone in Ukrainian, and is told plainly what is not hers to change', async () => {
    const phone = marias.page;
    await phone.setViewportSize({ width: 360, height: 740 });
    await phone.goto('/');
    await logInAsMaria(firstPassword);
    await headlineIs(/пристро/, phone);
    await phone.getByRole('navigation').getByRole('link', { name: 'Більше' }).click();
    await headlineIs('Більше', phone);
    await look(phone, '34-more-uk');
    await phone.setViewportSize({ width: 360, height: 740 });
    await phone.getByRole('main').getByRole('link', { name: 'Учасники' }).click();
    await see('Це ви', phone);
    await see(/^Додавати, змінювати й вилучати людей можуть лише власник та адміністратори/, phone);
    assert.equal(await phone.getByRole('button', { name: /Додати|Змінити/ }).count(), 0);
    await look(phone, '35-members-as-member-uk');
    await phone.goto('/settings');
    await see('Змінювати параметри станції можуть лише власник та адміністратори.', phone);
    await see('Carpathian cabin', phone);
    assert.equal(await phone.getByLabel('Назва мережі').count(), 0);
  });

  it('she chooses a password of her own, after mistaking the first one', async () => {
    const phone = marias.page;
    await phone.goto('/account');
    const fill = async (present: string): Promise<void> => {
      await phone.getByLabel('Теперішній пароль').fill(present);
      await phone.getByLabel('Новий пароль').fill(maria.password);
      await phone.getByRole('button', { name: 'Змінити пароль' }).click();
    };
    await fill('not this one');
    await see('Теперішній пароль не підходить.', phone);
    await fill(firstPassword);
    await see(/^Пароль змінено/, phone);
    await look(phone, '36-account-uk');
    await phone.getByRole('button', { name: 'Вийти' }).click();
    await headlineIs('Вхід', phone);
    await logInAsMaria(maria.password);
    await headlineIs('Maria', phone);
  });

  it('she left a phone somewhere: she sees where she is logged in, and logs it out from here', async () => {
    const call = (path: string, init: RequestInit): Promise<Response> => fetch(`${station.url}${path}`, init);
    const login = await call('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Mozilla/5.0 (Android 15; Mobile) Firefox/140.0' },
      body: JSON.stringify({ email: maria.email, password: maria.password }),
    });
    const { accessToken } = (await login.json()) as { accessToken: string };
    const me = async (): Promise<number> =>
      (await call('/api/auth/me', { headers: { authorization: `Bearer ${accessToken}` } })).status;
    assert.equal(await me(), 200);
    const phone = marias.page;
    await phone.goto('/account');
    await see('Цей браузер', phone);
    const end = phone.getByRole('button', { name: 'Вийти: Firefox, Android' });
    await end.waitFor();
    await look(phone, '36-sessions-uk');
    await end.click();
    await end.waitFor({ state: 'detached' });
    assert.equal(await me(), 401);
  });

  it('I make her an administrator, and her page lets her do more', async () => {
    await press('Change Maria');
    await dialog('Maria')
      .getByRole('radio', { name: /^Administrator/ })
      .check();
    await look(page, '37-change-member');
    await dialog('Maria').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row(maria.email).getByText('Administrator').filter({ visible: true }).waitFor();
    await marias.page.goto('/members');
    await marias.page.getByRole('button', { name: 'Додати учасника' }).waitFor({ timeout: timeoutMs });
    assert.equal(
      await marias.page.getByRole('button', { name: /^Змінити/ }).count(),
      0,
      'neither the owner nor herself',
    );
  });

  it('she has forgotten her password: I make her a new one, and the old one is worth nothing', async () => {
    await press('Change Maria');
    await press('Make a new password');
    await dialog('New password for Maria').waitFor();
    const replaced = await made();
    assert.notEqual(replaced, firstPassword);
    await press('Done');
    await marias.page.reload();
    await headlineIs('Вхід', marias.page);
    await logInAsMaria(maria.password);
    await see('Адреса або пароль не підходять. Перевірте їх і спробуйте ще раз.', marias.page);
    await logInAsMaria(replaced);
    await headlineIs('Учасники', marias.page);
  });

  it('I remove her after having been asked, and she is out at once', async () => {
    await press('Change Maria');
    await press('Remove from this station');
    await dialog('Remove Maria?').waitFor();
    await look(page, '38-remove-member');
    await press('Keep');
    await dialog('Maria').waitFor();
    await press('Remove from this station');
    await dialog('Remove Maria?').getByRole('button', { name: 'Remove', exact: true }).click();
    await row(maria.email).waitFor({ state: 'detached' });
    await see('Only you so far');
    await headlineIs('Вхід', marias.page);
  });

  it('the station falls silent: people stay readable, dimmed, and nothing can be changed meanwhile', async () => {
    station.setFrozen(true);
    await see(/Connection lost\. Last word/);
    assert.equal(await page.getByRole('button', { name: 'Add member' }).getAttribute('aria-disabled'), 'true');
    await look(page, '39-members-stale');
    station.setFrozen(false);
    await page.getByText('Live', { exact: true }).waitFor({ timeout: timeoutMs });
  });

  it('all afternoon long, neither browser had anything to complain about', () => {
    assert.deepEqual([...olena.complaints, ...marias.complaints], []);
  });
});
