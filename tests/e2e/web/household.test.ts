import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { createOwner, goBySettings, look, openBrowser, openPerson, type Person, textOn, timeoutMs } from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };
const guest = { name: 'Taras', email: 'taras@example.org' };
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
    await createOwner(page, { ...owner, setupCode: station.setupCode });
    await see(/devices online/);
  });
  after(() => afternoon.disposeAsync());

  it('I give the station a better name and the clock of its place', async () => {
    await goBySettings(page, 'Home and zones');
    await page.getByLabel('Name', { exact: true }).fill('Carpathian cabin');
    await page.getByLabel('Time zone').selectOption('Pacific/Auckland');
    await see(/^It is .* there now/);
    await page.getByRole('region', { name: 'This station' }).getByRole('button', { name: 'Save' }).click();
    await see('Saved.');
    await see('Carpathian cabin');
    await page.reload();
    await headlineIs('Home and zones');
    assert.equal(await page.getByLabel('Time zone').inputValue(), 'Pacific/Auckland');
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Carpathian cabin');
    assert.match(await page.title(), /Carpathian cabin/);
  });

  it('I tell which Wi-Fi new devices get, and nobody is shown its password again', async () => {
    await page.goto('/settings/network');
    await see('No network is set yet');
    await press('Set network');
    await page.getByLabel('Network name').fill('Cabin');
    // Nobody knows yet which it has, so that a short password may be right.
    await see('With WPA2 a password has 8 to 63 characters. Only WPA3 has shorter and longer ones.');
    await page.getByLabel('Password', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await see(/^Enter the password of this network/);
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
    await goBySettings(page, 'People and guests');
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
    await see('Someone with this address is already a member.');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('Maria logs in on her phone in Ukrainian, and is told plainly what is not hers to change', async () => {
    const phone = marias.page;
    await phone.setViewportSize({ width: 360, height: 740 });
    await phone.goto('/');
    await logInAsMaria(firstPassword);
    await phone.getByRole('navigation').getByRole('link', { name: 'Налаштування' }).click();
    await headlineIs('Налаштування', phone);
    await look(phone, '34-settings-uk');
    await phone.setViewportSize({ width: 360, height: 740 });
    assert.deepEqual(await phone.getByRole('main').getByRole('listitem').getByRole('link').count(), 3);
    await phone.goto('/settings/people');
    await see('Це ви', phone);
    await see(/^Додавати, змінювати й вилучати людей можуть лише власник та адміністратори/, phone);
    assert.equal(await phone.getByRole('button', { name: /Додати|Змінити/ }).count(), 0);
    await look(phone, '35-members-as-member-uk');
    await phone.goto('/settings/home');
    await see('Змінювати налаштування станції можуть лише власник та адміністратори.', phone);
    await see('Carpathian cabin', phone);
    assert.equal(await phone.getByLabel('Назва мережі').count(), 0);
  });

  it('she chooses a password of her own, after mistaking the first one', async () => {
    const phone = marias.page;
    await phone.goto('/account');
    const fill = async (present: string): Promise<void> => {
      await phone.getByLabel('Поточний пароль').fill(present);
      await phone.getByLabel('Новий пароль').fill(maria.password);
      await phone.getByRole('button', { name: 'Змінити пароль' }).click();
    };
    await fill('not this one');
    await see('Поточний пароль неправильний.', phone);
    await fill(firstPassword);
    await see(/^Пароль змінено/, phone);
    await look(phone, '36-account-uk');
    await phone.getByRole('button', { name: 'Вийти', exact: true }).click();
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
    await marias.page.goto('/settings/people');
    await marias.page.getByRole('button', { name: 'Додати учасника' }).waitFor({ timeout: timeoutMs });
    assert.equal(
      await marias.page.getByRole('button', { name: /^Змінити/ }).count(),
      0,
      'neither the owner nor herself',
    );
  });

  it('she has forgotten her password: I make her a new one, and the old one is refused', async () => {
    await press('Change Maria');
    // It is shown once: Escape does not close the dialog while it is made.
    const asked = Promise.withResolvers<void>();
    const isAnswered = Promise.withResolvers<void>();
    let requests = 0;
    await page.route('**/password', async (route) => {
      requests += 1;
      asked.resolve();
      await isAnswered.promise;
      await route.continue();
    });
    // A slow phone hands over waiting taps and keys before it runs any timer; only microtasks run between two of them.
    await dialog('Maria').evaluate(async (shown) => {
      const create = [...shown.querySelectorAll('button')].find((one) => one.textContent.includes('Create a new'));
      for (let taps = 0; taps < 2; taps += 1) {
        create?.click();
        for (let times = 0; times < 20; times += 1) await Promise.resolve();
      }
      shown.dispatchEvent(new Event('cancel', { cancelable: true }));
    });
    await asked.promise;
    for (let times = 0; times < 3; times += 1) await page.keyboard.press('Escape');
    isAnswered.resolve();
    await dialog('New password for Maria').waitFor();
    assert.equal(requests, 1, 'the second tap sends nothing');
    await page.unroute('**/password');
    const replaced = await made();
    assert.notEqual(replaced, firstPassword);
    await press('Done');
    await marias.page.reload();
    await headlineIs('Вхід', marias.page);
    await logInAsMaria(maria.password);
    await see('Неправильна адреса або пароль. Перевірте їх і спробуйте ще раз.', marias.page);
    await logInAsMaria(replaced);
    await headlineIs('Люди й гості', marias.page);
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

  it('a guest gets the kitchen until midnight, and I am told what is missing', async () => {
    await makeZone(station.url, 'Kitchen', 'Ceiling lamp');
    await makeZone(station.url, 'Bedroom', 'Desk lamp');
    await page.reload();
    await press('Add member');
    await page.getByLabel('Name', { exact: true }).fill(guest.name);
    await page.getByLabel('E-mail').fill(guest.email);
    await page.getByRole('radio', { name: /^Guest/ }).check();
    const add = dialog('Add a member').getByRole('button', { name: 'Add', exact: true });
    await add.click();
    await see('Choose at least one zone.');
    await page.getByRole('checkbox', { name: 'Kitchen' }).check();
    assert.equal(await page.getByRole('radio', { name: 'Tonight, at midnight' }).isChecked(), true);
    await look(page, '39-add-guest');
    await add.click();
    await dialog('Taras can log in now').waitFor();
    firstPassword = await made();
    await press('Done');
    await row(guest.email)
      .getByText(/^Only: Kitchen.*until/)
      .waitFor();
    await look(page, '39-members-guest');
  });

  it('on his phone he finds the lamp of the kitchen, and nothing of the rest', async () => {
    const phone = marias.page;
    await phone.goto('/');
    await phone.getByRole('textbox').first().fill(guest.email);
    await phone.locator('input[name=password]').fill(firstPassword);
    await phone.keyboard.press('Enter');
    const lamp = phone.getByRole('switch', { name: 'Ceiling lamp' });
    await lamp.waitFor({ timeout: timeoutMs });
    assert.equal(await phone.getByRole('switch').count(), 1);
    const places = phone.getByRole('navigation').getByRole('link');
    assert.deepEqual(await places.allInnerTexts(), ['Дім', 'Пристрої', 'Налаштування']);
    const before = await lamp.getAttribute('aria-checked');
    await lamp.click();
    await phone
      .locator(`[role=switch][aria-checked=${before === 'true' ? 'false' : 'true'}]`)
      .waitFor({ timeout: timeoutMs });
    await look(phone, '39-guest-home-uk');
    await phone.getByRole('button', { name: /^Ceiling lamp/ }).click();
    await phone.getByRole('dialog').getByRole('link').click();
    await headlineIs('Ceiling lamp', phone);
    await phone.goto('/automations');
    await headlineIs('Такої сторінки немає', phone);
    await phone.goto('/settings');
    await headlineIs('Налаштування', phone);
    await phone.goto('/');
  });

  it('I let him stay with two zones, and his page shows the other lamp automatically', async () => {
    await press('Change Taras');
    await dialog('Taras')
      .getByRole('radio', { name: /^Limited member/ })
      .check();
    await page.getByRole('checkbox', { name: 'Bedroom' }).check();
    await dialog('Taras').getByRole('button', { name: 'Save' }).click();
    await row(guest.email)
      .getByText(/^Only: .*Bedroom/)
      .waitFor();
    const phone = marias.page;
    await phone.getByRole('switch', { name: 'Desk lamp' }).waitFor({ timeout: timeoutMs });
    await phone.getByRole('navigation').getByRole('link', { name: 'Події' }).click();
    await headlineIs('Події', phone);
  });

  it('his time is over: he is out, and is told so when he tries again', async () => {
    await endSoon(station.url, guest.email);
    const phone = marias.page;
    await headlineIs('Вхід', phone);
    await phone.getByRole('textbox').first().fill(guest.email);
    await phone.locator('input[name=password]').fill(firstPassword);
    await phone.keyboard.press('Enter');
    await see(/^Ваш доступ завершився/, phone);
    await page.reload();
    await row(guest.email).getByText(/ended/).waitFor();
  });

  it('the station stops answering: people stay readable, dimmed, and nothing can be changed meanwhile', async () => {
    await station.whileFrozen(page, async () => {
      await see(/Connection lost\. Last update/);
      assert.equal(await page.getByRole('button', { name: 'Add member' }).getAttribute('aria-disabled'), 'true');
      await look(page, '39-members-stale');
    });
  });

  it('neither browser reported a fault', () => {
    assert.deepEqual([...olena.complaints, ...marias.complaints], []);
  });
});

type Call = <T>(method: string, path: string, body?: object) => Promise<T>;

/** Calls the API as the owner. */
async function callerAt(url: string): Promise<Call> {
  const headers = { 'content-type': 'application/json' };
  const { email, password } = owner;
  const login = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ email, password }),
  });
  const { accessToken } = (await login.json()) as { accessToken: string };
  return async <T>(method: string, path: string, body?: object) => {
    const authorization = `Bearer ${accessToken}`;
    const answer = await fetch(url + path, {
      method,
      headers: { authorization, ...(body && headers) },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
    return (await answer.json()) as T;
  };
}

type Named = { id: string; name: string };

async function makeZone(url: string, name: string, deviceName: string): Promise<void> {
  const call = await callerAt(url);
  const { id: zoneId } = await call<Named>('POST', '/api/zones', { name });
  const device = (await call<Named[]>('GET', '/api/devices')).find((one) => one.name === deviceName);
  await call('PATCH', `/api/devices/${device?.id}`, { zoneId });
}

/** Makes somebody a guest whose access ends in a moment: the page has minutes only. */
async function endSoon(url: string, email: string): Promise<void> {
  const call = await callerAt(url);
  const members = await call<{ userId: string; email: string; zoneIds: string[] }[]>('GET', '/api/station/members');
  const { userId = '', zoneIds = [] } = members.find((one) => one.email === email) ?? {};
  const endsAt = new Date(Date.now() + 2_000).toISOString();
  await call('PATCH', `/api/station/members/${userId}`, { role: 'guest', zoneIds, endsAt });
}
