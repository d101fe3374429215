import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ManualProvisionings } from '@station/protocol/provisioning';
import { exampleList, type ListLine, loginsCsv, readList } from './device-list.ts';

const known = { devices: [{ externalId: 'here' }], zones: [{ name: 'Hall' }] };
const linesOf = (text: string): readonly ListLine[] => {
  const list = readList(text, known);
  assert.equal(list.kind, 'lines');
  return list.kind === 'lines' ? list.lines : [];
};

test('columns are found by name, in any order, with commas, semicolons or tabs', () => {
  for (const separator of [',', ';', '\t']) {
    const text = [
      ['\uFEFFZone', ' External_ID ', 'name', 'type'],
      ['hall', 'a1', '"Lamp, big; left"', 'light'],
    ];
    const [line] = linesOf(text.map((cells) => cells.join(separator)).join('\r\n'));
    assert.deepEqual(line, {
      line: 2,
      externalId: 'a1',
      type: 'light',
      name: 'Lamp, big; left',
      zone: 'hall',
      fault: null,
      isKnown: false,
      isNewZone: false,
    });
  }
});

test('each line says what is wrong with it, by its number in the file', () => {
  const lines = linesOf(
    ['external_id,type,name,zone', 'a1,light,,', '', 'a/2,light,,', 'a3,No,,', `a4,light,${'n'.repeat(101)},`]
      .concat(['a1,light,,', `a5,light,,${'z'.repeat(101)}`, 'SH_switch-pir_a6,,,Cellar', 'here,light,,'])
      .join('\n'),
  );
  assert.deepEqual(
    lines.map(({ line, fault }) => [line, fault]),
    [
      [2, null],
      [4, 'id'],
      [5, 'type'],
      [6, 'name'],
      [7, { twiceOn: 2 }],
      [8, 'zone'],
      [9, null],
      [10, null],
    ],
  );
  assert.deepEqual([lines[6]?.externalId, lines[6]?.type, lines[6]?.isNewZone], ['a6', 'switch-pir', true]);
  assert.deepEqual(
    lines.filter(({ isKnown }) => isKnown).map(({ externalId }) => externalId),
    ['here'],
  );
});

test('a file without the column, without devices, or with too many of them is not read', () => {
  assert.equal(readList('a1,light', known).kind, 'no_column');
  assert.equal(readList('', known).kind, 'no_column');
  assert.equal(readList('external_id,type\n\n , \n', known).kind, 'empty');
  const many = Array.from({ length: 201 }, (_, index) => `a${index},light`);
  assert.deepEqual(readList(['external_id,type', ...many].join('\n'), known), { kind: 'too_many', count: 201 });
});

test('the example is a good list', () => {
  for (const line of linesOf(exampleList)) assert.equal(line.fault, null);
});

test('the logins keep their tokens, no name becomes a formula, and the file is a list with the same devices', () => {
  const made = [
    {
      provisioning: { externalId: '=a1', deviceType: 'light', name: 'Lamp;=1+1' },
      login: { device_id: '=a1', device_token: '-t_1', station_id: 's', mqtt_host: 'station.local', mqtt_port: 1883 },
    },
  ] as ManualProvisionings;
  const csv = loginsCsv(made, linesOf('external_id,type,zone\n=a1,light,@home'));
  assert.equal(
    csv,
    'external_id,type,name,zone,device_id,station_id,mqtt_host,mqtt_port,device_token\n' +
      `'=a1,light,"Lamp;'=1+1",'@home,'=a1,s,station.local,1883,-t_1`,
  );
  const [line] = linesOf(csv);
  assert.deepEqual([line?.externalId, line?.name, line?.zone], ['=a1', 'Lamp;=1+1', '@home']);
});
