import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '@station/protocol/devices';
import { choose, countMarks, type ListChoice, type Listed, readChoice, writeChoice } from './device-list-decide.ts';

const plain = readChoice(new URLSearchParams());
const listed = (name: string, more: Partial<Omit<Listed, 'device'>> & { device?: Partial<Device> } = {}): Listed => ({
  zoneName: null,
  typeName: 'Light',
  offered: null,
  ...more,
  device: {
    id: name,
    externalId: `id-${name}`,
    type: 'light',
    name,
    zoneId: more.zoneName === undefined ? null : `zone-${more.zoneName}`,
    status: 'online',
    statusAt: null,
    lastSeenAt: null,
    state: {},
    stateAt: null,
    stateTimes: {},
    fault: null,
    dropped: null,
    firmwareVersion: null,
    chip: null,
    createdAt: '2026-01-01T00:00:00.000Z',
    ...more.device,
  },
});

const all = [
  listed('Lamp 10', {
    zoneName: 'Hall',
    device: { lastSeenAt: '2026-01-03T00:00:00.000Z', firmwareVersion: '1.10.0' },
  }),
  listed('Lamp 9', { device: { status: 'offline', lastSeenAt: '2026-01-02T00:00:00.000Z', firmwareVersion: '1.9.0' } }),
  listed('Window', { zoneName: 'Attic', typeName: 'Motion sensor', device: { type: 'pir', state: { battery: 20 } } }),
  listed('Door', {
    zoneName: 'Hall',
    typeName: 'Motion sensor',
    offered: '2.0.0',
    device: { type: 'pir', state: { battery: 21 }, fault: { code: 'bad_shape', at: '', count: 1 } },
  }),
];
const names = (choice: Partial<ListChoice>): string[] =>
  choose(all, { ...plain, ...choice }, 'en').map(({ device }) => device.name);

for (const [what, choice, expected] of [
  ['all by name, numbers as numbers', {}, ['Door', 'Lamp 9', 'Lamp 10', 'Window']],
  ['downwards', { descending: true }, ['Window', 'Lamp 10', 'Lamp 9', 'Door']],
  ['by zone, those without one last', { sort: 'zone' }, ['Window', 'Door', 'Lamp 10', 'Lamp 9']],
  [
    'by zone downwards, those without one last',
    { sort: 'zone', descending: true },
    ['Door', 'Lamp 10', 'Window', 'Lamp 9'],
  ],
  ['by the time of their last message', { sort: 'seen' }, ['Lamp 9', 'Lamp 10', 'Door', 'Window']],
  ['by firmware, versions as versions', { sort: 'firmware' }, ['Lamp 9', 'Lamp 10', 'Door', 'Window']],
  ['by type', { sort: 'type' }, ['Lamp 9', 'Lamp 10', 'Door', 'Window']],
  ['offline ones', { marks: ['offline'] }, ['Lamp 9']],
  ['with a low battery', { marks: ['battery'] }, ['Window']],
  ['with any of several marks', { marks: ['battery', 'faulty'] }, ['Door', 'Window']],
  ['with newer firmware', { marks: ['firmware'] }, ['Door']],
  ['of a zone', { zone: 'zone-Hall' }, ['Door', 'Lamp 10']],
  ['in no zone', { zone: 'none' }, ['Lamp 9']],
  ['of a type', { type: 'pir' }, ['Door', 'Window']],
  ['by text, also of zone and type', { text: 'hall motion' }, ['Door']],
  ['by text with a typing mistake', { text: 'wnidow' }, ['Window']],
  ['by the id on their label', { text: 'id door' }, ['Door']],
  ['of a zone with a mark', { zone: 'zone-Hall', marks: ['offline'] }, []],
] as const) {
  test(`the list shows devices ${what}`, () => assert.deepEqual(names(choice), expected));
}

test('the address keeps the whole choice, and a usual choice needs none', () => {
  const choice: ListChoice = {
    text: 'hall lamp',
    marks: ['offline', 'firmware'],
    zone: 'none',
    type: 'light',
    sort: 'seen',
    descending: true,
  };
  assert.deepEqual(readChoice(writeChoice(choice)), choice);
  assert.equal(writeChoice(plain).toString(), '');
  assert.deepEqual(readChoice(new URLSearchParams('only=x,offline&sort=x&order=up')), { ...plain, marks: ['offline'] });
});

test('each mark is counted', () => {
  assert.deepEqual(countMarks(all), { offline: 1, battery: 1, faulty: 1, firmware: 1 });
});
