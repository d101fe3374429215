import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capability, DeviceType } from '@station/protocol/device-types';
import { readAsDeclared } from './declared-kinds-decide.ts';

const typeWith = (...capabilities: Capability[]): DeviceType => ({
  type: 'x',
  category: 'sensor',
  capabilities,
  commands: [],
  events: [],
});

const kinds: Record<Capability['kind'], DeviceType> = {
  number: typeWith({ key: 'v', kind: 'number' }),
  boolean: typeWith({ key: 'v', kind: 'boolean' }),
  text: typeWith({ key: 'v', kind: 'text' }),
  enum: typeWith({ key: 'v', kind: 'enum', values: ['heat', 'cool', '1', 'true', 'Eco', 'eco'] }),
};

/** What is shown when the value cannot be read: nothing. */
const lost = Symbol('left out');
const asSent = Symbol('kept as it is, and noted');

const table: Record<Capability['kind'], readonly (readonly [sent: unknown, kept: unknown])[]> = {
  number: [
    [21.5, 21.5],
    [0, 0],
    ['21.5', 21.5],
    ['  21.5\r\n', 21.5],
    ['\u00a021.50', 21.5],
    ['-0.5', -0.5],
    ['+7', 7],
    ['.5', 0.5],
    ['5.', 5],
    ['007', 7],
    ['2.15e+01', 21.5],
    ['1E-3', 0.001],
    ['12345678901234567890e2', 12345678901234567890e2],
    ['9007199254740991', 9007199254740991],
    ['27,5', 27.5],
    ['-27,25', -27.25],
    ['0,125', 0.125],
    ['1,2345', 1.2345],
    ['1,234', lost],
    ['1,234.5', lost],
    ['1.234,5', lost],
    ['1,2,3', lost],
    ['9007199254740993', lost],
    ['NaN', lost],
    ['nan', lost],
    ['-nan', lost],
    ['Infinity', lost],
    ['inf', lost],
    ['1e999', lost],
    ['', lost],
    [' ', lost],
    ['unavailable', lost],
    ['unknown', lost],
    ['None', lost],
    ['null', lost],
    ['0x1A', lost],
    ['0b1', lost],
    ['1_000', lost],
    ['21.5 °C', lost],
    ['--5', lost],
    ['1e', lost],
    ['.', lost],
    ['ON', lost],
    [`${'1'.repeat(60_000)}x`, lost],
    [true, lost],
    [[21.5], lost],
    [{ value: 21.5 }, lost],
    [null, null],
  ],
  boolean: [
    [true, true],
    [false, false],
    ['ON', true],
    ['OFF', false],
    [' On ', true],
    ['off', false],
    ['true', true],
    ['FALSE', false],
    ['yes', true],
    ['No', false],
    [1, true],
    [0, false],
    ['1', true],
    ['0', false],
    ['1.0', true],
    ['00', false],
    [2, lost],
    [-1, lost],
    ['2', lost],
    ['', lost],
    ['unavailable', lost],
    ['constructor', lost],
    ['toggle', lost],
    [[], lost],
    [{}, lost],
    [null, null],
  ],
  text: [
    ['21.5', '21.5'],
    ['', ''],
    [21.5, '21.5'],
    [true, 'true'],
    [{}, lost],
    [['a'], lost],
    [null, null],
  ],
  enum: [
    ['heat', 'heat'],
    ['HEAT', 'heat'],
    [' cool\n', 'cool'],
    [1, '1'],
    [true, 'true'],
    ['Eco', 'Eco'],
    ['ECO', asSent],
    ['boost', asSent],
    ['', asSent],
    [7, asSent],
    [['heat'], lost],
    [null, null],
  ],
};

for (const kind of ['number', 'boolean', 'text', 'enum'] as const) {
  test(`what counts where the type declares: ${kind}`, () => {
    for (const [sent, kept] of table[kind]) {
      const read = readAsDeclared({ v: sent, other: '21.5' }, kinds[kind]);
      const what = JSON.stringify(sent).slice(0, 60);
      const state = kept === lost ? { other: '21.5' } : { v: kept === asSent ? sent : kept, other: '21.5' };
      assert.deepEqual(read.state, state, what);
      assert.deepEqual([read.isWrong, read.isCut], [kept === lost || kept === asSent, kept === lost], what);
    }
  });
}

test('what is right stays the same object: most messages cost nothing', () => {
  const state = { v: 21.5, other: 'x' };
  assert.equal(readAsDeclared(state, kinds.number).state, state);
  assert.equal(readAsDeclared(state, undefined).state, state);
});

test('a key that every object has is no value of a state', () => {
  const type = typeWith({ key: 'constructor', kind: 'number' }, { key: 'v', kind: 'number' });
  assert.deepEqual(readAsDeclared({ v: '1' }, type), { state: { v: 1 }, isWrong: false, isCut: false });
});
