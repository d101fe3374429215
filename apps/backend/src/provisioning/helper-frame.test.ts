import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Discovered } from '@station/protocol/ble-frames';
import { playedHelper } from '../../testing/played-helper.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { settled, steppedClock } from '../../testing/stepped-clock.ts';
import { startBleHelper } from './ble-helper.ts';
import { readHelperFrame } from './helper-frame.ts';

const service = '85e4cb5a-4718-47e3-b363-b2d82655ee1e';
const usual = {
  event: 'discovered',
  address: 'C0:FF:EE:00:00:01',
  name: 'SH_light_1',
  rssi: -60,
  service_uuids: [service, '00001809-0000-1000-8000-00805f9b34fb'],
  service_data: { '00004677-0000-1000-8000-00805f9b34fb': 'AQ==' },
};

test('a helper may spell addresses and UUIDs as its library does', () => {
  for (const address of ['C0:FF:EE:00:00:01', 'c0:ff:ee:00:00:01', 'C0-FF-EE-00-00-01', 'c0ffee000001']) {
    const written = {
      ...usual,
      address,
      service_uuids: [service.toUpperCase().replaceAll('-', ''), '0x1809'],
      service_data: { '4677': 'AQ==' },
    };
    const frame = readHelperFrame(JSON.stringify(written));
    assert.deepEqual(frame?.event, usual, address);
    assert.equal(frame.writtenAs, address === usual.address ? null : address);
  }
  const long = { ...usual, service_uuids: [service, '00001809'], service_data: { '00004677': 'AQ==' } };
  assert.deepEqual(readHelperFrame(JSON.stringify(long))?.event, usual);
});

test('a helper may leave out what an advertisement does not have', () => {
  const { event, address } = usual;
  const bare = { event, address, name: '', rssi: 127, service_uuids: [], service_data: {} };
  assert.deepEqual(readHelperFrame(JSON.stringify({ event, address }))?.event, bare);
  assert.deepEqual(readHelperFrame(JSON.stringify({ event, address, name: null, rssi: null }))?.event, bare);
  const done = readHelperFrame(JSON.stringify({ event: 'write_result', address, ok: true, error: null }));
  assert.ok(done?.event.event === 'write_result' && done.event.ok);
});

test('what is no frame stays none', () => {
  const texts = ['', 'null', '[]', '{}', '"discovered"', '{"event":"discovered"}', '{"event":"ready"'];
  const addresses = ['C0:FF:EE:00:00', 'C0:FF:EE:00:00:01:02', 'G0:FF:EE:00:00:01', 'C0::FFEE000001'];
  const uuids = ['180', '0x', '12345', `${service}0`, 'station'];
  const changes: object[] = [
    ...addresses.map((address) => ({ address })),
    ...uuids.map((uuid) => ({ service_uuids: [uuid] })),
    { service_data: ['AQ=='] },
    { name: 1 },
  ];
  const lines = [...texts, ...changes.map((change) => JSON.stringify({ ...usual, ...change }))];
  for (const line of lines) assert.equal(readHelperFrame(line), null, line);
});

test('a helper gets addresses back as it writes them, and its result counts', async () => {
  const found: Discovered[] = [];
  const played = playedHelper((command) => {
    if (command.event !== 'connect_and_write') return;
    const { address } = command;
    played.sendText(JSON.stringify({ event: 'write_result', address, ok: address === 'c0ffee000001' }));
  });
  await using helper = startBleHelper({
    serviceUuid: service,
    start: played.start,
    admits: () => true,
    onDiscovered: (frame) => found.push(frame),
    onChanged: () => undefined,
    clock: steppedClock(),
    random: () => 0.5,
    logger: recordedLog(),
  });
  helper.want({ isNeeded: true, isScanning: true });
  await settled();
  played.send({ event: 'ready' });
  played.sendText(JSON.stringify({ event: 'discovered', address: 'c0ffee000001', service_uuids: [service] }));
  assert.equal(found[0]?.address, usual.address);
  const write = { address: usual.address, service_uuid: service, characteristic_uuid: service, payload: 'x' };
  const outcome = await helper.write(write, { onStart: () => undefined, signal: new AbortController().signal });
  assert.deepEqual(outcome, { ok: true });
});
