import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TFunction } from 'i18next';
import type { ActionData, TriggerData } from '@station/protocol/automation-flow';
import { checkFlow } from '@station/protocol/automation-flow-check';
import { builtInDeviceTypes, findBuiltInType } from '@station/protocol/builtin-device-types';
import type { Device } from '@station/protocol/devices';
import { deviceTypesOf } from '../../api/devices.ts';
import type { Surroundings } from './automations.ts';
import {
  actionOptions,
  conditionOptions,
  keyOf,
  numberIn,
  triggerOptions,
  withNumber,
  zoneActionOptions,
  zoneTriggerOptions,
} from './options.ts';
import { flowOf, partFault } from './sentence.ts';

const id = (type: string): string =>
  `019a9d2f-0002-7000-8000-00000000000${builtInDeviceTypes.findIndex((one) => one.type === type)}`;
const hallId = '019a9d2f-0003-7000-8000-000000000001';
const devices = builtInDeviceTypes.map(
  ({ type }) =>
    ({
      id: id(type),
      type,
      name: type,
      zoneId: hallId,
      state: type === 'climate' ? { temperature: 21.4 } : {},
    }) as unknown as Device,
);
const around: Surroundings = {
  t: ((key: string) => key) as unknown as TFunction,
  locale: 'en',
  devices,
  types: deviceTypesOf(builtInDeviceTypes),
  zones: [{ id: hallId, name: 'Hall' }],
  scenes: [{ id: 's', name: 'Evening', commands: [] }],
  hasPlace: true,
};
const sentence = { triggers: [] as TriggerData[], conditions: [], actions: [] as ActionData[], otherwise: [] };
const night = { kind: 'schedule', config: { time: '21:30' } } as const;
const notify = { kind: 'notify', config: { message: 'x' } } as const;

test('the station accepts everything that can be chosen', () => {
  const surroundings = {
    device: (wanted: string) => {
      const device = devices.find(({ id: one }) => one === wanted);
      return device === undefined ? null : { type: findBuiltInType(device.type) };
    },
    zone: (zoneId: string) => (zoneId === hallId ? builtInDeviceTypes : null),
    scene: () => false,
    hasPlace: true,
    cronProblem: () => null,
  };
  const ofZone = [
    ...zoneTriggerOptions(around, hallId).map((one) => flowOf({ ...sentence, triggers: [one], actions: [notify] })),
    ...zoneActionOptions(around, hallId).map((one) => flowOf({ ...sentence, triggers: [night], actions: [one] })),
  ];
  for (const flow of ofZone) assert.deepEqual(checkFlow(flow, surroundings), [], JSON.stringify(flow.nodes));
  let seen = ofZone.length;
  for (const device of devices) {
    const flows = [
      ...triggerOptions(around, device.id).map((one) => flowOf({ ...sentence, triggers: [one], actions: [notify] })),
      ...conditionOptions(around, device.id).map((one) =>
        flowOf({ ...sentence, triggers: [night], conditions: [one], actions: [notify] }),
      ),
      ...actionOptions(around, device.id).map((one) => flowOf({ ...sentence, triggers: [night], actions: [one] })),
    ];
    for (const flow of flows) assert.deepEqual(checkFlow(flow, surroundings), [], JSON.stringify(flow.nodes));
    seen += flows.length;
  }
  assert.ok(seen > 30, `saw ${seen}`);
});

test('the choices of a device have a key each, which a number does not change', () => {
  for (const { id: device } of devices) {
    for (const options of [
      triggerOptions(around, device),
      conditionOptions(around, device),
      actionOptions(around, device),
      zoneTriggerOptions(around, hallId),
      zoneActionOptions(around, hallId),
    ]) {
      const keys = options.map(keyOf);
      assert.equal(new Set(keys).size, keys.length, keys.join());
      for (const option of options)
        if (numberIn(option) !== null) assert.equal(keyOf(withNumber(option, 7)), keyOf(option));
    }
  }
});

test('a number begins with what the device shows', () => {
  const [warmer] = triggerOptions(around, id('climate'));
  assert.equal(warmer && numberIn(warmer), 21);
});

test('what is not filled in keeps it from being saved', () => {
  const brightness = (value: number) =>
    ({
      kind: 'device_command',
      config: { deviceId: id('light'), action: 'set_brightness', params: { brightness: value } },
    }) as const;
  const faults: Parameters<typeof partFault>[1][] = [
    null,
    { kind: 'device_status_changed', config: { deviceId: 'gone' } },
    brightness(Number.NaN),
    brightness(-1),
    brightness(101),
    { kind: 'schedule', config: { time: '' } },
    { kind: 'schedule', config: { time: '07:00', days: [] } },
    { kind: 'delay', config: { seconds: 0 } },
    { kind: 'delay', config: { seconds: 8 * 24 * 3600 } },
    { kind: 'notify', config: { message: ' ' } },
    { kind: 'notify', config: { message: '\u200b' } },
    { kind: 'webhook', config: { url: 'example.org' } },
  ];
  assert.deepEqual(
    faults.map((part) => partFault(around, part)),
    ['nothing', 'device', 'number', 'range', 'range', 'text', 'days', 'delay', 'delay', 'text', 'text', 'address'],
  );
  const sound = [brightness(40), night, notify, { kind: 'webhook', config: { url: 'https://example.org/x' } }] as const;
  for (const part of sound) assert.equal(partFault(around, part), null);
});

test('a zone or scene that is gone, a place that is not set and a wait without an end keep it from being saved', () => {
  const sunset = { kind: 'schedule', config: { sun: { event: 'sunset', offsetMinutes: -30 } } } as const;
  const wait = (seconds: number, deviceId: string) =>
    ({
      kind: 'wait_until',
      config: { until: { kind: 'state_equals', config: { deviceId, capability: 'motion', value: false } }, seconds },
      goesOn: false,
    }) as const;
  const nowhere = { ...around, hasPlace: false };
  assert.deepEqual(
    [
      partFault(around, { kind: 'zone_command', config: { zoneId: 'gone', action: 'turn_on' } }),
      partFault(around, { kind: 'scene', config: { sceneId: 'gone' } }),
      partFault(around, { kind: 'scene', config: { sceneId: 's' } }),
      partFault(nowhere, sunset),
      partFault(nowhere, { kind: 'time_range', config: { from: '20:00', to: { event: 'sunset' } } }),
      partFault(around, sunset),
      partFault(around, { kind: 'schedule', config: { sun: { event: 'sunset', offsetMinutes: 361 } } }),
      partFault(around, wait(0, id('pir'))),
      partFault(around, wait(60, 'gone')),
      partFault(around, wait(60, id('pir'))),
    ],
    ['zone', 'scene', null, 'place', 'place', null, 'offset', 'delay', 'device', null],
  );
});
