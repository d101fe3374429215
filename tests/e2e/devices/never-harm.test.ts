import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { Device, DeviceRemoval } from '@station/protocol/devices';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import { memoryStore, type FlashStore } from '@station/simulators/devices/flash';
import { startVirtualDevice, type DeviceLogin, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { createSwappedDatabases, type SwappedDatabases } from './swapped-databases.ts';

const login = (externalId: string, type: string, profile: DeviceLogin['profile']): DeviceLogin => {
  return { externalId, type, profile, name: externalId, token: randomBytes(32).toString('base64url') };
};
const older = [login('light-1', 'light', 'field'), login('climate-1', 'climate', 'station')];
const newer = login('pir-1', 'pir', 'field');
const everyone = [...older, newer];
const names = everyone.map(({ externalId }) => externalId).sort();

/** Longer than a device takes to erase itself here, and than the backend takes to answer. */
const harmMs = 3_000;

type House = AsyncDisposable & {
  station: Installation;
  databases: SwappedDatabases;
  devices: Map<string, VirtualDevice>;
  connect(login: DeviceLogin, flash?: FlashStore): VirtualDevice;
  call<T>(method: string, path: string, body?: object): Promise<T>;
  /** Makes the owner of an empty database. */
  setUp(): Promise<void>;
  /** Restarts the backend; meanwhile `change` happens. */
  restart(change: () => void | Promise<void>): Promise<void>;
  online(): Promise<string[]>;
  condition(id: BackendCondition['id']): Promise<BackendCondition | undefined>;
};

/** All devices work; the older copy of the database has all but one of them. */
async function startHouse(kind: (typeof kinds)[number]): Promise<House> {
  await using starting = new AsyncDisposableStack();
  const station = starting.use(await install(kind, { logins: older }));
  const databases = createSwappedDatabases(station.dataDir, join(station.folder, 'saved'));
  await station.startBackend();
  let token = await station.logIn();
  const devices = new Map<string, VirtualDevice>();
  const connected = starting.use(new AsyncDisposableStack());
  const connect = (one: DeviceLogin, flash = memoryStore()): VirtualDevice => {
    const isField = one.profile === 'field';
    const device = startVirtualDevice({
      ...{ url: station.mqttUrl, stationId, login: one, flash, seed: 'never-harm', speed: 0.001, heartbeatMs: 1_000 },
      profile: {
        ...{ reconnectMs: 200, handshakeRetryMs: 2_000 },
        ...(isField ? { erasesItself: { afterRefusals: 3, refusalRetryMs: 300 } } : {}),
      },
    });
    devices.set(one.externalId, connected.use(device));
    return device;
  };
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${station.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const restart: House['restart'] = async (change) => {
    await station.stopBackend('SIGTERM');
    await change();
    await station.startBackend();
  };
  const online = async (): Promise<string[]> =>
    (await call<Device[]>('GET', '/api/devices'))
      .flatMap(({ externalId, status }) => (status === 'online' ? [externalId] : []))
      .sort();
  for (const one of everyone) connect(one);
  await restart(async () => {
    databases.keepAsOlder();
    await writeFile(station.devicesFile, JSON.stringify({ devices: everyone }));
  });
  await waitFor('all devices to work', async () => (await online()).length === everyone.length);
  const stack = starting.move();
  return {
    ...{ station, databases, devices, connect, call, restart, online },
    setUp: async () => {
      const code = (await readFile(join(station.dataDir, 'setup-code'), 'utf8')).trim();
      const { accessToken } = await call<{ accessToken: string }>('POST', '/api/auth/setup', { code, ...owner });
      token = accessToken;
    },
    condition: async (id) => (await call<BackendCondition[]>('GET', '/api/conditions')).find((one) => one.id === id),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** None was told `unknown_device` or `factory_reset`. */
async function assertNotHarmed({ devices }: House): Promise<void> {
  await delay(harmMs);
  const harmed = [...devices].filter(([, device]) => device.isErased() || device.counts.refusals > 0);
  assert.deepEqual(
    harmed.map(([name]) => name),
    [],
  );
}

const untilOnline = (house: House, expected: readonly string[]): Promise<unknown> =>
  waitFor(`${expected.join(', ')} to be online`, async () => (await house.online()).join() === expected.join());

const unknownDevices = ({ call }: House): Promise<UnknownDevice[]> => call('GET', '/api/unknown-devices');

const untilWaiting = (house: House, expected: readonly string[]): Promise<unknown> =>
  waitFor(`${expected.join(', ')} to wait`, async () => {
    const waiting = (await unknownDevices(house)).map(({ externalId }) => externalId);
    return waiting.sort().join() === expected.join();
  });

const kinds = ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const;

for (const kind of kinds) {
  describe(`no device is reset on ${kind}`, { concurrency: true }, () => {
    it('when the database is lost: all devices wait, and work again once they are accepted', async () => {
      await using house = await startHouse(kind);
      await house.restart(() => {
        delete house.station.env['DEVICES_FILE'];
        house.databases.swap('empty');
      });
      await house.setUp();
      await untilWaiting(house, names);
      await assertNotHarmed(house);
      assert.deepEqual((await house.condition('unknown_devices'))?.details, { count: 3 });
      for (const { externalId } of everyone) {
        await house.call('POST', `/api/unknown-devices/${externalId}/accept`, { name: externalId });
      }
      await untilOnline(house, names);
      const found = await house.call<Device[]>('GET', '/api/devices');
      for (const { externalId, type } of everyone) {
        assert.equal(found.find((one) => one.externalId === externalId)?.type, type);
      }
      await waitFor('the condition to end', async () => (await house.condition('unknown_devices')) === undefined);
      await assertNotHarmed(house);
    });

    it('when an older database is restored: its devices work, the newer one waits', async () => {
      await using house = await startHouse(kind);
      await house.restart(() => {
        delete house.station.env['DEVICES_FILE'];
        house.databases.swap('older');
      });
      await untilOnline(house, older.map(({ externalId }) => externalId).sort());
      await untilWaiting(house, [newer.externalId]);
      await assertNotHarmed(house);
      await house.restart(() => house.databases.swap('back'));
      await untilOnline(house, names);
      await assertNotHarmed(house);
    });

    it('when STATION_ID is changed: the old id is named, and with it all devices work again', async () => {
      await using house = await startHouse(kind);
      const { env } = house.station;
      await house.restart(() => void (env['STATION_ID'] = '00000000-0000-4000-8000-000000000000'));
      const condition = await waitFor('the condition', () => house.condition('foreign_station_devices'));
      assert.deepEqual(condition.details['stationIds'], [stationId]);
      await assertNotHarmed(house);
      await house.restart(() => void (env['STATION_ID'] = stationId));
      for (const device of house.devices.values()) device.powerLoss(0);
      await untilOnline(house, names);
      assert.equal(await house.condition('foreign_station_devices'), undefined);
      await assertNotHarmed(house);
    });

    it('except one that is removed: it erases itself at once, or when it returns', async () => {
      await using house = await startHouse(kind);
      const remove = async (name: string): Promise<DeviceRemoval> => {
        const found = await house.call<Device[]>('GET', '/api/devices');
        const id = found.find(({ externalId }) => externalId === name)?.id ?? '';
        return house.call('DELETE', `/api/devices/${id}`);
      };
      assert.equal((await remove('light-1')).told, true);
      await waitFor('it to erase itself', () => house.devices.get('light-1')?.isErased());
      await house.devices.get('pir-1')?.[Symbol.asyncDispose]();
      await untilOnline(house, ['climate-1']);
      const { told, loginUntil } = await remove('pir-1');
      assert.equal(told, false);
      assert.ok(Date.parse(loginUntil) > Date.now());
      const back = house.connect(newer);
      await waitFor('it to erase itself', () => back.isErased());
      // One that reports its commands loses its login then.
      assert.equal((await remove('climate-1')).told, true);
      const climate = house.devices.get('climate-1');
      await waitFor('its login to end', () => climate !== undefined && !climate.client.connected);
      const [ended] = await house.station.logged('device_login_ended');
      assert.deepEqual([ended?.['externalId'], ended?.['ended']], ['climate-1', 'obeyed']);
      assert.deepEqual(await unknownDevices(house), []);
    });
  });
}

describe('no device is reset when Mosquitto loses its data', () => {
  it('gets the known logins back, and names the device that waits until its login is back', async () => {
    await using house = await startHouse('Mosquitto and SQLite');
    const { mosquitto, devicesFile } = house.station;
    assert.ok(mosquitto);
    // The login of the newer one is at the broker alone.
    await house.restart(() => writeFile(devicesFile, JSON.stringify({ devices: older })));
    await untilOnline(house, names);
    await mosquitto.stop();
    await mosquitto.loseData();
    await mosquitto.start();
    const condition = await waitFor('the condition', () => house.condition('device_logins_missing'));
    assert.deepEqual(condition.details, { externalIds: [newer.externalId], count: 1 });
    const isAccepted = (name: string): boolean => house.devices.get(name)?.isAccepted() === true;
    await waitFor('the others to work', () => older.every(({ externalId }) => isAccepted(externalId)));
    assert.ok(!isAccepted(newer.externalId));
    await assertNotHarmed(house);
    await mosquitto.stop();
    await mosquitto.restoreData();
    await mosquitto.start();
    await waitFor('all to work', () => names.every(isAccepted));
    await waitFor('the condition to end', async () => (await house.condition('device_logins_missing')) === undefined);
    await assertNotHarmed(house);
  });
});
