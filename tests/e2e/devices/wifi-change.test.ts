import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DevicesWifi } from '@station/protocol/devices-wifi';
import { waitFor } from '../../rig/program.ts';
import { everyone, kinds, names, newer, startHouse, untilOnline } from './house.ts';

const network = { ssid: 'New home', password: 'new-home-secret' };

for (const kind of kinds) {
  describe(`devices change their Wi-Fi on ${kind}`, () => {
    it('shows who followed and who was offline, also after a restart; a second change brings the last one along', async () => {
      await using house = await startHouse(kind);
      const change = async () => (await house.call<DevicesWifi>('GET', '/api/devices/wifi')).change;
      await house.devices.get(newer.externalId)?.[Symbol.asyncDispose]();
      const present = names.filter((name) => name !== newer.externalId);
      await untilOnline(house, present);

      const { change: begun } = await house.call<DevicesWifi>('POST', '/api/devices/wifi', network);
      assert.equal(begun?.state, 'running');
      assert.equal(begun.counts.offline, 1);
      await waitFor('the devices that are online to follow', async () => {
        return (await change())?.counts.followed === present.length;
      });

      await waitFor('the end of the change', async () => (await change())?.state === 'ended');
      await house.restart(() => undefined);
      const ended = await change();
      assert.deepEqual([ended?.id, ended?.counts.offline], [begun.id, 1], 'a restart keeps who did not follow');

      house.connect(newer);
      await untilOnline(house, names);
      await house.call('POST', '/api/devices/wifi', network);
      await waitFor('all devices to follow', async () => (await change())?.counts.followed === everyone.length);
      await untilOnline(house, names);
      for (const [name, device] of house.devices) assert.ok(!device.isErased(), `${name} is not erased`);
      assert.ok(!JSON.stringify(await house.call('GET', '/api/devices/wifi')).includes(network.password));
    });
  });
}
