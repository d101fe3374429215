import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firmwareStation, quick } from '../../testing/firmware-station.ts';

type Station = Awaited<ReturnType<typeof firmwareStation>>;

/** The file of the last command to each device. */
const filesOf = ({ sent, ids }: Station): unknown[] =>
  ids.map((id) => {
    const url = sent.findLast(({ deviceId }) => deviceId === id)?.params['url'];
    return typeof url === 'string' ? url.split('/').at(-1) : null;
  });
const light = (chip: string | null, type = 'light') => ({ type, chip });

describe('firmware for a chip', () => {
  it('goes to the devices of its type and chip, each with a rollout of its own', async () => {
    await using all = await firmwareStation(0);
    for (const chip of ['esp32', 'ESP32-C3', 'esp32s3', null]) await all.add('1.0.0', 'online', light(chip));
    await all.add('1.0.0', 'online', light('esp32', 'pir'));
    for (const name of ['esp32-light', 'esp32c3-light']) await all.ready('2.0.0', name);
    await all.pass(quick.soakMs);
    assert.deepEqual(filesOf(all), ['esp32-light@2.0.0.bin', 'esp32c3-light@2.0.0.bin', null, null, null]);
  });

  it('goes before firmware for every chip, whichever arrived first and whichever is newer', async () => {
    for (const order of [
      ['esp32-light', 'light'],
      ['light', 'esp32-light'],
    ]) {
      await using all = await firmwareStation(0);
      const esp32 = await all.add('1.0.0', 'offline', light('esp32'));
      const unknown = await all.add('1.0.0', 'offline', light(null));
      for (const name of order) await all.ready(name === 'light' ? '3.0.0' : '2.0.0', name);
      for (const id of [esp32, unknown]) await all.handshake(id, '1.0.0');
      assert.deepEqual(filesOf(all), ['esp32-light@2.0.0.bin', 'light@3.0.0.bin'], order.join());
    }
  });

  it('ends the wait of its devices in the rollout of the firmware for every chip', async () => {
    await using all = await firmwareStation(0);
    const esp32 = await all.add('1.0.0', 'offline', light('esp32'));
    await all.ready('2.0.0', 'light');
    assert.deepEqual(await all.states('2.0.0', 'light'), { [esp32]: 'waiting' });
    await all.ready('2.0.0', 'esp32-light');
    assert.deepEqual(await all.states('2.0.0', 'light'), { [esp32]: 'skipped' });
    assert.equal((await all.rollout('2.0.0', 'light')).state, 'done');
    assert.deepEqual(await all.states('2.0.0', 'esp32-light'), { [esp32]: 'waiting' });
  });

  it('stays with a type whose own name begins like a chip', async () => {
    await using all = await firmwareStation(0);
    await all.add('1.0.0', 'online', light('esp32', 'esp32-lamp'));
    await all.ready('2.0.0', 'esp32-lamp');
    assert.deepEqual(filesOf(all), ['esp32-lamp@2.0.0.bin']);
  });
});

describe('a device that becomes one of another type', () => {
  it('ends its part in a rollout that began under its former type', async () => {
    await using all = await firmwareStation(0);
    const first = await all.add();
    const second = await all.add();
    await all.ready('2.0.0');
    assert.equal(all.sent.length, 1);
    for (const id of [first, second]) await all.setType(id, 'pir');
    await all.pass(60_000);
    await all.pass(60_000);
    assert.deepEqual(new Set(Object.values(await all.states())), new Set(['skipped']));
    assert.equal((await all.rollout()).state, 'done');
    assert.equal(all.sent.length, 1);
  });
});
