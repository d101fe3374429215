import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { ForeignReading, GatewayBroker } from '../core/foreign-devices-port.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import type { Store } from '../store/database.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { openTestStore } from '../testing/test-store.ts';
import { createGatewayStore } from './gateway-store.ts';
import { openGateways } from './gateways.ts';
import { announcement, colourLamp } from './zigbee2mqtt/testing/announcements.ts';

const addressOf = (at: number): string => `0x00158d00000000${String(at).padStart(2, '0')}`;
const idOf = (at: number): string => `zigbee2mqtt:${addressOf(at)}`;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

const broker: GatewayBroker = {
  receive: async () => undefined,
  hear: () => undefined,
  ask: () => undefined,
  onFiltersChanged: () => undefined,
  addLogin: async () => true,
  removeLogin: async () => undefined,
  openLink: () => assert.fail('no gateway has a link'),
  listen: () => undefined,
};

async function houseOf({ db }: Store) {
  const logger = recordedLog();
  const store = createGatewayStore(db);
  const place = { base_topic: 'zigbee2mqtt', discovery_prefix: null };
  const login = { login: 'gateway-1', token_hash: 'x' };
  const { id } = await store.add({ name: 'Zigbee', dialect: 'zigbee2mqtt', ...place, ...login, created_at: 0 });
  const events = createDeviceEvents(logger);
  const stationEvents = { note: () => undefined };
  const open = async () => {
    const parts = { store, events, stationEvents, clock: systemClock, logger, isShared: false };
    const { gateways, foreign } = await openGateways(parts);
    foreign.attach(broker);
    const list = (ats: readonly number[]): ForeignReading => {
      const entries = ats.map((at) => ({
        ...announcement({ definition: colourLamp }),
        ieee_address: addressOf(at),
        friendly_name: `lamp ${at}`,
      }));
      const payload = Buffer.from(JSON.stringify([{ type: 'Coordinator' }, ...entries]));
      return foreign.read({ topic: 'zigbee2mqtt/bridge/devices', payload, isRetained: true });
    };
    return { gateways, foreign, list };
  };
  const stored = async () =>
    (await store.devices()).filter(({ goneAt }) => goneAt === null).map((one) => one.externalId);
  return { id, open, stored };
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
    await using store = await openTestStore();
    const { open, stored } = await houseOf(store);
    const { list } = await open();
    assert.deepEqual(await readAll(list(numbers(25))), [10, 10, 5]);
    assert.equal((await stored()).length, 25);

    const shorter = list([...numbers(24).slice(1), 30]);
    await shorter.stored;
    const second = shorter.next?.();
    await second?.stored;
    assert.equal((await stored()).length, 25, 'nobody is missing before the end');
    await readAll(second?.next?.() ?? assert.fail('a third piece'));
    assert.deepEqual((await stored()).toSorted(), [...numbers(24).slice(1), 30].map(idOf));
  });

  test('that was half read before a restart loses nobody, and is read again', async () => {
    await using store = await openTestStore();
    const { open, stored } = await houseOf(store);
    const before = await open();
    await before.list(numbers(15)).stored;
    assert.equal((await stored()).length, 10);
    const after = await open();
    assert.ok(numbers(10).every((at) => after.foreign.isForeign(idOf(at))));
    assert.deepEqual(await readAll(after.list(numbers(15))), [10, 5]);
    assert.deepEqual(await stored(), numbers(15).map(idOf));
  });

  test('ends when a person removes its gateway meanwhile', async () => {
    await using store = await openTestStore();
    const { id, open, stored } = await houseOf(store);
    const { gateways, foreign, list } = await open();
    const first = list(numbers(25));
    await first.stored;
    await gateways.remove(id);
    assert.deepEqual(first.next?.(), { messages: [], stored: null });
    assert.deepEqual(await stored(), []);
    assert.equal(foreign.isForeign(idOf(0)), false);
  });
});
