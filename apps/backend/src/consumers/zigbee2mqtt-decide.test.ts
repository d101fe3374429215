import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import { describe } from '../gateways/zigbee2mqtt/describe-decide.ts';
import { topicNames } from './topic-names-decide.ts';
import { zigbee2mqtt } from './zigbee2mqtt-decide.ts';
import type { House, SharedDevice } from './picture.ts';

const deviceOf = (typeName: string, more: Partial<SharedDevice> = {}): SharedDevice => ({
  id: '0198c0de-0000-7000-8000-000000000001',
  name: 'Hall',
  typeName,
  type: findBuiltInType(typeName),
  zone: null,
  isOnline: true,
  state: {},
  firmwareVersion: null,
  dialect: null,
  ...more,
});

const houseOf = (...devices: SharedDevice[]): House => ({
  stationId: '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54',
  stationName: 'Home',
  version: '0.1.0',
  devices,
});
const draw = (...devices: SharedDevice[]) => zigbee2mqtt.draw(houseOf(...devices), 'z');
const listOf = (...devices: SharedDevice[]): unknown[] =>
  JSON.parse(
    draw(...devices)
      .fixed(() => ({}))
      .find(({ topic }) => topic === 'z/bridge/devices')?.payload ?? '[]',
  ) as unknown[];

test('what the station announces is read by its own gateway as the same values and commands', () => {
  for (const type of ['light', 'climate', 'pir']) {
    const [, entry] = listOf(deviceOf(type));
    const read = describe(entry);
    assert.equal(read?.name, 'Hall');
    const keys = read?.words.capabilities?.map(({ key }) => key) ?? [];
    const own = findBuiltInType(type)?.capabilities.map(({ key }) => (key === 'motion' ? 'occupancy' : key)) ?? [];
    assert.deepEqual(keys, own, type);
  }
  const lamp = describe(listOf(deviceOf('light'))[1]);
  assert.deepEqual(
    lamp?.words.commands?.map(({ action }) => action),
    ['turn_on', 'turn_off', 'toggle', 'set_brightness'],
  );
});

const table: readonly [end: string, payload: string, calls: object[] | null][] = [
  ['Hall/set', '{"state":"ON"}', [{ action: 'turn_on', params: {} }]],
  ['Hall/set', 'OFF', [{ action: 'turn_off', params: {} }]],
  ['Hall/set', '{"state":"toggle"}', [{ action: 'toggle', params: {} }]],
  ['Hall/set', '{"brightness":127}', [{ action: 'set_brightness', params: { brightness: 50 } }]],
  ['Hall/set/brightness', '254', [{ action: 'set_brightness', params: { brightness: 100 } }]],
  ['Hall/set/state', 'ON', [{ action: 'turn_on', params: {} }]],
  ['Hall/set', '{"brightness":"x"}', null],
  ['Hall/set', '{"__proto__":1}', null],
  ['Hall/set', '[1]', null],
  ['Hall/set', '', null],
  ['Hall/set/state/more', 'ON', null],
  ['Other/set', 'ON', null],
  ['Hall', 'ON', null],
];

test('a message on a topic of commands becomes commands of the type', () => {
  const lamp = deviceOf('light');
  const picture = draw(lamp);
  for (const [end, payload, calls] of table) {
    const wanted = calls?.map((call) => ({ kind: 'command', deviceId: lamp.id, ...call })) ?? null;
    assert.deepEqual(picture.read(`z/${end}`, payload), wanted, `${end} ${payload}`);
  }
  assert.deepEqual(picture.read('z/Hall/get', '{"state":""}'), [{ kind: 'state', deviceId: lamp.id }]);
  const [old] = picture.read('z/bridge/config/devices/get', '1') ?? [];
  assert.equal(old?.kind === 'answer' && old.topic, 'z/bridge/config/devices');
  assert.match(old?.kind === 'answer' ? old.payload : '', /^\[\{"ieeeAddr":"0x[0-9a-f]{16}",.*"friendly_name":"Hall"/);
  assert.equal(picture.read('z/bridge/config/devices', '[]'), null);
  const [answer] = picture.read('z/bridge/request/device/remove', '{"id":"Hall","transaction":"t"}') ?? [];
  assert.equal(answer?.kind === 'answer' && answer.topic, 'z/bridge/response/device/remove');
});

test('a state has only what is known, in the words of the dialect', () => {
  assert.deepEqual(JSON.parse(draw(deviceOf('light')).state(deviceOf('light').id, { on: true })?.payload ?? ''), {
    state: 'ON',
  });
  const both = draw(deviceOf('light')).state(deviceOf('light').id, { on: false, brightness: 50 });
  assert.equal(both?.payload, '{"state":"OFF","brightness":127}');
});

test('names are one level of a topic each, and the older device keeps its name', () => {
  const named = (...names: string[]): string[] => [
    ...topicNames(names.map((name, at) => ({ id: String(at), name }))).values(),
  ];
  assert.deepEqual(named('Hall', 'Hall', 'Hall'), ['Hall', 'Hall 2', 'Hall 3']);
  assert.deepEqual(named('a/b', 'a+b', 'a#b'), ['a_b', 'a_b 2', 'a_b 3']);
  assert.deepEqual(named('bridge', '$SYS', ' ', 'x\u0000y', '\ud800'), ['bridge 2', '_SYS', 'device', 'x_y', '_']);
  assert.equal(named('n'.repeat(300))[0]?.length, 100);
});

test('of more devices than the list has room for, the rest is left out and counted', () => {
  const many = Array.from({ length: 600 }, (_, at) => deviceOf('light', { id: `id-${at}`, name: `Lamp ${at}` }));
  const picture = draw(...many);
  assert.ok(Buffer.byteLength(JSON.stringify(listOf(...many))) <= 256 * 1024);
  assert.ok(picture.devices > 200 && picture.leftOut > 0, String(picture.devices));
  assert.equal(picture.devices + picture.leftOut, 600);
  const last = many.at(-1)?.id ?? '';
  assert.equal(picture.state(last, { on: true }), null);
});

test('a device of a Zigbee2MQTT does not go back to where it came from', () => {
  assert.equal(draw(deviceOf('light', { dialect: 'zigbee2mqtt' })).devices, 0);
  assert.equal(draw(deviceOf('light', { dialect: 'home_assistant' })).devices, 1);
});
