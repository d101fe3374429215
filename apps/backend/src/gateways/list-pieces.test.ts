import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ForeignDevices, ForeignReading } from '../core/foreign-devices-port.ts';
import { createGatewayStore } from './gateway-store.ts';
import { openedGateways } from '../../testing/gateways/opened-gateways.ts';
import { announcement, colourLamp } from '../../testing/gateways/announcements.ts';

const addressOf = (at: number): string => `0x00158d00000000${String(at).padStart(2, '0')}`;
const idOf = (at: number): string => `zigbee2mqtt:${addressOf(at)}`;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

const listAt = (foreign: Pick<ForeignDevices, 'read'>, ats: readonly number[]): ForeignReading => {
  const entries = ats.map((at) => ({
    ...announcement({ definition: colourLamp }),
    ieee_address: addressOf(at),
    friendly_name: `lamp ${at}`,
  }));
  const payload = Buffer.from(JSON.stringify([{ type: 'Coordinator' }, ...entries]));
  return foreign.read({ topic: 'zigbee2mqtt/bridge/devices', payload, isRetained: true });
};

/** A Zigbee2MQTT that is connected, and what is on disk of its devices. */
async function houseOf() {
  const opened = await openedGateways();
  const { gateway } = await opened.gateways.add({ name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' });
  const store = createGatewayStore(opened.db);
  const stored = async () =>
    (await store.devices()).filter(({ goneAt }) => goneAt === null).map((one) => one.externalId);
  return { ...opened, gateway, stored };
}

/** The devices of each piece. */
async function readAll(first: ForeignReading): Promise<number[]> {
  const sizes: number[] = [];
  for (let reading: ForeignReading | undefined = first; reading !== undefined; reading = reading.next?.()) {
    await reading.stored;
    sizes.push(reading.messages.filter(({ end }) => end === 'handshake').length);
  }
  return sizes;
}

describe('the list of a large network', () => {
  test('is stored piece by piece; who is missing is gone when all of it was read', async () => {
    await using house = await houseOf();
    const { foreign, stored } = house;
    assert.deepEqual(await readAll(listAt(foreign, numbers(25))), [10, 10, 5]);
    assert.equal((await stored()).length, 25);

    const shorter = listAt(foreign, [...numbers(24).slice(1), 30]);
    await shorter.stored;
    const second = shorter.next?.();
    await second?.stored;
    assert.equal((await stored()).length, 25, 'nobody is missing before the end');
    await readAll(second?.next?.() ?? assert.fail('a third piece'));
    assert.deepEqual((await stored()).toSorted(), [...numbers(24).slice(1), 30].map(idOf));
  });

  test('that was half read before a restart loses nobody, and is read again', async () => {
    await using house = await houseOf();
    const { stored } = house;
    await listAt(house.foreign, numbers(15)).stored;
    assert.equal((await stored()).length, 10);
    const { foreign } = await house.opening();
    assert.ok(numbers(10).every((at) => foreign.isForeign(idOf(at))));
    assert.deepEqual(await readAll(listAt(foreign, numbers(15))), [10, 5]);
    assert.deepEqual(await stored(), numbers(15).map(idOf));
  });

  test('ends when a person removes its gateway meanwhile', async () => {
    await using house = await houseOf();
    const { gateways, foreign, gateway, stored } = house;
    const first = listAt(foreign, numbers(25));
    await first.stored;
    await gateways.remove(gateway.id);
    assert.deepEqual(first.next?.(), { messages: [], stored: null });
    assert.deepEqual(await stored(), []);
    assert.equal(foreign.isForeign(idOf(0)), false);
  });
});
