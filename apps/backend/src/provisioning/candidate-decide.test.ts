import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Discovered, improvServiceDataUuid, improvServiceUuid } from '@station/protocol/ble-frames';
import { advertisement } from '../../testing/remote-helper.ts';
import { byWorth, isLost, isBroadcastNow, type Kept, type Known, toCandidate } from './candidate-decide.ts';

const serviceUuid = advertisement().service_uuids[0]!;
const battery = '0000180f-0000-1000-8000-00805f9b34fb';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const known: Known = {
  serviceUuid,
  typeName: (type) => ({ light: 'Light', 'switch-pir': 'Wall switch' } as Record<string, string>)[type] ?? null,
  deviceId: (externalId) => (externalId === '3f2a' ? 'device-1' : null),
};

type Read = { externalId: string; deviceType: string | null; defaultName: string; protocol?: 'improv' };
const improv = { service_uuids: [improvServiceUuid] };
const table: [what: string, frame: Partial<Discovered>, read: Read | null][] = [
  ['the name of the field', {}, { externalId: '3f2a', deviceType: 'light', defaultName: 'Light 3F2A' }],
  [
    'a type with a dash',
    { name: 'SH_switch-pir_0d44e1' },
    { externalId: '0d44e1', deviceType: 'switch-pir', defaultName: 'Wall switch 44E1' },
  ],
  [
    'a type that the station does not know',
    { name: 'water-meter-77' },
    { externalId: '77', deviceType: 'water-meter', defaultName: 'Water meter 77' },
  ],
  [
    'service data with type and id',
    { name: '', service_data: { [serviceUuid]: base64('SH_pir_5521aa') } },
    { externalId: '5521aa', deviceType: 'pir', defaultName: 'Pir 21AA' },
  ],
  [
    'service data with an id alone, and a name that says nothing',
    { name: 'Kitchen', service_data: { [serviceUuid]: base64('abcd1234') } },
    { externalId: 'abcd1234', deviceType: null, defaultName: 'Device 1234' },
  ],
  [
    'only service data of the service',
    { name: '', service_uuids: [], service_data: { [serviceUuid]: base64('x1') } },
    { externalId: 'x1', deviceType: null, defaultName: 'Device X1' },
  ],
  [
    'bytes that are no text',
    { name: '', service_data: { [serviceUuid]: Buffer.from([0xff, 0, 1]).toString('base64') } },
    { externalId: 'c0ffee000001', deviceType: null, defaultName: 'Device 0001' },
  ],
  [
    'a name that would be part of a topic',
    { name: 'SH_light_a/b' },
    { externalId: 'c0ffee000001', deviceType: null, defaultName: 'Device 0001' },
  ],
  [
    'control characters',
    { name: 'SH_light_\u00003f\u202e2a\n' },
    { externalId: '3f2a', deviceType: 'light', defaultName: 'Light 3F2A' },
  ],
  [
    'Improv with a name of its own',
    { ...improv, name: 'Kitchen-lamp' },
    { externalId: 'c0ffee000001', deviceType: null, defaultName: 'Kitchen-lamp', protocol: 'improv' },
  ],
  [
    'Improv with a known type',
    { ...improv, name: 'light-77' },
    { externalId: '77', deviceType: 'light', defaultName: 'Light 77', protocol: 'improv' },
  ],
  [
    'Improv by its service data',
    { name: '', service_uuids: [], service_data: { [improvServiceDataUuid]: 'AQA=' } },
    { externalId: 'c0ffee000001', deviceType: null, defaultName: 'Device 0001', protocol: 'improv' },
  ],
  [
    'both: the station writes the login too',
    { service_uuids: [improvServiceUuid, serviceUuid] },
    { externalId: '3f2a', deviceType: 'light', defaultName: 'Light 3F2A' },
  ],
  ['a device of somebody else', { service_uuids: [battery] }, null],
];

for (const [what, frame, read] of table) {
  test(`${what}: ${read?.externalId ?? 'ignored'}`, () => {
    const candidate = toCandidate(advertisement(frame), known, '2026-03-01T12:00:00.000Z');
    if (read === null || candidate === null) return assert.equal(candidate, read);
    const { externalId, deviceType, defaultName, protocol, deviceId } = candidate;
    assert.deepEqual({ externalId, deviceType, defaultName, protocol }, { protocol: 'station', ...read });
    assert.equal(deviceId, externalId === '3f2a' ? 'device-1' : null);
    assert.match(candidate.name, /^[^\p{C}]*$/u);
  });
}

test('an unknown signal is null, and what no advertisement can hold is dropped', () => {
  const service_data = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`000018${String(at).padStart(2, '0')}-0000-1000-8000-00805f9b34fb`, 'AA==']),
  );
  const frame = advertisement({ rssi: 127, service_data: { ...service_data, [battery]: 'A'.repeat(10_000) } });
  const candidate = toCandidate({ ...frame, service_uuids: Array(60).fill(serviceUuid) as string[] }, known, 'now');
  assert.equal(candidate?.rssi, null);
  assert.ok(JSON.stringify(candidate).length < 2_000);
});

const kept: Kept = {
  heardAtMs: 100_000,
  firstHeardAtMs: 100_000,
  heardSeconds: 1,
  rssi: -60,
  broadcastAtMs: 100_000,
  changeBroadcastAtMs: null,
};

test('the first news and a change are told at once, a signal and further changes once a second', () => {
  assert.equal(isBroadcastNow({ ...kept, broadcastAtMs: null }, true, 100_000), true);
  assert.equal(isBroadcastNow(kept, true, 100_005), true, 'the name follows in the scan response');
  assert.equal(isBroadcastNow({ ...kept, changeBroadcastAtMs: 100_005 }, true, 100_900), false);
  assert.equal(isBroadcastNow({ ...kept, changeBroadcastAtMs: 100_005 }, true, 101_005), true);
  assert.equal(isBroadcastNow(kept, false, 100_999), false);
  assert.equal(isBroadcastNow(kept, false, 101_000), true);
});

test('a device is lost after 30 s of listening, or two minutes in which the radio was busy', () => {
  assert.equal(isLost(kept, 0, 129_999), false);
  assert.equal(isLost(kept, 0, 130_000), true);
  assert.equal(isLost(kept, 110_000, 130_000), false, 'the radio wrote to another device before');
  assert.equal(isLost(kept, null, 219_999), false);
  assert.equal(isLost(kept, null, 220_000), true);
});

test('what was not heard over time goes first, then the older; the signal does not count', () => {
  const settled = { ...kept, heardAtMs: 1_000, firstHeardAtMs: -1_000, heardSeconds: 3, rssi: -90 };
  const brief = { ...kept, firstHeardAtMs: 99_000, heardSeconds: 2, rssi: -20 };
  const older = { ...kept, heardAtMs: 2_000, firstHeardAtMs: 2_000, rssi: -20 };
  assert.deepEqual([settled, brief, older].sort(byWorth), [older, brief, settled]);
});
