import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInDeviceTypes } from './builtin-device-types.ts';
import { readDeviceType } from './device-types.ts';
import { languages } from './languages.ts';

/** A description that uses every key. */
const blind = {
  type: 'blind',
  category: 'actuator',
  icon: 'blinds',
  names: { en: 'Blind', uk: 'Жалюзі' },
  capabilities: [
    { key: 'position', kind: 'number', unit: '%', min: 0, max: 100, step: 5, names: { en: 'Position' } },
    { key: 'mode', kind: 'enum', values: ['day', 'night'], valueNames: { day: { en: 'Day' } } },
    { key: 'isMoving', kind: 'boolean' },
    { key: 'note', kind: 'text' },
  ],
  commands: [
    {
      action: 'move',
      params: {
        type: 'object',
        properties: {
          position: { type: 'number', minimum: 0, maximum: 100 },
          mode: { type: 'string', enum: ['day', 'night'] },
          note: { type: 'string', maxLength: 20 },
          times: { type: 'integer' },
          isQuiet: { type: 'boolean' },
        },
        required: ['position'],
        additionalProperties: false,
      },
      confirmedBy: ['position'],
      repeatable: true,
      names: { en: 'Move' },
    },
    { action: 'close', sets: { position: 0 }, confirmedBy: ['position'], repeatable: true },
  ],
  events: [{ action: 'blocked', kind: 'device_event', names: { en: 'Blocked' } }],
  primary: { capability: 'position', command: 'close' },
  handshakeTypes: ['shutter'],
};

type Change = (description: typeof blind & Record<string, unknown>) => unknown;
const changed = (change: Change): unknown => {
  const copy = structuredClone(blind);
  return change(copy) ?? copy;
};

function faultsOf(value: unknown): string[] {
  const read = readDeviceType(value);
  assert.equal(read.kind, 'invalid', JSON.stringify(value)?.slice(0, 200));
  return read.kind === 'invalid' ? read.faults : [];
}

test('a full description is taken as it is', () => {
  assert.deepEqual(readDeviceType(blind), { kind: 'ok', deviceType: blind });
});

test('category, commands and events may be left out', () => {
  const capabilities = [{ key: 'level', kind: 'number' }];
  const read = readDeviceType({ type: 'tank', capabilities });
  assert.deepEqual(read, {
    kind: 'ok',
    deviceType: { type: 'tank', category: 'sensor', capabilities, commands: [], events: [] },
  });
  const commands = [{ action: 'empty', confirmedBy: [], repeatable: false }];
  const actuator = readDeviceType({ type: 'tank', capabilities, commands });
  assert.ok(actuator.kind === 'ok' && actuator.deviceType.category === 'actuator');
});

test('the built-in types have unique names and texts in every language', () => {
  const names = builtInDeviceTypes.map(({ type }) => type);
  assert.equal(new Set(names).size, names.length);
  for (const { type, names: own, capabilities, commands, events } of builtInDeviceTypes) {
    for (const one of [{ names: own }, ...capabilities, ...commands, ...events]) {
      assert.deepEqual(Object.keys(one.names ?? {}).sort(), [...languages].sort(), `${type}: ${JSON.stringify(one)}`);
    }
  }
});

const faults: [what: string, value: unknown, expected: RegExp][] = [
  ['nothing', undefined, /./],
  ['null', null, /./],
  ['a list', [blind], /./],
  ['a text', 'blind', /./],
  ['no type', changed(({ type: _type, ...rest }) => rest), /type/],
  ['a type that is a path', changed((one) => ({ ...one, type: '../blind' })), /^\/type /],
  ['a type in capitals', changed((one) => ({ ...one, type: 'Blind' })), /^\/type /],
  ['a type of 65 characters', changed((one) => ({ ...one, type: 'x'.repeat(65) })), /^\/type /],
  ['no capabilities', changed(({ capabilities: _none, ...rest }) => rest), /capabilities/],
  ['an unknown key', changed((one) => ({ ...one, script: 'x' })), /./],
  ['an unknown kind', changed((one) => void (one.capabilities[0]!.kind = 'image')), /^\/capabilities\/0\/kind /],
  ['an empty key', changed((one) => void (one.capabilities[0]!.key = '')), /^\/capabilities\/0\/key /],
  ['a key with a line break', changed((one) => void (one.capabilities[0]!.key = 'a\nb')), /^\/capabilities\/0\/key /],
  ['a step of 0', changed((one) => void (one.capabilities[0]!.step = 0)), /^\/capabilities\/0\/step /],
  ['a key twice', changed((one) => void one.capabilities.push({ key: 'note', kind: 'text' })), /"note" twice/],
  ['an action twice', changed((one) => void (one.commands[1]!.action = 'move')), /^\/commands has "move" twice/],
  ['an event twice', changed((one) => void one.events.push(one.events[0]!)), /^\/events has "blocked" twice/],
  ['an enum without values', changed((one) => void (one.capabilities[3]!.kind = 'enum')), /an enum needs values/],
  ['values without an enum', changed((one) => void (one.capabilities[1]!.kind = 'text')), /only an enum has them/],
  ['min above max', changed((one) => void (one.capabilities[0]!.min = 101)), /min is not below max/],
  ['min and max alike', changed((one) => void (one.capabilities[0]!.min = 100)), /min is not below max/],
  [
    'a command of every device',
    changed((one) => void (one.commands[1]!.action = 'reboot')),
    /"reboot" is a command of every/,
  ],
  [
    'a confirmation by nothing',
    changed((one) => void (one.commands[1]!.confirmedBy = ['x'])),
    /^\/commands\/1 names .*"x"/,
  ],
  ['it sets nothing', changed((one) => void (one.commands[1]!.sets = { x: 1 } as never)), /^\/commands\/1 names .*"x"/],
  [
    'a required parameter that is not there',
    changed((one) => void one.commands[0]!.params!.required.push('x')),
    /requires the parameter "x"/,
  ],
  [
    'an inherited parameter',
    changed((one) => void one.commands[0]!.params!.required.push('toString')),
    /requires the parameter "toString"/,
  ],
  [
    'a primary capability that is not there',
    changed((one) => void (one.primary.capability = 'x')),
    /^\/primary names the capability "x"/,
  ],
  [
    'a primary command that is not there',
    changed((one) => void (one.primary.command = 'x')),
    /^\/primary names the command "x"/,
  ],
  ['a parameter with a pattern', withParameter({ type: 'string', pattern: '(a+)+$' }), /^\/commands\/0\/params/],
  ['a parameter that no value fits', withParameter({ type: 'number', minimum: 2, maximum: 1 }), /minimum is above/],
  [
    'an enum of no values',
    changed((one) => void one.capabilities.push({ key: 'gear', kind: 'enum', values: [] } as never)),
    /values must not be empty/,
  ],
  ['a step below 0', changed((one) => void (one.capabilities[0]!.step = -1)), /^\/capabilities\/0\/step /],
  ['a parameter with a reference', withParameter({ $ref: '#' }), /^\/commands\/0\/params/],
  ['no repeatable', changed((one) => ({ ...one, commands: [{ action: 'x', confirmedBy: [] }] })), /repeatable/],
  ['65 capabilities', manyCapabilities(65), /^\/capabilities /],
];

function withParameter(parameter: object): unknown {
  return changed((one) => void Object.assign(one.commands[0]!.params!.properties, { position: parameter }));
}

function manyCapabilities(count: number): unknown {
  return {
    type: 'many',
    capabilities: Array.from({ length: count }, (_, index) => ({ key: `k${index}`, kind: 'text' })),
  };
}

for (const [what, value, expected] of faults) {
  test(`refuses a description with: ${what}`, () => {
    const found = faultsOf(value);
    assert.ok(
      found.some((fault) => expected.test(fault)),
      found.join('; '),
    );
    assert.ok(found.length <= 10 || what.includes('twice'));
  });
}

test('every fault is named at once', () => {
  const found = faultsOf(
    changed((one) => {
      one.capabilities[0]!.min = 200;
      one.commands[1]!.confirmedBy = ['x'];
      one.primary.command = 'y';
    }),
  );
  assert.equal(found.length, 3, found.join('; '));
});

test('a value that is listed twice is one', () => {
  const values = ['low', 'high', 'low'];
  const params = { type: 'object', properties: { gear: { type: 'string', enum: values } } };
  const read = readDeviceType({
    type: 'fan',
    capabilities: [{ key: 'gear', kind: 'enum', values }],
    commands: [{ action: 'set', params, confirmedBy: ['gear'], repeatable: true }],
  });
  assert.ok(read.kind === 'ok');
  const { capabilities, commands } = read.deviceType;
  assert.deepEqual(capabilities[0]?.values, ['low', 'high']);
  assert.deepEqual(commands[0]?.params?.properties['gear']?.enum, ['low', 'high']);
});

test('64 capabilities are taken', () => assert.equal(readDeviceType(manyCapabilities(64)).kind, 'ok'));

const hostile = (more: object): unknown => ({ type: 'lamp', capabilities: [{ key: 'on', kind: 'boolean' }], ...more });

test('a name that every object has is no key and no action', () => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__']) {
    const capability = { key, kind: 'boolean' };
    const command = { action: 'set', confirmedBy: [], repeatable: true };
    const own = JSON.parse(`{ ${JSON.stringify(key)}: true }`) as object;
    for (const more of [
      { capabilities: [capability] },
      { commands: [{ ...command, action: key }] },
      { commands: [{ ...command, sets: own }] },
      { commands: [{ ...command, params: { type: 'object', properties: own } }] },
      { capabilities: [{ key: 'on', kind: 'boolean', valueNames: own }] },
      { events: [{ action: key, kind: 'user_event' }] },
    ])
      assert.match(faultsOf(hostile(more)).join(), new RegExp(`^"${key}" is no name`), JSON.stringify(more));
  }
});

test('numbers that no control can have, and names that turn the text around them, are refused', () => {
  for (const range of [{ min: -1e308 }, { max: 1e308 }, { step: 5e-324 }, { step: 0 }])
    assert.ok(faultsOf(hostile({ capabilities: [{ key: 'n', kind: 'number', ...range }] })).length > 0);
  for (const turned of ['a\u202eb', 'a\u2066b'])
    assert.ok(
      faultsOf(hostile({ names: { en: turned } })).length > 0 &&
        faultsOf(hostile({ capabilities: [{ key: turned, kind: 'text' }] })).length > 0,
    );
  assert.equal(readDeviceType(hostile({ names: { he: '\u05de\u05e0\u05d5\u05e8\u05d4', en: 'a\u200fb' } })).kind, 'ok');
});
