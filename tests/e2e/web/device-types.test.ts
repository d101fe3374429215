import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { readDeviceType } from '@station/protocol/device-types';
import { startVirtualDevice, type DeviceLogin, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv } from '../../rig/program.ts';
import {
  chooseInPart,
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

const on = { key: 'on', kind: 'boolean', names: { en: 'Fan', uk: 'Вентилятор' } };
const mode = {
  key: 'mode',
  kind: 'enum',
  values: ['auto', 'high'],
  names: { en: 'Mode', uk: 'Режим' },
  valueNames: { auto: { en: 'Automatic', uk: 'Автоматичний' }, high: { en: 'High', uk: 'Швидкий' } },
};
/** Nobody has told the station of this type before. */
const fan = {
  type: 'fan',
  icon: 'fan',
  names: { en: 'Ceiling fan', uk: 'Вентилятор' },
  capabilities: [{ ...on, valueNames: { true: { en: 'Running' }, false: { en: 'Still' } } }, mode],
  commands: [
    { action: 'turn_on', sets: { on: true }, confirmedBy: ['on'], repeatable: true },
    { action: 'turn_off', sets: { on: false }, confirmedBy: ['on'], repeatable: true },
    {
      action: 'set_mode',
      params: { type: 'object', properties: { mode: { type: 'string', enum: ['auto', 'high'] } } },
      confirmedBy: ['mode'],
      repeatable: true,
    },
  ],
  events: [{ action: 'filter_full', kind: 'device_event', names: { en: 'Filter full', uk: 'Фільтр повний' } }],
  primary: { capability: 'on', command: 'turn_on' },
};

const login = (externalId: string, type: string, name: string): DeviceLogin => ({
  externalId,
  type,
  name,
  token: `token-of-${externalId}-that-is-long-enough`,
  profile: 'station',
});

/** A day with a type that comes from a file; each journey continues from the previous one. */
describe('a device type from a file in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: Installation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  let device: VirtualDevice;

  const see = (text: string | RegExp) => textOn(page, text);
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const typeFile = (): string => join(station.dataDir, 'device-types/fan.json');

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    const logins = [login('fan-0001', 'fan', 'Bedroom fan'), login('light-0001', 'light', 'Hall lamp')];
    const env = { WEB_DIR: join(root, 'dist/web') };
    station = day.use(await install('the embedded broker and SQLite', { logins, env }));
    await station.startBackend();
    await station.logIn();
    const read = readDeviceType(fan);
    assert.ok(read.kind === 'ok');
    for (const one of logins) {
      const started = startVirtualDevice({
        url: station.mqttUrl,
        stationId,
        login: one,
        seed: 'types',
        speed: 0.001,
        ...(one.type === 'fan' && { types: () => read.deviceType }),
      });
      day.use(started);
      if (one.type === 'fan') device = started;
    }
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
  });
  after(() => day.disposeAsync());

  it('before the file is there, I see what the device reports, but cannot command it', async () => {
    await page.getByRole('link', { name: /^Bedroom fan/ }).waitFor({ timeout: timeoutMs });
    await see('Mode: auto');
    assert.equal(await page.getByRole('switch', { name: 'Bedroom fan' }).count(), 0);
    await page.getByRole('switch', { name: 'Hall lamp' }).waitFor();
  });

  it('the file is dropped into the running station, and the tile becomes a switch, without a reload', async () => {
    await mkdir(join(station.dataDir, 'device-types'), { recursive: true });
    await writeFile(typeFile(), JSON.stringify(fan));
    await page.getByRole('switch', { name: 'Bedroom fan', checked: false }).waitFor({ timeout: timeoutMs });
    await see('Still');
    await look(page, '80-type-tile');
    await page.getByRole('switch', { name: 'Bedroom fan' }).click();
    await see('Running');
    await page
      .getByRole('switch', { name: 'Bedroom fan', checked: true })
      .and(page.locator(':not([aria-busy])'))
      .waitFor();
    assert.equal(device.state['on'], true);
  });

  it('on its page I choose a mode, and see its name, its chart and its events in words', async () => {
    await openDevice(page, 'Bedroom fan');
    await page.getByText('Details', { exact: true }).click();
    await see('Ceiling fan');
    const choice = page.getByRole('combobox', { name: 'Mode', exact: true });
    await choice.selectOption({ label: 'High' });
    for (const deadline = Date.now() + timeoutMs; device.state['mode'] !== 'high'; await page.waitForTimeout(50))
      assert.ok(Date.now() < deadline, 'the device was told');
    await page.reload();
    assert.equal(await choice.locator('option:checked').textContent(), 'High');
    await device.publish('event', { event: 'device_event', data: { action: 'filter_full' } });
    await see('Filter full');
    await page.locator('canvas').waitFor();
    await look(page, '81-type-page');
  });

  it('I use it in an automation, in the words of the file', async () => {
    await go('Automations');
    await page.getByRole('link', { name: 'New automation' }).click();
    const choose = (...chosen: [part: string, subject: string, what: string]) => chooseInPart(page, ...chosen);
    await choose('Trigger 1', 'Bedroom fan', 'reports “Filter full”');
    await choose('Step 1', 'Bedroom fan', 'set mode to “Automatic”');
    await page.getByRole('button', { name: 'Add step' }).click();
    await choose('Step 2', 'Hall lamp', 'toggle');
    await see('When Bedroom fan reports “Filter full” →\u00a0Bedroom fan: set mode to “Automatic”, toggle Hall lamp');
    await look(page, '82-type-automation');
    await press('Save and turn on');
    await see(/^On$/);
  });

  it('the file is changed, and the new name is there; it is removed, and the device is still shown', async () => {
    await writeFile(typeFile(), JSON.stringify({ ...fan, names: { en: 'Quiet fan' } }));
    await go('Home');
    await openDevice(page, 'Bedroom fan');
    await page.getByText('Details', { exact: true }).click();
    await see('Quiet fan');
    await rm(typeFile());
    await go('Home');
    await page.getByRole('link', { name: /^Bedroom fan/ }).waitFor({ timeout: timeoutMs });
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
