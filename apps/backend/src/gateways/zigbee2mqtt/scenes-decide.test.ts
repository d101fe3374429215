import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnnouncedDevice } from '../dialect.ts';
import { commandPayload } from '../payloads-decide.ts';
import { takenWell } from '../../../testing/gateways/announced.ts';
import { describe } from './describe-decide.ts';
import { listGroups } from './groups-decide.ts';
import { announcement, colourLamp, wallButton } from '../../../testing/gateways/announcements.ts';

const scenes = [
  { id: 1, name: 'Evening' },
  { id: 2, name: 'Вечір' },
];

const lampWith = (endpoints: unknown, definition: object = colourLamp): AnnouncedDevice =>
  takenWell(describe(announcement({ definition, endpoints })));
const commandOf = ({ words }: AnnouncedDevice, action: string) =>
  words.commands.find((command) => command['action'] === action);
const recalled = ({ plan }: AnnouncedDevice, name: string, end = ''): unknown =>
  commandPayload(plan, { action: `set_scene_recall${end}`, [`scene_recall${end}`]: name });

test('scenes of a device are a choice by name, confirmed when the gateway has it', () => {
  const lamp = lampWith({ 1: { bindings: [], scenes: [] }, 11: { scenes } });
  assert.deepEqual(commandOf(lamp, 'set_scene_recall'), {
    action: 'set_scene_recall',
    params: { type: 'object', properties: { scene_recall: { type: 'string', enum: ['Evening', 'Вечір'] } } },
    confirmedBy: [],
    repeatable: true,
  });
  const capability = lamp.words.capabilities.find(({ key }) => key === 'scene_recall');
  assert.deepEqual(capability?.['values'], ['Evening', 'Вечір']);
  assert.deepEqual((capability?.['names'] as { de: string }).de, 'Szene abrufen');
  assert.deepEqual(recalled(lamp, 'Вечір'), { scene_recall: 2 });
});

test('endpoints with names have scenes of their own', () => {
  const lamp = lampWith({ 1: { name: 'l1', scenes }, 2: { name: 'l2', scenes: [{ id: 9, name: 'Night' }] } });
  assert.deepEqual(recalled(lamp, 'Evening', '_l1'), { scene_recall_l1: 1 });
  assert.deepEqual(recalled(lamp, 'Night', '_l2'), { scene_recall_l2: 9 });
  assert.equal(commandOf(lamp, 'set_scene_recall'), undefined);
});

test('a group has its scenes besides what its members share, or alone', () => {
  const lamp = lampWith({});
  const members = new Map([['0x01', []]]);
  const group = { id: 3, friendly_name: 'hall', members: [{ ieee_address: '0x01', endpoint: 1 }] };
  const devicesOf = (more: object): AnnouncedDevice[] =>
    Array.from(listGroups([{ ...group, ...more }], members, 'zigbee2mqtt')?.devices ?? []);
  const hall = takenWell(devicesOf({ scenes }).at(0) ?? null);
  assert.deepEqual(recalled(hall, 'Evening'), { scene_recall: 1 });
  assert.equal(hall.topics.command, 'zigbee2mqtt/hall/set');
  assert.deepEqual(devicesOf({ scenes: [] }), []);
  assert.equal(commandOf(lamp, 'set_scene_recall'), undefined);
});

test('names that are the same, or none, are told apart by their numbers', () => {
  const odd = [
    { id: 1, name: 'Evening' },
    { id: 2, name: 'Evening' },
    { id: 3 },
    { id: 4, name: `\u202e${'x'.repeat(500)}` },
  ];
  const button = lampWith({ 1: { scenes: odd } }, wallButton);
  assert.deepEqual(recalled(button, 'Evening (2)'), { scene_recall: 2 });
  assert.deepEqual(recalled(button, '3'), { scene_recall: 3 });
  assert.deepEqual(recalled(button, 'x'.repeat(56)), { scene_recall: 4 });
});

test('hostile scenes are none', () => {
  const none = [null, 7, 'x', {}, { id: '1', name: 'x' }, { id: -1 }, { id: 256 }, { id: 0.5 }, [1]];
  for (const endpoints of [null, [], 'x', { 1: null }, { 1: { scenes: none } }, { 1: { name: '/set', scenes } }])
    assert.equal(commandOf(lampWith(endpoints), 'set_scene_recall'), undefined);
  const many = Array.from({ length: 300 }, (_, id) => ({ id, name: `s${id}` }));
  const capability = lampWith({ 1: { scenes: many } }).words.capabilities.find(({ key }) => key === 'scene_recall');
  assert.equal((capability?.['values'] as unknown[]).length, 64);
});
