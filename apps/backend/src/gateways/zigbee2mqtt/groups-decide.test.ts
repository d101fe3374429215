import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnnouncedDevice, AnnouncedList } from '../dialect.ts';
import { commandPayload, readState } from '../payloads-decide.ts';
import { takenWell } from '../../../testing/gateways/announced.ts';
import { zigbee2mqtt } from './bridge-decide.ts';
import { announcement, colourLamp, cover, twoSwitches, wallButton } from '../../../testing/gateways/announcements.ts';

const base = 'zigbee2mqtt';
const addressOf = (at: number): string => `0x00158d000000000${at}`;
const members = (...all: readonly number[]) => all.map((at) => ({ ieee_address: addressOf(at), endpoint: 1 }));
const devices = [
  { type: 'Coordinator' },
  ...[colourLamp, colourLamp, cover, twoSwitches, wallButton].map((definition, at) => ({
    ...announcement({ definition }),
    ieee_address: addressOf(at),
    friendly_name: `device ${at}`,
  })),
];

const wholeOf = (list: AnnouncedList | null) => list && { ...list, devices: [...list.devices] };

/** What a gateway says of its groups; also before and after it said which devices there are. */
function gateway() {
  const known = { memory: zigbee2mqtt.remember(), at: () => [], find: () => undefined };
  return (rest: string, payload: unknown) => {
    const said = zigbee2mqtt.read(
      { base, discovery: null, topic: `${base}/${rest}`, text: JSON.stringify(payload) },
      known,
    );
    const lists = said.map((one) => (one.kind === 'list' ? wholeOf(one.devices()) : null));
    return lists.at(-1) ?? null;
  };
}

function groupOf(...all: readonly number[]): AnnouncedDevice {
  const hear = gateway();
  hear('bridge/devices', devices);
  const list = hear('bridge/groups', [{ id: 7, friendly_name: 'hall/all', scenes: [], members: members(...all) }]);
  return takenWell(list?.devices[0] ?? null);
}
const keysOf = ({ words }: AnnouncedDevice) => words.capabilities.map(({ key }) => key);

test('a group is one device with what all of its members have', () => {
  const lamps = groupOf(0, 1);
  assert.deepEqual([lamps.externalId, lamps.name], ['zigbee2mqtt:group-7', 'hall/all']);
  assert.deepEqual(lamps.topics, { heard: [`${base}/hall/all`], command: `${base}/hall/all/set` });
  assert.deepEqual(keysOf(lamps), [
    'on',
    'brightness',
    'color_temp',
    'color.x',
    'color.y',
    'color.hue',
    'color.saturation',
  ]);
  assert.deepEqual(commandPayload(lamps.plan, { action: 'turn_on' }), { state: 'ON' });
  assert.deepEqual(readState(lamps.plan, { state: 'ON', brightness: 254 })?.state, { on: true, brightness: 100 });
  // A switch with two gangs is a switch in a group.
  assert.deepEqual(keysOf(groupOf(0, 3)), ['on']);
  assert.ok(keysOf(groupOf(2)).includes('position'));
});

test('a group whose members share nothing, or are not known, is said', () => {
  const hear = gateway();
  const groups = [members(0, 4), members(9), [], 'x'].map((all, id) => ({ id, friendly_name: `g${id}`, members: all }));
  hear('bridge/devices', devices);
  const list = hear('bridge/groups', groups);
  assert.deepEqual(list?.devices, []);
  assert.deepEqual(
    list?.refused,
    groups.map(({ friendly_name: name }) => ({ name, reason: 'group', detail: null })),
  );
});

test('groups that came before the devices are made when these come', () => {
  const hear = gateway();
  const groups = [{ id: 1, friendly_name: 'lamps', members: members(0) }];
  assert.equal(hear('bridge/groups', groups), null);
  assert.deepEqual(
    hear('bridge/devices', devices)?.devices.map(({ name }) => name),
    ['lamps'],
  );
});

test('hostile lists are none, or say little', () => {
  const hear = gateway();
  hear('bridge/devices', devices);
  for (const payload of [null, {}, 'x', 7]) assert.equal(hear('bridge/groups', payload), null);
  for (const entry of [null, [], { id: 'x' }, { id: -1 }, { id: 1e9, friendly_name: 'x' }, { id: 0.5 }])
    assert.deepEqual(hear('bridge/groups', [entry])?.devices, []);
  const odd = { id: 1, friendly_name: 'lamp/set', members: members(0) };
  assert.deepEqual(hear('bridge/groups', [odd])?.refused, [{ name: 'lamp/set', reason: 'group', detail: null }]);
  const many = Array.from({ length: 5_000 }, (_, id) => ({ id, friendly_name: `g${id}`, members: members(0) }));
  assert.equal(hear('bridge/groups', many), null, 'too large to be kept');
});

test('groups of a lamp with hundreds of values, named again and again as a member, are read at once', () => {
  const values = Array.from({ length: 500 }, (_, at) => ({
    type: 'numeric',
    name: `v${at}`,
    property: `v${at}`,
    access: 7,
  }));
  const colour = { type: 'composite', name: 'color_xy', property: 'color', access: 7, features: values };
  const definition = { ...colourLamp, exposes: [{ type: 'light', features: [colour] }] };
  const hear = gateway();
  hear('bridge/devices', [{ type: 'Coordinator' }, { ...announcement({ definition }), ieee_address: addressOf(0) }]);
  const member = { ieee_address: addressOf(0) };
  const groups = Array.from({ length: 12 }, (_, id) => ({
    id,
    friendly_name: `group ${id}`,
    members: Array.from({ length: 128 }, () => member),
  }));
  const begun = performance.now();
  assert.equal(hear('bridge/groups', groups)?.devices.length, 12);
  assert.ok(performance.now() - begun < 5_000, 'without a pause for everybody else');
});
