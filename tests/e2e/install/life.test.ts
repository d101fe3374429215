import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startVirtualDevice, type DeviceLogin } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { getAt, resolveLocal } from '../../station-machine/mdns.ts';
import { openBrowser, probeBus, startBluezStandIn } from './bluetooth.ts';
import {
  fetchInstaller,
  openInstalled,
  openShared,
  owner,
  patientMs,
  postToAgent,
  releases,
  runInstaller,
  type Shared,
  startInstalled,
  statusOf,
  waitUntilHealthy,
} from './shared-station.ts';

describe('the life of an installed station', () => {
  // The life of one installed station; each test continues from the one before it.
  let shared: Shared;
  let machine: Machine;

  before(async () => {
    shared = await openShared();
    await shared.site.restore();
    machine = await startInstalled();
  });
  after(async () => {
    await shared.site.restore();
    await machine[Symbol.asyncDispose]();
  });

  test('the web app answers by http://station.local', async () => {
    const { network } = shared;
    const address = await waitFor('station.local', () => resolveLocal('station.local', network.host));
    assert.equal(address, network.machine);
    const page = await getAt(address, 'http://station.local/');
    assert.equal(page.status, 200);
    assert.match(page.body, /<html/);
  });

  const origin = (): string => `http://${shared.network.machine}`;
  let token = '';
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin()}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) },
    });

  test('the code that install.sh printed makes the first account', async () => {
    const code = /Code +(\S+ \S+)/.exec((await openInstalled()).output)?.[1] ?? '';
    const wrong = await call('/api/auth/setup', {
      method: 'POST',
      body: JSON.stringify({ ...owner, code: 'WRNGC WRNGC' }),
    });
    assert.equal(wrong.status, 403);
    const right = await call('/api/auth/setup', { method: 'POST', body: JSON.stringify({ ...owner, code }) });
    assert.equal(right.status, 201);
    token = ((await right.json()) as { accessToken: string }).accessToken;
  });

  const lamp: DeviceLogin = {
    externalId: 'light-0001',
    type: 'light',
    name: 'Hall lamp',
    token: randomBytes(32).toString('base64url'),
    profile: 'field',
  };

  type Device = { externalId: string; status: string };
  const listDevices = async (): Promise<Device[]> => {
    const body = (await (await call('/api/devices')).json()) as Device[] | { devices?: Device[]; items?: Device[] };
    return Array.isArray(body) ? body : (body.devices ?? body.items ?? []);
  };

  test('a variable that somebody edited is applied and kept by the next run of install.sh', async () => {
    await machine.writeFile('/opt/station/devices.json', JSON.stringify({ devices: [lamp] }));
    await machine.must("echo 'DEVICES_FILE=/opt/station/devices.json' >>/opt/station/.env");
    await fetchInstaller(machine);
    await runInstaller(machine);
    assert.match((await machine.readFile('/opt/station/.env')) ?? '', /^DEVICES_FILE=\/opt\/station\/devices\.json$/m);
    await waitUntilHealthy(machine);
    await waitFor('the lamp to be known', async () =>
      (await listDevices()).some((each) => each.externalId === lamp.externalId),
    );
  });

  test('a device says hello at port 1883 and is shown as online', async () => {
    const stationId = /^STATION_ID=(.*)$/m.exec((await machine.readFile('/opt/station/.env')) ?? '')?.[1] ?? '';
    await using device = startVirtualDevice({
      url: `mqtt://${shared.network.machine}:1883`,
      stationId,
      login: lamp,
      seed: 'install',
      profile: { handshakeRetryMs: 2_000 },
    });
    await waitFor('its handshake to be answered', () => device.isAccepted());
    await waitFor('it to be shown as online', async () => (await listDevices())[0]?.status === 'online');
  });

  describe('Bluetooth, with a stand-in for bluetoothd, because this kernel has none', () => {
    before(() => startBluezStandIn(machine));

    test("the backend's container reaches BlueZ, and nobody else on the machine's bus", async () => {
      const { names, answers } = await probeBus(machine);
      assert.deepEqual(names, ['org.bluez', 'org.freedesktop.DBus']);
      const denied = 'org.freedesktop.DBus.Error.AccessDenied';
      const nobody = 'org.freedesktop.DBus.Error.NameHasNoOwner';
      assert.deepEqual(answers, {
        'read the objects of BlueZ': 'answered',
        'switch the adapter on': 'answered',
        'answer pairing requests': denied,
        'list the units of systemd': nobody,
        'ask logind for a reboot': nobody,
        'read every message': denied,
      });
      const files = await machine.must(
        'docker exec station-backend sh -c "ls /run; find / -xdev -name system_bus_socket"',
      );
      assert.doesNotMatch(files, /dbus|system_bus_socket/);
    });

    test('the helper finds a device for a browser, without root, capabilities and secrets', async (context) => {
      using browser = openBrowser(shared.network.machine, token);
      await waitFor('the device', () => browser.shown.has('SH_light_0007'));
      const helper = await machine.must('pgrep -f "node .*station-ble-helper[.]mjs" | tail -n 1');
      const facts = await machine.must(`cat /proc/${helper}/status /proc/${helper}/smaps_rollup`);
      assert.match(facts, /^Uid:(\t10002){4}$/m);
      assert.match(facts, /^CapEff:\t0+$/m);
      assert.match(facts, /^NoNewPrivs:\t1$/m);
      for (const line of facts.match(/^(VmRSS|Pss|Private_Dirty):.*$/gm) ?? []) context.diagnostic(`helper: ${line}`);
      const environment = await machine.must(`tr '\\0' '\\n' </proc/${helper}/environ`);
      assert.doesNotMatch(environment, /JWT|MQTT|TOKEN|PASSWORD/);
      const told = browser.radio.length;
      await machine.must('systemctl restart station-bluez');
      await waitFor('the helper to lose the bus', () => browser.radio.length > told);
      await waitFor('it to scan again', () => browser.radio.at(-1) === 'scanning');
    });
  });

  test('a release of the update server is installed by the agent', async () => {
    await shared.site.announce(releases.next);
    await postToAgent(machine, '/check');
    await waitFor('the release', async () => (await statusOf(machine)).currentVersion === releases.next, patientMs);
    assert.equal(await waitUntilHealthy(machine), releases.next);
  });

  test('a release that is not healthy is rolled back, and the station says why', async () => {
    await shared.site.announce(releases.bad);
    await postToAgent(machine, '/check');
    const rolledBack = async (): Promise<boolean> => {
      const { operation, quarantined } = await statusOf(machine);
      return operation === null && quarantined.some(({ version }) => version === releases.bad);
    };
    await waitFor('the roll-back', rolledBack, patientMs);
    const { currentVersion, quarantined } = await statusOf(machine);
    assert.equal(currentVersion, releases.next);
    assert.match(quarantined[0]?.reason ?? '', /health/);
    assert.equal(await waitUntilHealthy(machine), releases.next);
    assert.equal((await listDevices()).length, 1, 'the devices are still there');
  });

  test('install.sh upgrades the agent and keeps data, release and settings', async () => {
    const { site } = shared;
    const settings = await machine.must('cat /opt/station-agent/.env /opt/station/.env | sort');
    const agentVersion = '9.0.0';
    await site.publishAgent(agentVersion, releases.next);
    await fetchInstaller(machine);
    const { output } = await runInstaller(machine);
    assert.match(output, /A station is installed here\. Its data, its release and its settings are kept\./);
    assert.equal(await machine.must('/opt/station-agent/station-agent --version'), agentVersion);
    assert.equal(await machine.must('cat /opt/station-agent/.env /opt/station/.env | sort'), settings);
    assert.equal(await waitUntilHealthy(machine), releases.next);
    assert.equal((await statusOf(machine)).currentVersion, releases.next);
    assert.equal((await listDevices()).length, 1);
  });
});
