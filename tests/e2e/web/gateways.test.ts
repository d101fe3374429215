import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Browser, Page } from 'playwright-core';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { announcement, colourLamp } from '@station/backend/testing/gateways/announcements';
import { type SimulatedZigbee2Mqtt, startZigbee2Mqtt } from '@station/backend/testing/simulated-zigbee2mqtt';
import { owner, runBackend, type RunningBackend } from '../../../apps/backend/testing/running-backend.ts';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { logIn, look, openBrowser, openPerson, type Person, textOn } from './browser.ts';

const root = join(import.meta.dirname, '../../..');

/** From the first connection to its end; each journey continues from the previous one. */
describe('devices of other systems in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: RunningBackend;
  let bridge: SimulatedZigbee2Mqtt;
  let browser: Browser;
  let olena: Person;
  let page: Page;

  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const see = (text: string | RegExp) => textOn(page, text);
  const valueOf = async (name: string): Promise<string> => {
    const term = page.getByText(name, { exact: true });
    return (await term.locator('xpath=following-sibling::dd[1]/span').innerText()).trim();
  };
  const openGateways = async (): Promise<void> => {
    await page.goto('/add');
    await page.getByRole('link', { name: /^Other systems/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Other systems' }).waitFor();
  };

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    station = day.use(await runBackend({ env: { WEB_DIR: join(root, 'dist/web') } }));
    await station.setUp();
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.backend.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
    await page.getByRole('navigation').first().waitFor();
  });
  after(() => day.disposeAsync());

  it('my Zigbee2MQTT points at the station already: it is suggested, and "Connect it" fills in the form', async () => {
    await page.goto('/add');
    await page.getByRole('link', { name: /^Other systems/ }).waitFor();
    const knock = async (topic: string): Promise<void> => {
      const will = { topic, payload: Buffer.from('offline'), qos: 1, retain: true } as const;
      await assert.rejects(connectAsync(station.backend.mqttAddress ?? '', { will, reconnectPeriod: 0 }, false));
    };
    await knock('attic/zigbee/bridge/state');
    await knock('kitchen/status');
    await page.getByRole('heading', { name: 'Heard and not connected' }).waitFor();
    await see(/^Tried to log in.+ as attic\/zigbee\/bridge\/state, and was refused/i);
    await look(page, 'gateways-0-heard');
    const suggested = page.getByRole('listitem').filter({ hasText: 'Zigbee2MQTT' });
    await suggested.getByRole('link', { name: 'Connect it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Other systems' }).waitFor();
    const filledIn = async () =>
      Promise.all(
        ['System', 'Name', 'Base topic'].map((label) => page.getByLabel(label, { exact: true }).inputValue()),
      );
    assert.deepEqual(await filledIn(), ['zigbee2mqtt', 'Zigbee', 'attic/zigbee']);
    const other = page.getByRole('listitem').filter({ hasText: 'ESPHome' });
    await other.getByRole('link', { name: 'Connect it' }).click();
    await page.getByLabel('Discovery prefix').waitFor();
    assert.deepEqual(await filledIn(), ['home_assistant', 'ESPHome', 'esphome']);
    await suggested.getByRole('link', { name: 'Connect it' }).click();
    await page.getByLabel('Discovery prefix').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create its login' }).and(page.locator(':focus')).waitFor();
    await look(page, 'gateways-0-filled-in');
    await press('Create its login');
    await page.getByRole('heading', { name: 'Login for Zigbee' }).waitFor();
    assert.equal(await valueOf('base_topic'), 'attic/zigbee');
    await suggested.waitFor({ state: 'detached' });
    await other.waitFor();
    assert.equal(new URL(page.url()).search, '');
    await press('Disconnect');
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('heading', { name: 'Connect a system' }).waitFor();
  });

  it('I connect a Zigbee2MQTT: what it needs is shown once, and a topic of the station itself is refused', async () => {
    await openGateways();
    await page.getByLabel('System', { exact: true }).selectOption('Shelly (Gen2 and later)');
    await see(/such as shelly\/boiler/);
    assert.equal(await page.getByLabel('Base topic').inputValue(), 'shelly');
    await page.getByLabel('System', { exact: true }).selectOption('ESPHome (Home Assistant discovery)');
    assert.equal(await page.getByLabel('Discovery prefix').inputValue(), 'homeassistant');
    await page.getByLabel('System', { exact: true }).selectOption('Zigbee2MQTT');
    await page.getByLabel('Base topic').fill('station/mine');
    await press('Create its login');
    assert.equal(await page.getByLabel('Base topic').getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Base topic').fill('zigbee2mqtt');
    await press('Create its login');
    await page.getByRole('heading', { name: 'Login for Zigbee' }).waitFor();
    await see('Not heard yet');
    await look(page, 'gateways-1-login');
    const login = { username: await valueOf('user'), password: await valueOf('password') };
    assert.equal(await valueOf('base_topic'), 'zigbee2mqtt');
    assert.match(await valueOf('server'), /^mqtt:\/\/.+:\d+$/);
    bridge = day.use(
      await startZigbee2Mqtt(station.backend.mqttAddress ?? '', login, [
        {
          entry: {
            ...announcement({ definition: colourLamp }),
            ieee_address: '0x00158d0000000001',
            friendly_name: 'Hall lamp',
          },
          state: { state: 'OFF', brightness: 0 },
        },
      ]),
    );
    await page.reload();
    await see(/^Connected.+1 device$/);
    assert.equal(await page.getByText('password', { exact: true }).count(), 0, 'shown once');
    const odd = { ieee_address: '0x00158d0000000002', friendly_name: 'lamp/set', type: 'Router' };
    bridge.devices.push({ entry: odd, state: {} });
    await bridge.announce();
    await page.getByText('Not supported: 1', { exact: true }).click();
    await see('lamp/set');
    await see(/a name that is not possible here/);
    await look(page, 'gateways-1-not-supported');
    bridge.devices.pop();
  });

  it('its lamp is at home like all others: I switch it, and it confirms', async () => {
    await bridge.report('Hall lamp', { state: 'OFF', brightness: 0 });
    await go('Home');
    const lamp = page.getByRole('switch', { name: 'Hall lamp', exact: true });
    await lamp.click();
    await page
      .getByRole('switch', { name: 'Hall lamp', exact: true, checked: true })
      .and(page.locator(':not([aria-busy])'))
      .waitFor();
    assert.deepEqual(bridge.commands, [{ name: 'Hall lamp', payload: { state: 'ON' } }]);
    await look(page, 'gateways-2-home');
  });

  it('its page says where it comes from', async () => {
    await go('Devices');
    await page
      .getByRole('link', { name: /Hall lamp/ })
      .first()
      .click();
    await page.getByRole('heading', { level: 1, name: 'Hall lamp' }).waitFor();
    await page.getByText('Details', { exact: true }).click();
    await see('Comes from');
    await see('Zigbee2MQTT');
    await look(page, 'gateways-3-device');
  });

  it('a new password ends the one before, and after I disconnect it its lamp is gone', async () => {
    await openGateways();
    await press('New password');
    await page.getByRole('dialog').getByRole('button', { name: 'New password' }).click();
    await page.getByRole('heading', { name: 'Login for Zigbee' }).waitFor();
    await waitFor('the login of before to end', async () => !bridge.client.connected);
    await press('Disconnect');
    const asked = page.getByRole('dialog', { name: 'Disconnect Zigbee?' });
    await asked.getByText('Its device leaves the station, with its history.').waitFor();
    await asked.getByRole('button', { name: 'Disconnect' }).click();
    await asked.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Connect a system' }).waitFor();
    await go('Devices');
    await page.getByText('Hall lamp').first().waitFor({ state: 'detached' });
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
