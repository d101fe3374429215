import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type, type TSchema } from 'typebox';
import { checkRequest, NoBody, NoQuery, RequestInvalidError } from './validation.ts';
import { createValidatorCompiler } from './validator-compiler.ts';

const compile = createValidatorCompiler({ findUnstorable: (value) => (value === '\0' ? '/here' : null) });

function faultsOf(schema: TSchema, value: unknown, httpPart = 'body'): string[] {
  const outcome = compile({ schema, httpPart })(value);
  return 'error' in outcome ? describeFaults(outcome.error) : [];
}

function faultsWithoutCompiling(schema: TSchema, value: unknown): string[] {
  try {
    assert.equal(checkRequest('body', schema, value), value);
    return [];
  } catch (error) {
    return describeFaults(error);
  }
}

function describeFaults(error: unknown): string[] {
  assert.ok(error instanceof RequestInvalidError);
  return error.faults.map(({ in: part, pointer, message }) => `${part} ${pointer} ${message}`);
}

const Named = Type.Object(
  { name: Type.String({ minLength: 1 }), 'a/b': Type.Optional(Type.Integer()) },
  { additionalProperties: false },
);

describe('a request', () => {
  const rows: [string, TSchema, unknown, string[]][] = [
    ['that fits', Named, { name: 'x', 'a/b': 1 }, []],
    ['without a required key', Named, {}, ['body /name is required']],
    ['with an unknown key', Named, { name: 'x', more: 1 }, ['body /more is not a known key']],
    ['with a wrong type deep inside', Named, { name: 'x', 'a/b': 'y' }, ['body /a~1b must be a whole number']],
    ['that is no object', Named, null, ['body  must be an object']],
    ['without a body', NoBody, null, []],
    ['with a body that the route does not take', NoBody, { a: 1 }, ['body /a is not a known key']],
    ['with a query that the route does not take', NoQuery, { a: '1' }, ['body /a is not a known key']],
  ];
  for (const [title, schema, value, faults] of rows) {
    it(title, () => assert.deepEqual(faultsOf(schema, value), faults));
    it(`${title}, not compiled`, () => assert.deepEqual(faultsWithoutCompiling(schema, value), faults));
  }

  it('with text that cannot be stored', () => {
    assert.deepEqual(faultsOf(Type.String(), '\0'), [
      'body /here has an invalid character, or a number that is too large',
    ]);
  });

  it('gets values of its URL converted, but not those of its body', () => {
    const schema = Type.Object({ count: Type.Integer() });
    assert.deepEqual(compile({ schema, httpPart: 'querystring' })({ count: '5' }), { value: { count: 5 } });
    assert.deepEqual(faultsOf(schema, { count: '5' }), ['body /count must be a whole number']);
    for (const count of ['x', '', ' 5', '5 ', '1.5', '0x10', '1e2', '1e400', '+5', '9007199254740993', ['5', '6']]) {
      assert.deepEqual(faultsOf(schema, { count }, 'querystring'), ['querystring /count must be a whole number']);
    }
  });

  it('gets its UUIDs in lower case, and no other text', () => {
    const capitals = '0190A4C8-0F5B-7C1E-8D2A-ABCDEF012345';
    const small = capitals.toLowerCase();
    const Id = Type.String({ format: 'uuid' });
    const schema = Type.Object(
      { id: Id, zone: Type.Union([Id, Type.Null()]), ids: Type.Array(Id, { uniqueItems: true }), token: Type.String() },
      { additionalProperties: false },
    );
    const given = { id: capitals, zone: capitals, ids: [capitals], token: capitals };
    const value = { id: small, zone: small, ids: [small], token: capitals };
    for (const httpPart of ['params', 'body']) assert.deepEqual(compile({ schema, httpPart })(given), { value });
    const { id, zone, token } = given;
    assert.deepEqual(faultsOf(schema, { id, zone, token, ids: [capitals, small] }), [
      'body /ids must not have the same entry twice',
    ]);
    assert.deepEqual(faultsOf(Id, `${small}0`), ['body  must be an id (a UUID)']);
  });

  it('is told in words, without a regular expression', () => {
    const timeOfDay = { pattern: '^\\d\\d:\\d\\d$', expected: 'a time of day, such as 07:30' };
    const schema = Type.Object({
      at: Type.Union([Type.String(timeOfDay), Type.Null()]),
      kind: Type.Enum(['one', 'two']),
      type: Type.Literal('device'),
      name: Type.String({ minLength: 1 }),
      port: Type.Integer({ minimum: 1, maximum: 65_535 }),
      share: Type.Number({ maximum: 1 }),
      names: Type.Array(Type.String(), { minItems: 1 }),
      'a/b': Type.String(timeOfDay),
      else: Type.String({ pattern: '^x$' }),
      isOn: Type.Boolean(),
    });
    const value = {
      at: '7:30',
      kind: 'three',
      type: 'gateway',
      name: '',
      port: 0,
      share: 1.5,
      names: [],
      'a/b': 'noon',
      else: 'y',
      isOn: 'true',
    };
    const told = [
      'body /at must be a time of day, such as 07:30 or must be null',
      'body /kind must be one of "one", "two"',
      'body /type must be "device"',
      'body /name must not be empty',
      'body /port must be at least 1',
      'body /share must be at most 1',
      'body /names must not be empty',
      'body /a~1b must be a time of day, such as 07:30',
    ];
    const rest = ['body /else must be written in the form of this field', 'body /isOn must be true or false'];
    assert.deepEqual(faultsOf(schema, value), [...told, ...rest]);
  });

  it('reports a limited number of faults', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key${index}`, 1]));
    assert.ok(faultsOf(NoQuery, many).length <= 64);
    assert.ok(faultsWithoutCompiling(NoQuery, many).length <= 64);
  });
});
