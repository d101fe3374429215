import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import type {
  DeviceLoginSheet,
  Provisioning,
  ProvisioningStarted,
  ProvisioningView,
} from '@station/protocol/provisioning';
import { until } from '../../vstation/agent.ts';
import {
  removeBackend,
  startBackend,
  type SocketMessage,
  type StationBackend,
  type Watcher,
} from '../../vstation/backend.ts';
import type { Bluetooth } from '../../vstation/bluetooth.ts';
import { createHome } from '../../vstation/home.ts';
import type { Machine } from '../../vstation/machine.ts';
import { createPhone } from '../../vstation/phone.ts';
import type { DeviceLetter } from '../../vstation/programs/device-letter.ts';
import { createTwin, type Twin } from '../../vstation/twin.ts';
import { sharedMachine } from './shared-machine.ts';

// What a browser sees when somebody adds a device: from its advertisement to its values.

const wifi = { ssid: 'Field', password: 'Right-Horse-7741' };
const ends: readonly string[] = ['succeeded', 'failed', 'timed_out', 'cancelled'];

describe('adding a device', () => {
  let machine: Machine;
  let bluetooth: Bluetooth;
  let backend: StationBackend;
  let watcher: Watcher;
  let twin: Twin;
  before(async () => {
    ({ machine, bluetooth } = await sharedMachine());
    twin = createTwin(machine, createPhone(machine));
    await createHome(machine).startRouter({ ...wifi, security: 'wpa2' });
    // NetworkManager knows the network only after its next scan.
    await machine.must(
      `until nmcli -g SSID device wifi list --rescan yes | grep -qx ${wifi.ssid}; do sleep 2; done
      nmcli -w 60 device wifi connect ${wifi.ssid} password ${wifi.password}`,
      { timeoutMs: 200_000 },
    );
    const address = await machine.must('ip -4 -o addr show wlan0 | sed "s/.*inet \\([0-9.]*\\).*/\\1/"');
    backend = await startBackend(machine, { DEVICE_MQTT_HOST: address });
    await backend.tellWifi(wifi);
    watcher = await backend.watch();
  });
  after(async () => {
    watcher[Symbol.dispose]();
    await twin.stop();
    await removeBackend(machine);
    await createHome(machine).stopRouter();
  });

  const candidate = (externalId: string, from = 0): Promise<SocketMessage> =>
    watcher.next(
      `candidate ${externalId}`,
      ({ type, candidate }) =>
        type === 'provisioning_candidate' && (candidate as { externalId: string }).externalId === externalId,
      { from },
    );

  async function add(externalId: string, name: string): Promise<string> {
    const { status, body } = await backend.ask<ProvisioningStarted>('POST', '/provisioning/add', { externalId, name });
    assert.equal(status, 202, JSON.stringify(body));
    return body.provisioningId;
  }

  const progressOf = (id: string): Provisioning[] =>
    watcher.messages.flatMap(({ type, provisioning }) =>
      type === 'provisioning_progress' && (provisioning as Provisioning).id === id
        ? [provisioning as Provisioning]
        : [],
    );

  const reached = async (id: string, statuses: readonly string[], timeoutMs = 90_000): Promise<Provisioning> => {
    const find = (): Promise<Provisioning | undefined> =>
      Promise.resolve(progressOf(id).find(({ status }) => statuses.includes(status)));
    const describe = (): Promise<string> => machine.journal({ unit: 'vstation-backend' });
    return (await until(`${statuses.join(' or ')}`, find, { timeoutMs, pauseMs: 50, describe })).value;
  };

  async function expectOnline(
    t: TestContext,
    id: string,
    { name, keys }: { name: string; keys: string[] },
  ): Promise<void> {
    const started = performance.now();
    const { status, deviceId, error } = await reached(id, ends);
    assert.deepEqual({ status, error }, { status: 'succeeded', error: null });
    t.diagnostic(`in the Wi-Fi → added: ${(performance.now() - started).toFixed(0)} ms`);
    type Device = { name: string; status: string; state: Record<string, unknown> };
    const withValues = async (): Promise<Device | null> => {
      const { body } = await backend.ask<Device>('GET', `/api/devices/${deviceId}`);
      return body.status === 'online' && keys.every((key) => key in body.state) ? body : null;
    };
    const device = (await until('values of the device', withValues, { timeoutMs: 30_000 })).value;
    assert.equal(device.name, name);
    assert.equal(progressOf(id).filter((one) => ends.includes(one.status)).length, 1, 'one end');
  }

  const readLetter = async (from: number): Promise<DeviceLetter> => {
    const { device } = bluetooth;
    const written = await device.next('the letter', ({ event }) => event === 'written', { from });
    const text = written.event === 'written' ? Buffer.from(written.base64, 'base64').toString() : '';
    return JSON.parse(text) as DeviceLetter;
  };

  test('a device that waits is found, gets Wi-Fi and login, and is online with its values', async (t) => {
    const { device } = bluetooth;
    await device.advertise({ name: 'SH_light_a1' });
    const advertised = performance.now();
    const found = (await candidate('a1'))['candidate'] as Record<string, unknown>;
    t.diagnostic(`advertises → in the browser: ${(performance.now() - advertised).toFixed(0)} ms`);
    assert.deepEqual(
      { address: found['address'], deviceType: found['deviceType'], protocol: found['protocol'] },
      { address: device.address, deviceType: 'light', protocol: 'station' },
    );
    const from = device.received.length;
    const id = await add('a1', 'Desk lamp');
    const letter = await readLetter(from);
    t.diagnostic(`found → written: ${(performance.now() - advertised).toFixed(0)} ms`);
    assert.deepEqual({ ssid: letter.ssid, password: letter.password, id: letter.device_id }, { ...wifi, id: 'a1' });
    device.send({ order: 'end_advertisement' });
    await twin.start(letter, 'light');
    await expectOnline(t, id, { name: 'Desk lamp', keys: ['on', 'brightness'] });
    await twin.stop();
  });

  test('an Improv device joins the Wi-Fi, and comes online with the login that a person entered', async (t) => {
    const { improvDevice } = bluetooth;
    await improvDevice.advertise({ name: 'climate-b2', isImprov: true });
    const found = (await candidate('b2'))['candidate'] as Record<string, unknown>;
    assert.equal(found['protocol'], 'improv');
    const refused = improvDevice.received.length;
    const first = await add('b2', 'Bath');
    await improvDevice.next('credentials', ({ event }) => event === 'credentials', { from: refused });
    improvDevice.send({ order: 'improv_joined', isJoined: false });
    assert.deepEqual((await reached(first, ends)).error, 'improv_wrong_credentials');

    const from = improvDevice.received.length;
    const id = await add('b2', 'Bath');
    const told = await improvDevice.next('credentials', ({ event }) => event === 'credentials', { from });
    assert.deepEqual(told.event === 'credentials' && { ssid: told.ssid, password: told.password }, wifi);
    improvDevice.send({ order: 'improv_joined', isJoined: true });
    await reached(id, ['waiting', ...ends]);
    improvDevice.send({ order: 'end_advertisement' });
    const { status, body: login } = await backend.ask<DeviceLoginSheet>('POST', `/api/provisioning/${id}/login`);
    assert.equal(status, 200);
    await twin.start({ ...login, ...wifi }, 'climate');
    await expectOnline(t, id, { name: 'Bath', keys: ['temperature'] });
    await twin.stop();
  });

  const steps: { name: string; reach: (from: number) => Promise<unknown> }[] = [
    {
      name: 'connects',
      reach: (from) => bluetooth.device.next('a connection', ({ event }) => event === 'connected', { from }),
    },
    { name: 'writes', reach: (from) => readLetter(from) },
  ];
  for (const [index, { name, reach }] of steps.entries()) {
    test(`the helper is killed while it ${name}: one end, and the next try succeeds`, async (t) => {
      const { device } = bluetooth;
      const externalId = `c${index}`;
      await device.advertise({ name: `SH_light_${externalId}` });
      await candidate(externalId);
      device.send({ order: 'answer_after', ms: 3_000 });
      const from = device.received.length;
      const first = await add(externalId, 'Hall');
      await reach(from);
      assert.ok((await bluetooth.killHelpers()) > 0);
      device.send({ order: 'answer_after', ms: 0 });
      const { status, error } = await reached(first, ends);
      assert.equal(status, 'failed');
      t.diagnostic(`first try: ${error}`);

      const isFoundAgain = async (): Promise<boolean> => {
        const { body } = await backend.ask<ProvisioningView>('GET', '/api/provisioning');
        return body.radio.state === 'scanning' && body.candidates.some((one) => one.externalId === externalId);
      };
      await until('the device to be found again', isFoundAgain, { timeoutMs: 90_000 });
      const again = device.received.length;
      const id = await add(externalId, 'Hall');
      const letter = await readLetter(again);
      device.send({ order: 'end_advertisement' });
      await twin.start(letter, 'light');
      await expectOnline(t, id, { name: 'Hall', keys: ['on'] });
      await twin.stop();
      assert.equal(progressOf(first).filter((one) => ends.includes(one.status)).length, 1, 'one end');
    });
  }

  test('the helper is killed while it scans: the scan runs again', async () => {
    const from = watcher.messages.length;
    assert.ok((await bluetooth.killHelpers()) > 0);
    await bluetooth.device.advertise({ name: 'SH_pir_d1' });
    await candidate('d1', from);
  });
});
