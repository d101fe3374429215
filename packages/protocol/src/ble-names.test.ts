import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookOf, looksLike, readAdvertisedName } from './ble-names.ts';

test('reads type and id from the advertised names of the field', () => {
  const cases: [name: string, type: string, externalId: string][] = [
    ['SH_light_a1b2c3', 'light', 'a1b2c3'],
    ['SH_switch-pir_a1b2c3', 'switch-pir', 'a1b2c3'],
    ['light-a1b2c3', 'light', 'a1b2c3'],
    ['switch-pir-0007', 'switch-pir', '0007'],
    ['SH_soil_sensor_a1b2c3', 'soil_sensor', 'a1b2c3'],
    ['SH_door_lock-v2.1_a1b2c3', 'door_lock-v2.1', 'a1b2c3'],
    ['soil_sensor-a1b2c3', 'soil_sensor', 'a1b2c3'],
    ['soil_sensor-a_1', 'soil_sensor', 'a_1'],
  ];
  for (const [name, type, externalId] of cases) assert.deepEqual(readAdvertisedName(name), { type, externalId }, name);
});

test('refuses names of other devices', () => {
  for (const name of [
    '',
    'SH_',
    'SH_light',
    'SH_light_',
    'SH__a1',
    'light',
    'light-',
    '-a1',
    'LE-Bose Mini',
    'SH_li+ght_a1',
    'light-a/b',
  ]) {
    assert.equal(readAdvertisedName(name), null, name);
  }
});

test('ids that a person takes for one another look alike', () => {
  const alike = (a: string, b: string): boolean => looksLike(lookOf(a), lookOf(b));
  for (const id of [
    'lamp7',
    ' lamp7',
    'LAMP 7',
    'lamp-7',
    '1amp7',
    'Iamp7',
    'lаmp7',
    'larnp7',
    '\uff4camp7',
    'lamp\u200b7',
  ])
    assert.ok(alike('lamp7', id) && alike(id, 'lamp7'), id);
  for (const id of ['lamp8', 'lamp77', 'amp7', 'а7', '']) assert.ok(!alike('lamp7', id), id);
  for (const [one, other] of [
    ['sensor0', 'SENS0RO'],
    ['window', 'vvindow'],
    ['door', 'cloor'],
  ] as const)
    assert.ok(alike(one, other), other);
});
