import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findOptions } from './find-options.ts';

const groups = [
  { label: 'Zones', options: [{ value: 'z', label: 'Hall' }] },
  {
    label: 'Devices',
    options: [
      { value: '1', label: 'Ceiling lamp', hint: 'Hall' },
      { value: '2', label: 'Desk lamp', hint: 'Café' },
      { value: '3', label: 'Їдальня' },
    ],
  },
];
const found = (typed: string): string[] => findOptions(groups, typed).options.map(({ value }) => value);

test('every typed word must occur in the name or the zone, in any order, whatever the case and accents', () => {
  assert.deepEqual(found(''), ['z', '1', '2', '3']);
  assert.deepEqual(found('LAMP'), ['1', '2']);
  assert.deepEqual(found(' hall  lamp '), ['1']);
  assert.deepEqual(found('cafe'), ['2']);
  assert.deepEqual(found('їдал'), ['3']);
  assert.deepEqual(found('attic'), []);
});

test('places count through all groups, and an empty group is left out', () => {
  assert.deepEqual(
    findOptions(groups, 'lamp').found.map(({ label, options }) => [label, options.map(({ place }) => place)]),
    [['Devices', [0, 1]]],
  );
  assert.deepEqual(
    findOptions(groups, 'hall').found.map(({ label, options }) => [label, options.map(({ place }) => place)]),
    [
      ['Zones', [0]],
      ['Devices', [1]],
    ],
  );
});

test('of five hundred devices the first are listed, and typing finds the rest', () => {
  const many = [
    { label: 'Devices', options: Array.from({ length: 500 }, (_, n) => ({ value: `${n}`, label: `Lamp ${n}` })) },
  ];
  const all = findOptions(many, '');
  assert.deepEqual([all.options.length, all.isCut], [80, true]);
  assert.deepEqual(findOptions(many, 'lamp 499').options, [{ value: '499', label: 'Lamp 499' }]);
  assert.equal(findOptions(many, 'lamp 499').isCut, false);
});
