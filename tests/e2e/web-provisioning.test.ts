import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { startVirtualDevice } from '@station/simulators/devices/virtual-device';
import type { Browser, Locator, Page } from 'playwright-core';
import { waitFor } from '../rig/program.ts';
import {
  chooseInMenu,
  createOwner,
  look,
  openBrowser,
  openDevice,
  openPerson,
  type Person,
  textOn,
  timeoutMs,
} from './web/browser.ts';
import { improvSerialPort } from './web/improv-serial.ts';
import { startRunningStation, type RunningStation } from './web/running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };
const withinMs = 150_000;

type RadioView = {
  helpers: { scanning: number };
  devices: { address: string; label: string; state: string; pageUrl: string | null }[];
};

/** A day on which new devices come into a home; each journey continues from the previous one. */
describe('adding devices in the web app, in a real Chromium', { timeout: 900_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  let isBroken = false;

  /** Continues from the previous one: after a failure the rest would only wait for what does not come. */
  const journey = (name: string, run: () => Promise<void>): void => {
    it(name, async () => {
      assert.ok(!isBroken, 'an earlier journey failed');
      isBroken = true;
      await run();
      isBroken = false;
    });
  };
  const see = (text: string | RegExp, on: Page | Locator = page) => textOn(on, text);
  const headlineIs = (name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor({ timeout: timeoutMs });
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const near = (name: string) =>
    page.getByRole('region', { name: 'Nearby' }).getByRole('button', { name: new RegExp(`^${name}`) });
  const card = (name: string) => page.getByRole('article', { name, exact: true });
  const online = (name: string) =>
    card(name)
      .getByRole('heading', { name: `${name} is online` })
      .waitFor({ timeout: withinMs });
  const openAdd = async (): Promise<void> => {
    await go('Home');
    await page.getByRole('link', { name: 'Add device' }).first().click();
    await headlineIs('Add device');
  };
  const openWay = async (name: string): Promise<void> => {
    await openAdd();
    await page
      .getByRole('region', { name: 'Other ways to add a device' })
      .getByRole('link', { name: new RegExp(`^${name}`) })
      .click();
  };
  /** Chooses a device that is near, and names it. */
  const add = async (defaultName: string, name: string): Promise<void> => {
    await near(defaultName).click();
    const dialog = page.getByRole('dialog', { name: `Add ${defaultName}` });
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  };
  const radio = async (): Promise<RadioView> => (await fetch(station.radioUrl)).json() as Promise<RadioView>;
  const pageOf = async (address: string): Promise<string> => {
    const { pageUrl } = (await radio()).devices.find((one) => one.address === address) ?? {};
    return pageUrl ?? assert.fail('the device has no page of its own');
  };
  /** Reads the login that the station shows, and enters it in the device's own page, as a person would. */
  const enterLogin = async (name: string, address: string): Promise<void> => {
    const sheet = page.getByRole('region', { name: `Login of ${name}` });
    await sheet.waitFor({ timeout: withinMs });
    const own = await olena.context.newPage();
    await own.goto(await pageOf(address));
    for (const label of ['Device id', 'Token', 'Station id', 'MQTT host', 'MQTT port']) {
      const value = sheet.locator('dt', { hasText: label }).locator('xpath=following-sibling::dd[1]');
      await own.getByLabel(label).fill((await value.innerText()).trim());
    }
    await own.getByRole('button', { name: 'Save' }).click();
    await see('Saved.', own);
    await own.close();
  };

  before(async () => {
    station = day.use(await startRunningStation({ FORWARD_WIFI: 'true' }));
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await createOwner(page, { ...owner, setupCode: station.setupCode });
    await see(/devices online/);
  });
  after(() => day.disposeAsync());

  journey('I open the page and see the devices that wait nearby, with type and signal', async () => {
    await openAdd();
    for (const name of ['Light B2C3', 'Climate sensor 7F21', 'Switch with motion sensor 44E1']) {
      await near(name).waitFor({ timeout: timeoutMs });
    }
    for (const name of ['Motion sensor 21AA', 'Light AD01', 'Greenhouse']) await near(name).waitFor();
    await see('Strong signal');
    await look(page, '90-add-nearby');
  });

  journey('I tap a lamp, give it a name and a zone, and hold its tile at the end', async () => {
    await near('Light B2C3').click();
    const dialog = page.getByRole('dialog', { name: 'Add Light B2C3' });
    await see('It joins Station home.', dialog);
    await dialog.getByLabel('Name', { exact: true }).fill('Porch lamp');
    await dialog.getByLabel('Zone').selectOption('new');
    await dialog.getByLabel('Name of the new zone').fill('Porch');
    await look(page, '91-add-dialog');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await online('Porch lamp');
    await card('Porch lamp').getByRole('switch', { name: 'Porch lamp' }).click({ timeout: timeoutMs });
    await card('Porch lamp').getByRole('switch', { name: 'Porch lamp', checked: true }).waitFor();
    await look(page, '92-added');
    await card('Porch lamp').getByRole('button', { name: 'Done' }).click();
  });

  journey('I add three at once: they take turns, and each goes its own way', async () => {
    const address = (await radio()).devices.find(({ label }) => label.startsWith('Climate sensor'))?.address;
    await station.pressRadio(`devices/${address}/write-slowly`);
    await add('Climate sensor 7F21', 'Hall climate');
    await add('Motion sensor 21AA', 'Hall motion');
    await add('Light AD01', 'Cellar lamp');
    await see('Connecting and sending', card('Hall climate'));
    await see('Waiting for its turn', card('Hall motion'));
    await look(page, '93-several');
    await station.pressRadio(`devices/${address}/write-quickly`);
    await online('Hall climate');
    await online('Hall motion');
  });

  journey('a connection breaks: I am told what helps, try again, and it works', async () => {
    await add('Switch with motion sensor 44E1', 'Door switch');
    await card('Door switch')
      .getByRole('heading', { name: 'Door switch was not added' })
      .waitFor({ timeout: withinMs });
    await see('The connection broke while sending. Bring the device closer and try again.', card('Door switch'));
    await look(page, '94-failed');
    await card('Door switch').getByRole('button', { name: 'Try again' }).click();
    const dialog = page.getByRole('dialog');
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'Door switch');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await online('Door switch');
  });

  journey('an Improv device joins the Wi-Fi; I enter its login in its own page', async () => {
    await near('Greenhouse').click();
    const dialog = page.getByRole('dialog', { name: 'Add Greenhouse' });
    await see('It joins the Wi-Fi first. Then you enter its login on its own page.', dialog);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await card('Greenhouse').getByRole('button', { name: 'Show its login' }).click({ timeout: withinMs });
    await page.getByRole('region', { name: 'Login of Greenhouse' }).waitFor();
    await look(page, '96-improv');
    await enterLogin('Greenhouse', 'C0:DE:00:00:00:06');
    await online('Greenhouse');
  });

  journey('manually: I type the id of a device without Bluetooth, after a slip', async () => {
    await openWay('Add manually');
    await headlineIs('Add manually');
    await page.getByLabel('Device id').fill('4e0b/17');
    await page.getByLabel('Type', { exact: true }).selectOption('light');
    await page.getByLabel('Name', { exact: true }).fill('Stairs lamp');
    await page.getByRole('button', { name: 'Create login' }).click();
    await see('Letters, digits, - and _ only, at most 64.');
    await look(page, '97-manual');
    await page.getByLabel('Device id').fill('4e0b17');
    await page.getByRole('button', { name: 'Create login' }).click();
    await page.getByRole('img', { name: 'QR code with the login of Stairs lamp' }).waitFor();
    await look(page, '98-login');
    await enterLogin('Stairs lamp', 'C0:DE:00:00:00:07');
    await online('Stairs lamp');
  });

  journey('manually: a photo of the label fills in id and type', async () => {
    const address = 'C0:DE:00:00:00:08';
    const label = await fetch(new URL(`/radio/labels/${address}`, station.radioUrl));
    await openWay('Add manually');
    const photo = { name: 'label.gif', mimeType: 'image/gif', buffer: Buffer.from(await label.arrayBuffer()) };
    await page.getByLabel('Photo of the label').setInputFiles(photo);
    await see('Read from the label: 91c7');
    assert.equal(await page.getByLabel('Device id').inputValue(), '91c7');
    assert.equal(await page.getByLabel('Type', { exact: true }).inputValue(), 'climate');
    await page.getByLabel('Name', { exact: true }).fill('Attic climate');
    await page.getByRole('button', { name: 'Create login' }).click();
    await enterLogin('Attic climate', address);
    await online('Attic climate');
  });

  journey('an unknown device knocks: I let it in', async () => {
    await station.pressRadio('unknown-devices');
    await openWay('Unknown devices');
    await headlineIs('Unknown devices');
    await page.getByRole('button', { name: /^Accept…: light-/ }).click({ timeout: timeoutMs });
    const dialog = page.getByRole('dialog', { name: 'Add this device?' });
    await dialog.getByLabel('Name').fill('Attic lamp');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.waitFor({ state: 'detached' });
    await go('Home');
    await page.getByRole('switch', { name: 'Attic lamp' }).waitFor({ timeout: withinMs });
  });

  journey('an installer adds a list and gets the logins of all', async () => {
    await openWay('From a list');
    await headlineIs('Add from a list');
    const choose = (text: string) =>
      page
        .getByLabel(/Choose (another )?file/)
        .setInputFiles({ name: 'devices.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await choose('external_id,type,name,zone\nc1,light,Gate lamp,Porch\nc1,light,,\n');
    await see('The same id is on line 2');
    assert.equal(
      await page.getByRole('button', { name: /^Create/ }).count(),
      0,
      'nothing is offered before it is corrected',
    );
    await choose('external_id;type;name;zone\nc1;light;Gate lamp;Porch\nSH_climate_c2;;Shed climate;Shed\n');
    await see('Shed (new)');
    await look(page, '99-list');
    await page.getByRole('button', { name: 'Create 2 logins' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download the logins' }).click();
    const [heads = [], ...rows] = (await readFile(await (await downloading).path(), 'utf8'))
      .trim()
      .split(/\r?\n/)
      .map((line) => line.split(','));
    for (const row of rows) {
      const of = (head: string): string => row[heads.indexOf(head)] ?? assert.fail(`no column ${head}`);
      const login = { externalId: of('device_id'), type: of('type'), name: of('name'), token: of('device_token') };
      day.use(
        startVirtualDevice({
          url: `mqtt://${of('mqtt_host')}:${of('mqtt_port')}`,
          stationId: of('station_id'),
          seed: 'list',
          login: { ...login, profile: 'field' },
        }),
      );
    }
    await see('2 of 2 online');
    await look(page, '99-list-online');
    await go('Home');
    await page.getByRole('switch', { name: 'Gate lamp' }).waitFor({ timeout: timeoutMs });
  });

  journey('over USB: the offer is there, and a browser without USB says so and shows the other way', async () => {
    await openWay('Over USB');
    await headlineIs('Add over USB');
    await page.getByRole('button', { name: 'Connect device' }).waitFor({ timeout: timeoutMs });
    await look(page, '99-usb');
    const other = await olena.context.newPage();
    await other.addInitScript('delete Navigator.prototype.serial');
    await other.goto('/add/usb');
    await see('This browser cannot use USB.', other);
    await other.getByRole('link', { name: 'Add manually' }).waitFor();
    await other.close();
  });

  journey('over USB: the device says that the password is wrong, then joins; its login comes next', async () => {
    const other = await olena.context.newPage();
    await other.addInitScript(improvSerialPort);
    await other.goto('/add/usb');
    await other.getByRole('button', { name: 'Connect device' }).click();
    await see('Garden lamp is connected. Which Wi-Fi should it join?', other);
    // The station is asked for its network meanwhile.
    await other.locator('input[name="ssid"][value="Station home"]').waitFor({ timeout: timeoutMs });
    for (const password of ['wrong password', 'simulated-wifi']) {
      await other.getByLabel('Password', { exact: true }).fill(password);
      await other.getByRole('button', { name: 'Join Wi-Fi' }).click();
      if (password === 'wrong password') await see(/The device could not join/, other);
    }
    await see('The device is on the Wi-Fi now. Create its login next.', other);
    assert.equal(await other.evaluate('window.improvJoined'), 'Station home');
    await other.getByRole('link', { name: 'Create login' }).click();
    await other.getByRole('heading', { level: 1, name: 'Add manually' }).waitFor();
    await other.close();
  });

  journey('a device never comes online: I read why, bring Wi-Fi to it, and try again', async () => {
    const name = 'Cellar lamp';
    const address = 'C0:DE:00:00:00:05';
    // It had a minute since it was added.
    await openAdd();
    await card(name)
      .getByRole('heading', { name: `${name} did not come online` })
      .waitFor({ timeout: withinMs });
    await see(/Usually the Wi-Fi password is wrong, or the signal is weak/, card(name));
    await look(page, '95-never-online');
    await station.pressRadio(`devices/${address}/find-wifi`);
    await card(name).getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await online(name);
  });

  journey('a removed device forgets everything and waits nearby again', async () => {
    await go('Home');
    await openDevice(page, 'Porch lamp');
    await see('Porch · online');
    await chooseInMenu(page, 'Remove device');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await openAdd();
    await near('Light B2C3').waitFor({ timeout: withinMs });
  });

  journey('the radio fails in its ways: the page says which, and goes on when it is back', async () => {
    for (const [state, title] of [
      ['adapter_missing', 'This station has no Bluetooth'],
      ['adapter_off', 'Bluetooth is switched off'],
      ['adapter_blocked', 'Bluetooth is blocked'],
      ['bluetooth_stopped', 'The Bluetooth service does not answer'],
    ] as const) {
      await station.pressRadio(`adapter/${state}`);
      await page.getByRole('heading', { name: title }).waitFor({ timeout: timeoutMs });
    }
    await look(page, '99-no-radio');
    await station.pressRadio('adapter/ready');
    await near('Light B2C3').waitFor({ timeout: timeoutMs });
    await station.pressRadio('helper/crash');
    await waitFor('the next helper to scan', async () => (await radio()).helpers.scanning === 1, timeoutMs);
    await page.locator('button:not([aria-disabled="true"])', { hasText: 'Light B2C3' }).waitFor({ timeout: timeoutMs });
    await add('Light B2C3', 'Porch lamp');
    await online('Porch lamp');
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
