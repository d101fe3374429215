import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { Device, DeviceRemoval } from '@station/protocol/devices';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import { waitFor } from '../../rig/program.ts';
import { stationId } from '../backend/installation.ts';
import { type House, everyone, kinds, names, newer, older, startHouse, untilOnline } from './house.ts';

/** Longer than a device takes to erase itself here, and than the backend takes to answer. */
const harmMs = 3_000;

/** None was told `unknown_device` or `factory_reset`. */
async function assertNotHarmed({ devices }: House): Promise<void> {
  await delay(harmMs);
  const harmed = [...devices].filter(([, device]) => device.isErased() || device.counts.refusals > 0);
  assert.deepEqual(
    harmed.map(([name]) => name),
    [],
  );
}

const unknownDevices = ({ call }: House): Promise<UnknownDevice[]> => call('GET', '/api/unknown-devices');

const untilWaiting = (house: House, expected: readonly string[]): Promise<unknown> =>
  waitFor(`${expected.join(', ')} to wait`, async () => {
    const waiting = (await unknownDevices(house)).map(({ externalId }) => externalId);
    return waiting.sort().join() === expected.join();
  });

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
      const ended = await waitFor('the line', async () => (await house.station.logged('device_login_ended'))[0]);
      assert.deepEqual([ended['externalId'], ended['ended']], ['climate-1', 'obeyed']);
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
