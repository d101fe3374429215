import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AnnouncedDevice, Said } from '../dialect.ts';
import { commandPayload } from '../payloads-decide.ts';
import { hearingOf, refusedIn, takenWell } from '../../../testing/gateways/announced.ts';
import { shelly } from './shelly-decide.ts';
import { describeShelly } from './shelly-device-decide.ts';
import { shellyConfig, shellyInfo, shellyStatus, sleepingStatus } from '../../../testing/gateways/shelly-answers.ts';

const base = 'shelly';
const prefix = 'shelly/boiler';

const described = (status: Record<string, unknown>, config: Record<string, unknown> = {}): AnnouncedDevice =>
  takenWell(describeShelly(prefix, { info: shellyInfo(), config: { ...shellyConfig(), ...config }, status }));

function gatewayOf(device?: AnnouncedDevice) {
  const hear = hearingOf(shelly, base, device);
  return (rest: string, payload: unknown): readonly Said[] => hear(`${prefix}/${rest}`, payload);
}

const notify = (params: object, method = 'NotifyStatus') => ({ src: 'x', dst: `${prefix}/events`, method, params });
const stateOf = (device: AnnouncedDevice, rest: string, payload: unknown): unknown => {
  const [said] = gatewayOf(device)(rest, payload);
  return said?.kind === 'report' ? said.report.state : said;
};
const calls = (device: AnnouncedDevice, command: Record<string, unknown>): unknown => {
  const payload = commandPayload(device.plan, command);
  return payload === null
    ? null
    : shelly.write(device, payload).map(({ topic, payload: text }) => {
        const { src, method, params } = JSON.parse(text) as Record<string, unknown>;
        assert.deepEqual([topic, src], [`${prefix}/rpc`, `${prefix}/station`]);
        return [method, params];
      });
};
const keysOf = ({ words }: AnnouncedDevice) => words.capabilities.map(({ key }) => key);
const methodsIn = (said: readonly Said[]) =>
  said.flatMap((one) => (one.kind === 'question' ? [JSON.parse(one.publish.payload) as Record<string, unknown>] : []));

describe('a Shelly', () => {
  test('is asked what it is, and described when all answers are there', () => {
    const hear = gatewayOf();
    const asked = methodsIn(hear('online', 'true'));
    assert.deepEqual(
      asked.map(({ method, src }) => [method, src]),
      ['Shelly.GetDeviceInfo', 'Shelly.GetConfig', 'Shelly.GetStatus'].map((method) => [method, `${prefix}/station`]),
    );
    const results = [shellyInfo(), shellyConfig(), shellyStatus];
    const said = asked.map(({ id }, at) =>
      hear('station/rpc', { id, src: 'x', dst: `${prefix}/station`, result: results[at] }),
    );
    assert.deepEqual(said.slice(0, 2), [[], []]);
    const [device, refused, report] = said[2] ?? [];
    assert.deepEqual(refused, { kind: 'refused', source: prefix, entries: [] });
    assert.ok(device?.kind === 'device' && report?.kind === 'report');
    assert.equal(device.device.externalId, 'shelly:shellyplus1pm-a8032abe54dc');
    assert.equal(device.device.name, 'Boiler');
    assert.equal(device.device.words.type, 'shelly.plus1pm');
    assert.deepEqual(report.report.state, {
      input: false,
      on: false,
      power: 0,
      voltage: 231.4,
      frequency: 50,
      current: 0,
      energy: 12.3,
      device_temperature: 41.2,
      rssi: -58,
    });
  });

  test('says which components are not known', () => {
    const hear = gatewayOf();
    const answers = [shellyInfo(), shellyConfig(), { ...shellyStatus, 'presence:0': {}, 'script:1': {} }];
    const said = answers.map((result, at) => hear('station/rpc', { id: at + 1, result })).flat();
    assert.deepEqual(refusedIn(said), [{ name: 'Boiler: presence:0', reason: 'kind', detail: 'presence' }]);
  });

  test('that is heard before it was asked is asked then', () => {
    assert.equal(methodsIn(gatewayOf()('events/rpc', notify({ 'switch:0': { output: true } }))).length, 3);
    const known = described(shellyStatus);
    assert.equal(methodsIn(gatewayOf(known)('events/rpc', notify({ 'switch:0': { output: true } }))).length, 0);
    const changed = { events: [{ component: 'sys', event: 'config_changed', restart_required: false }] };
    assert.equal(methodsIn(gatewayOf(known)('events/rpc', notify(changed, 'NotifyEvent'))).length, 3);
  });

  test('reports what changes, in three ways', () => {
    const plug = described(shellyStatus);
    const change = { id: 0, output: true, apower: 8.2 };
    const expected = { on: true, power: 8.2 };
    assert.deepEqual(stateOf(plug, 'events/rpc', notify({ ts: 1, 'switch:0': change })), expected);
    assert.deepEqual(stateOf(plug, 'events/rpc', notify({ 'switch:0': change }, 'NotifyFullStatus')), expected);
    assert.deepEqual(stateOf(plug, 'status/switch:0', change), expected);
    assert.equal(stateOf(plug, 'status/mqtt', { connected: true }), undefined);
  });

  test('says whether it is online; one that sleeps is not offline', () => {
    const plug = described(shellyStatus);
    assert.deepEqual(gatewayOf(plug)('online', 'false'), [
      { kind: 'available', device: plug, availability: 'offline' },
    ]);
    assert.equal(gatewayOf(plug)('online', 'true')[0]?.kind, 'available');
    const sensor = described(sleepingStatus);
    assert.deepEqual(gatewayOf(sensor)('online', 'false'), []);
    assert.deepEqual(keysOf(sensor).toSorted(), ['battery', 'humidity', 'temperature']);
  });

  test('a press of a button is an event', () => {
    const buttons = described(
      { 'input:0': { id: 0, state: null }, 'input:1': { id: 1, state: false } },
      { 'input:0': { type: 'button' }, 'input:1': { type: 'switch', name: 'Door' } },
    );
    const pressed = { events: [{ component: 'input:0', id: 0, event: 'double_push', ts: 1 }] };
    const [said] = gatewayOf(buttons)('events/rpc', notify(pressed, 'NotifyEvent'));
    assert.equal(said?.kind === 'report' && said.report.event, 'input_0_double_push');
    assert.deepEqual(keysOf(buttons), ['input_1', 'action']);
    assert.deepEqual(
      buttons.words.events.map(({ action }) => action),
      ['single', 'double', 'triple', 'long'].map((push) => `input_0_${push}_push`),
    );
  });

  test('takes commands as methods of its components', () => {
    const two = described(
      { 'switch:0': { output: true }, 'switch:1': { output: false } },
      { 'switch:1': { name: 'Pump' } },
    );
    assert.deepEqual(calls(two, { action: 'turn_on_1' }), [['Switch.Set', { id: 1, on: true }]]);
    assert.deepEqual(calls(two, { action: 'toggle_0' }), [['Switch.Toggle', { id: 0 }]]);
    assert.deepEqual(two.words.capabilities[1]?.['names'], { en: 'Pump' });
    const cover = described({ 'cover:0': { state: 'stopped', current_pos: 40 } });
    assert.deepEqual(calls(cover, { action: 'set_position', position: 70 }), [
      ['Cover.GoToPosition', { id: 0, pos: 70 }],
    ]);
    assert.deepEqual(calls(cover, { action: 'stop' }), [['Cover.Stop', { id: 0 }]]);
    assert.deepEqual(keysOf(described({ 'cover:0': { state: 'stopped', current_pos: null } })), ['movement']);
    const lamp = described({ 'rgbw:0': { output: true, brightness: 50, rgb: [1, 2, 3], white: 9 } });
    assert.deepEqual(calls(lamp, { action: 'set_rgb', rgb: '[255,0,0]' }), [['RGBW.Set', { id: 0, rgb: [255, 0, 0] }]]);
    const heater = described({ 'thermostat:0': { target_C: 20, current_C: 19.5, output: true } });
    assert.deepEqual(calls(heater, { action: 'set_occupied_heating_setpoint', occupied_heating_setpoint: 21 }), [
      ['Thermostat.SetConfig', { id: 0, config: { target_C: 21 } }],
    ]);
    const virtual = described({ 'number:200': { value: 5 }, 'bthomesensor:200': { value: 3 } });
    assert.deepEqual(calls(virtual, { action: 'set_number', number: 7 }), [['Number.Set', { id: 200, value: 7 }]]);
  });

  test('a meter of three phases shows each', () => {
    const meter = described({
      'em:0': { a_act_power: 1, a_voltage: 230, b_act_power: 2, total_act_power: 3, total_current: 0.1 },
      'emdata:0': { total_act: 500 },
    });
    assert.deepEqual(keysOf(meter), ['power', 'current', 'power_a', 'voltage_a', 'power_b', 'energy']);
  });
});

test('devices that answer only a part do not keep others out', () => {
  const memory = shelly.remember();
  const known = { memory, at: () => [], find: () => undefined };
  const answer = (name: string, id: number, result: object): readonly Said[] =>
    shelly.read(
      { base, discovery: null, topic: `${base}/${name}/station/rpc`, text: JSON.stringify({ id, result }) },
      known,
    );
  for (let at = 0; at < 200; at += 1) answer(`part-${at}`, 1, shellyInfo());
  answer('boiler', 1, shellyInfo());
  answer('boiler', 2, shellyConfig());
  assert.equal(answer('boiler', 3, shellyStatus).at(0)?.kind, 'device');
  assert.ok((memory as Map<string, unknown>).size <= 64);
});

test('hostile answers and topics are none, or say little', () => {
  const hear = gatewayOf();
  for (const frame of [null, [], { id: 1 }, { id: 1, result: [] }, { id: '1', result: {} }, { id: 99, result: {} }])
    assert.deepEqual(hear('station/rpc', frame), []);
  for (const id of ['', 'A', 'x/../y', '__proto__', 'x'.repeat(60)])
    assert.equal(describeShelly(prefix, { info: shellyInfo({ id }), config: {}, status: {} }), null);
  const keys = '{"__proto__":{"output":true},"switch:x":{"output":true},"constructor":{},"switch:0":{"output":"on"}}';
  assert.deepEqual(keysOf(described(JSON.parse(keys) as Record<string, unknown>)), []);
  assert.deepEqual(
    shelly.read(
      { base, discovery: null, topic: 'shelly/online', text: 'true' },
      { memory: new Map(), at: () => [], find: () => undefined },
    ),
    [],
  );
  const event = { events: [{ component: 'input:0/#', event: 'x' }, 7, { component: 'input:0', event: 'A b' }] };
  assert.deepEqual(gatewayOf(described(shellyStatus))('events/rpc', notify(event, 'NotifyEvent')), []);
});
