import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { improvServiceDataUuid, improvServiceUuid, type Discovered } from '@station/protocol/ble-frames';
import { decideReport, discoveredOf, isAdvertisement, isAdvertising } from './advertisement-decide.ts';

const uuid = '85e4cb5a-4718-47e3-b363-b2d82655ee1e';
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const empty: Discovered = {
  event: 'discovered',
  address: 'AA:BB:CC:DD:EE:FF',
  name: '',
  rssi: 127,
  service_uuids: [],
  service_data: {},
};

describe('an advertisement', () => {
  it('is read from the properties of a device', () => {
    const device = {
      Address: 'aa:bb:cc:dd:ee:ff',
      Name: 'SH_light_1',
      RSSI: -70,
      UUIDs: [uuid, 'odd', 7],
      ServiceData: { [uuid]: Uint8Array.of(1, 2), odd: Uint8Array.of(1), [improvServiceUuid]: 'no bytes' },
    };
    const read = { ...empty, name: 'SH_light_1', rssi: -70, service_uuids: [uuid], service_data: { [uuid]: 'AQI=' } };
    assert.deepEqual(discoveredOf(device, base64), read);
  });

  it('needs nothing but an address', () => {
    assert.deepEqual(discoveredOf({ Address: 'AA:BB:CC:DD:EE:FF' }, base64), empty);
    assert.equal(discoveredOf({ Address: 'somewhere' }, base64), null);
    assert.equal(discoveredOf({ Name: 'x' }, base64), null);
  });

  it('is bounded', () => {
    const uuids = Array.from({ length: 100 }, (_, n) => `${String(n).padStart(8, '0')}${uuid.slice(8)}`);
    const data = Object.fromEntries(uuids.map((key) => [key, Uint8Array.of(1)]));
    const read = discoveredOf(
      { Address: empty.address, Name: 'x'.repeat(999), UUIDs: uuids, ServiceData: data },
      base64,
    );
    assert.deepEqual(
      [read?.name.length, read?.service_uuids.length, Object.keys(read?.service_data ?? {}).length],
      [248, 64, 64],
    );
  });

  it('counts when it names the service, or has its data', () => {
    const wanted = [uuid, improvServiceUuid];
    assert.ok(isAdvertising({ ...empty, service_uuids: [uuid] }, wanted));
    assert.ok(isAdvertising({ ...empty, service_data: { [uuid]: '' } }, wanted));
    assert.ok(isAdvertising({ ...empty, service_data: { [improvServiceDataUuid]: '' } }, wanted));
    assert.ok(!isAdvertising({ ...empty, service_data: { [improvServiceDataUuid]: '' } }, [uuid]));
    assert.ok(!isAdvertising(empty, wanted));
  });

  it('is told by some properties, not by all', () => {
    assert.ok(isAdvertisement(['RSSI']));
    assert.ok(!isAdvertisement(['Connected', 'ServicesResolved']));
  });
});

it('reports a change at once, and mere signal strength once a second', () => {
  const first = decideReport(empty, undefined, 0);
  assert.ok(first);
  assert.equal(decideReport({ ...empty, rssi: -1 }, first, 999), null);
  assert.ok(decideReport({ ...empty, rssi: -1 }, first, 1000));
  assert.ok(decideReport({ ...empty, name: 'x' }, first, 1));
  assert.ok(decideReport({ ...empty, service_data: { [uuid]: '' } }, first, 1));
});
