import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Property } from './dialect.ts';
import { type Feature, featureOf } from './features-decide.ts';
import { valueNamesOf } from './value-names.ts';

const boolean = (isSettable: boolean): Property => ({
  path: ['x'],
  key: 'x',
  isReadable: true,
  isSettable,
  kind: 'boolean',
  on: true,
  off: false,
});

const cases: readonly [what: string, isSettable: boolean, more: Partial<Feature>, whenTrue: string | undefined][] = [
  ['a lamp', true, { group: 'light', name: 'state' }, 'On'],
  ['a lock', true, { group: 'lock', name: 'state' }, 'Locked'],
  ['a child lock', true, { name: 'child_lock' }, 'On'],
  ['motion of Zigbee2MQTT', false, { name: 'occupancy' }, 'Motion'],
  ['a contact that is made', false, { name: 'contact' }, 'Closed'],
  ['a door of Home Assistant', false, { name: 'front', says: 'door' }, 'Open'],
  ['a lock that Home Assistant only reads', false, { name: 'bolt', says: 'lock' }, 'Unlocked'],
  ['a class without words of its own', false, { name: 'occupancy', says: 'constructor' }, undefined],
  ['anything else', false, { name: 'problem' }, undefined],
];
for (const [what, isSettable, more, whenTrue] of cases)
  test(`what is true of ${what} is ${whenTrue ?? 'only yes'}`, () => {
    const names = valueNamesOf(featureOf(boolean(isSettable), more));
    assert.equal(names?.['true']?.['en'], whenTrue);
    assert.equal(names?.['false'] === undefined, whenTrue === undefined);
  });

test('of the values of an enum those that many devices have are named in every language', () => {
  const property: Property = {
    path: ['x'],
    key: 'x',
    isReadable: true,
    isSettable: true,
    kind: 'enum',
    values: ['OPEN', 'sideways', 'constructor'],
  };
  assert.deepEqual(valueNamesOf(featureOf(property)), {
    OPEN: { en: 'Open', de: 'Offen', pl: 'Otwarte', uk: 'Відчинено' },
  });
});
