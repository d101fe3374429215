import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zigbee2mqtt } from './bridge-decide.ts';
import { describe } from './describe-decide.ts';
import { announcement, colourLamp } from '../../../testing/gateways/announcements.ts';

const base = 'zigbee2mqtt';
const lamp = describe(announcement({ definition: colourLamp }), base);
assert.ok(lamp);
const known = {
  memory: zigbee2mqtt.remember(),
  at: (topic: string) => (lamp.topics.heard.includes(topic) ? [lamp] : []),
  find: (id: string) => (id === lamp.externalId ? lamp : undefined),
};
const said = (rest: string, text: string) =>
  zigbee2mqtt.read({ base, discovery: null, topic: `${base}/${rest}`, text }, known);

test('availability is read in both forms', () => {
  const available = (text: string) => said('living room/lamp/availability', text);
  assert.deepEqual(available('{"state":"online"}'), [{ kind: 'available', device: lamp, availability: 'online' }]);
  assert.deepEqual(available('offline'), [{ kind: 'available', device: lamp, availability: 'offline' }]);
  for (const text of ['', '{}', '{"state":1}', 'null', '[[]]']) assert.deepEqual(available(text), []);
  assert.deepEqual(said('bridge/state', 'offline'), [{ kind: 'gateway', availability: 'offline' }]);
});

test('a removal names the device, or its address', () => {
  const removal = (id: unknown, status = 'ok') =>
    said('bridge/response/device/remove', JSON.stringify({ data: { id }, status }));
  for (const id of ['living room/lamp', '0x00158D0001DC126A'])
    assert.deepEqual(removal(id), [{ kind: 'removed', device: lamp }]);
  assert.deepEqual(removal('other'), []);
  assert.deepEqual(removal('living room/lamp', 'error'), []);
});

test('a list says whom it could not take', () => {
  const coordinator = { type: 'Coordinator' };
  const refusedOf = (...entries: unknown[]) => {
    const [list] = said('bridge/devices', JSON.stringify([coordinator, ...entries]));
    return list?.kind === 'list' ? list.devices()?.refused : null;
  };
  const odd = { ...announcement({ definition: colourLamp }), friendly_name: 'lamp/set' };
  assert.deepEqual(refusedOf(odd), [{ name: 'lamp/set', reason: 'incomplete', detail: null }]);
  assert.deepEqual(refusedOf({ ...odd, disabled: true }, { ...odd, friendly_name: 'lamp' }), []);
  const many = Array.from({ length: 502 }, (_, at) => ({ ...odd, friendly_name: `lamp ${at}` }));
  assert.deepEqual(
    refusedOf(...many)?.map(({ name, reason }) => [name, reason]),
    [500, 501].map((at) => [`lamp ${at}`, 'no_room']),
  );
});

test('a device that its gateway interviews again is not missing in the list', () => {
  const listOf = (more: object) => {
    const entry = { ...announcement({ definition: colourLamp }), ...more };
    const [list] = said('bridge/devices', JSON.stringify([{ type: 'Coordinator' }, entry]));
    return list?.kind === 'list' ? list.devices() : null;
  };
  for (const more of [{ interviewing: true }, { interview_completed: false }, { interview_state: 'IN_PROGRESS' }]) {
    const list = listOf(more);
    assert.deepEqual([...(list?.devices ?? [])], []);
    assert.equal(list?.isOf(lamp.externalId), false, JSON.stringify(more));
    assert.equal(list?.isOf('zigbee2mqtt:0x00158d0001dc126b'), true);
  }
  assert.equal(listOf({ disabled: true })?.isOf(lamp.externalId), true);
});

test('a list without the coordinator is none', () => {
  const [list] = said('bridge/devices', JSON.stringify([announcement({ definition: colourLamp })]));
  assert.equal(list?.kind === 'list' && list.devices(), null);
});
