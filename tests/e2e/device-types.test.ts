import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Automation, AutomationRun } from '@station/protocol/automations';
import { type DeviceType, readDeviceType } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import type { Device } from '@station/protocol/devices';
import { startVirtualDevice, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { bearer, owner, runBackend, type RunningBackend } from '../../apps/backend/testing/running-backend.ts';
import { addDevice } from '../../apps/backend/testing/test-device.ts';
import { startReferenceCloud, type ReferenceCloud } from '../../simulators/cloud/reference-cloud.ts';
import { needPackages } from '../rig/debian.ts';
import { systemEnv, waitFor } from '../rig/program.ts';
import { look, openBrowser, openDevice, openPerson, type Person, textOn, timeoutMs, logIn } from './web/browser.ts';

const root = join(import.meta.dirname, '../..');

/** A type that no release of Station has ever heard of, as its owner writes it into a file. */
const valveFile = {
  type: 'garden-valve',
  icon: 'droplets',
  names: { en: 'Garden valve', uk: 'Садовий клапан' },
  capabilities: [
    {
      key: 'isOpen',
      kind: 'boolean',
      names: { en: 'Water', uk: 'Вода' },
      valueNames: { true: { en: 'Flowing', uk: 'Тече' }, false: { en: 'Shut', uk: 'Закрито' } },
    },
    { key: 'pressure', kind: 'number', unit: 'bar', min: 0, max: 10, names: { en: 'Water pressure', uk: 'Тиск води' } },
    { key: 'opening', kind: 'number', unit: '%', min: 0, max: 100, names: { en: 'Opening', uk: 'Відкриття' } },
  ],
  commands: [
    { action: 'open_valve', sets: { isOpen: true }, confirmedBy: ['isOpen'], repeatable: true },
    { action: 'shut_valve', sets: { isOpen: false }, confirmedBy: ['isOpen'], repeatable: true },
    {
      action: 'set_opening',
      params: { type: 'object', properties: { opening: { type: 'integer', minimum: 0, maximum: 100 } } },
      confirmedBy: ['opening'],
      repeatable: true,
    },
  ],
  events: [{ action: 'leak_found', kind: 'device_event', names: { en: 'Leak found', uk: 'Витік' } }],
  primary: { capability: 'isOpen', command: 'open_valve' },
};
const valveType = typeOf(valveFile);

/** A type that only its devices know. */
const soilType = typeOf({
  type: 'soil-probe',
  names: { en: 'Soil probe', uk: 'Датчик ґрунту' },
  capabilities: [{ key: 'moisture', kind: 'number', unit: '%', min: 0, max: 100, names: { en: 'Soil moisture' } }],
});

function typeOf(description: object): DeviceType {
  const read = readDeviceType(description);
  assert.ok(read.kind === 'ok', JSON.stringify(read));
  return read.deviceType;
}

/** One afternoon of one backend, which never restarts; each journey continues from the previous one. */
describe('a device type that arrives while the station runs', { timeout: 600_000 }, () => {
  const afternoon = new AsyncDisposableStack();
  let station: RunningBackend;
  let cloud: ReferenceCloud;
  let page: Page;
  let olena: Person;
  let headers: Record<string, string>;
  let valve: VirtualDevice;
  let valveId = '';
  let stationId = '';
  let file = '';

  const get = async <T>(url: string): Promise<T> => {
    const answer = await station.http.inject({ url, headers });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<T>();
  };
  const post = async <T>(url: string, payload: object = {}): Promise<T> => {
    const answer = await station.http.inject({ method: 'POST', url, headers, payload });
    assert.ok(answer.statusCode < 300, answer.body);
    return answer.json<T>();
  };
  const knownTypes = async (): Promise<string[]> =>
    (await get<DeviceType[]>('/api/device-types')).map(({ type }) => type);
  const stateOf = async (id: string): Promise<Device['state']> => (await get<Device>(`/api/devices/${id}`)).state;
  const tile = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const cloudTypes = async (): Promise<DeviceType[]> => {
    const { deviceTypes } = (await (await cloud.connection()).call('device_types.list')) as {
      deviceTypes: DeviceType[];
    };
    return deviceTypes;
  };
  const addVirtualDevice = async (name: string, type: DeviceType, announcesType: boolean) => {
    const added = await addDevice(station.backend.db, name, type.type);
    stationId = added.stationId;
    const { externalId, token } = added;
    const login = { externalId, type: type.type, name, token, profile: 'station' } as const;
    const url = station.backend.mqttAddress ?? '';
    const options = { url, stationId, login, types: () => type, seed: name, speed: 100, announcesType };
    const device = afternoon.use(startVirtualDevice(options));
    await waitFor(`${name} to be accepted`, () => device.isAccepted(), timeoutMs);
    return { device, id: added.id };
  };

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    cloud = afternoon.use(await startReferenceCloud({}));
    station = afternoon.use(await runBackend({ env: { CLOUD_HOST: cloud.host, WEB_DIR: join(root, 'dist/web') } }));
    headers = bearer((await station.setUp()).accessToken);
    const waiting = await waitFor('the station to wait for a claim', () => cloud.waiting()[0], timeoutMs);
    cloud.claim(waiting.chipId, waiting.claimSecret);
    ({ device: valve, id: valveId } = await addVirtualDevice('Rose bed', valveType, false));
    file = join(station.dataDir, 'device-types', 'garden-valve.json');
    const browser: Browser = afternoon.use(await openBrowser());
    olena = afternoon.use(await openPerson(browser, station.backend.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
  });
  after(() => afternoon.disposeAsync());

  it('before its file is there, the device is shown plainly, and understands no command of its own', async () => {
    await tile('Rose bed').waitFor({ timeout: timeoutMs });
    assert.equal(await page.getByRole('switch', { name: 'Rose bed', exact: true }).count(), 0);
    assert.ok(!(await knownTypes()).includes('garden-valve'));
    const url = `/api/devices/${valveId}/command`;
    const refused = await station.http.inject({ method: 'POST', url, headers, payload: { action: 'open_valve' } });
    assert.equal(refused.statusCode, 400);
    assert.ok(!(await cloudTypes()).some(({ type }) => type === 'garden-valve'));
  });

  it('its owner drops one JSON file into the station, and the open page shows the device as what it is', async () => {
    await mkdir(join(station.dataDir, 'device-types'), { recursive: true });
    await writeFile(file, JSON.stringify(valveFile));
    const theSwitch = page.getByRole('switch', { name: 'Rose bed', exact: true });
    await theSwitch.waitFor({ timeout: timeoutMs });
    await page.getByRole('button', { name: 'Rose bed: details' }).click();
    await page.getByRole('slider', { name: 'Opening' }).waitFor({ timeout: timeoutMs });
    await page.keyboard.press('Escape');
    assert.deepEqual(
      (await get<DeviceType[]>('/api/device-types')).find(({ type }) => type === 'garden-valve'),
      valveType,
    );
    await look(page, '90-new-type');
  });

  it('a tap on its tile is a command, which the device carries out and confirms', async () => {
    const theSwitch = page.getByRole('switch', { name: 'Rose bed', exact: true });
    assert.equal(valve.state['isOpen'], false);
    await theSwitch.click();
    await page.getByRole('switch', { name: 'Rose bed', exact: true, checked: true }).waitFor({ timeout: timeoutMs });
    await waitFor('the valve to be open', () => valve.state['isOpen'] === true, timeoutMs);
    await waitFor('the station to know', async () => (await stateOf(valveId))['isOpen'] === true, timeoutMs);
    await textOn(tile('Rose bed'), 'Flowing');
    const commands = await station.backend.db.selectFrom('device_commands').selectAll().execute();
    assert.deepEqual(
      commands.map(({ action, status }) => [action, status]),
      [['open_valve', 'confirmed']],
    );
  });

  it('its values are charted', async () => {
    await openDevice(page, 'Rose bed');
    await page.getByText('Details', { exact: true }).click();
    await page.getByText('Garden valve').first().waitFor({ timeout: timeoutMs });
    await page.locator('label', { hasText: 'Water pressure' }).click();
    await page.locator('canvas').waitFor({ timeout: timeoutMs });
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const history = () => get<DeviceHistory>(`/api/devices/${valveId}/history?capability=pressure&from=${from}`);
    await waitFor('points of the pressure', async () => (await history()).points.length > 0, timeoutMs);
    await look(page, '91-new-type-page');
  });

  it('an automation uses its event and its command', async () => {
    const node = (id: string, type: string, kind: string, config: object) => ({ id, type, data: { kind, config } });
    const flow = {
      nodes: [
        node('leak', 'trigger', 'device_event_received', { deviceId: valveId, action: 'leak_found' }),
        node('shut', 'action', 'device_command', { deviceId: valveId, action: 'shut_valve' }),
        node('less', 'action', 'device_command', { deviceId: valveId, action: 'set_opening', params: { opening: 7 } }),
      ],
      edges: [
        { id: 'a', source: 'leak', target: 'shut' },
        { id: 'b', source: 'shut', target: 'less' },
      ],
    };
    const { id } = await post<Automation>('/api/automations', { name: 'Stop a leak', flow });
    const published = await post<Automation>(`/api/automations/${id}/publish`);
    assert.deepEqual([published.status, published.faults], ['published', []]);
    await valve.publish('event', { event: 'device_event', data: { action: 'leak_found' } });
    const runs = async () => (await get<AutomationRun[]>(`/api/automations/${id}/runs`)).map(({ status }) => status);
    await waitFor(
      'a finished run',
      async () => !['running', 'waiting'].includes((await runs())[0] ?? 'running'),
      timeoutMs,
    );
    assert.deepEqual(await runs(), ['completed']);
    assert.deepEqual([valve.state['isOpen'], valve.state['opening']], [false, 7]);
  });

  it('the cloud is offered it, and commands it', async () => {
    assert.deepEqual(
      (await cloudTypes()).find(({ type }) => type === 'garden-valve'),
      valveType,
    );
    const command = { action: 'set_opening', opening: 55 };
    await (await cloud.connection()).call('device.command', { deviceId: valveId, command });
    await waitFor('the valve to have moved', () => valve.state['opening'] === 55, timeoutMs);
  });

  it('a device that describes itself in its handshake needs no file', async () => {
    const { id } = await addVirtualDevice('Tomatoes', soilType, true);
    await waitFor('the type to be known', async () => (await knownTypes()).includes('soil-probe'), timeoutMs);
    await waitFor('its value', async () => typeof (await stateOf(id))['moisture'] === 'number', timeoutMs);
    await page.goto('/');
    await tile('Tomatoes').getByText('%').first().waitFor({ timeout: timeoutMs });
    assert.deepEqual(
      (await cloudTypes()).find(({ type }) => type === 'soil-probe'),
      { ...soilType, deviceIds: [id] },
    );
  });

  it('a device that reports what it likes takes nothing from the page', async () => {
    const { device } = await addVirtualDevice('Strange', soilType, false);
    const handshake = { type: 'soil-probe', firmwareVersion: '1', chip: 'c' };
    const capabilities = [{ key: '__proto__', kind: 'boolean' }];
    await device.publish('handshake', { ...handshake, capabilities, primary: { capability: '__proto__' } });
    const values = {
      ...Object.fromEntries([['__proto__', true]]),
      constructor: 'x',
      n: 1e308,
      deep: { a: { b: [1] } },
    };
    await device.publish('state', { state: values });
    await page.goto('/');
    await tile('Strange').getByText('1E308').first().waitFor({ timeout: timeoutMs });
    await tile('Tomatoes').getByText('%').first().waitFor({ timeout: timeoutMs });
  });

  it('the owner changes the file, and later takes it away: the device stays, with its values', async () => {
    const renamed = { ...valveFile, names: { en: 'Water valve', uk: 'Водяний клапан' } };
    await writeFile(file, JSON.stringify(renamed));
    await openDevice(page, 'Rose bed');
    await page.getByText('Details', { exact: true }).click();
    await page.getByText('Water valve').first().waitFor({ timeout: timeoutMs });
    await rm(file);
    await waitFor('the type to be gone', async () => !(await knownTypes()).includes('garden-valve'), timeoutMs);
    await page.goto('/');
    await page
      .getByRole('switch', { name: 'Rose bed', exact: true })
      .waitFor({ state: 'detached', timeout: timeoutMs });
    await tile('Rose bed').waitFor({ timeout: timeoutMs });
    assert.equal((await stateOf(valveId))['opening'], 55);
    assert.deepEqual(olena.complaints, []);
    assert.deepEqual(station.logger.events('unexpected_error'), []);
  });
});
