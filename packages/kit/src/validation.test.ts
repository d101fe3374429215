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
    ['with a wrong type deep inside', Named, { name: 'x', 'a/b': 'y' }, ['body /a~1b must be integer']],
    ['that is no object', Named, null, ['body  must be object']],
    ['without a body', NoBody, null, []],
    ['with a body that the route does not take', NoBody, { a: 1 }, ['body /a is not a known key']],
    ['with a query that the route does not take', NoQuery, { a: '1' }, ['body /a is not a known key']],
  ];
  for (const [title, schema, value, faults] of rows) {
    it(title, () => assert.deepEqual(faultsOf(schema, value), faults));
    it(`${title}, not compiled`, () => assert.deepEqual(faultsWithoutCompiling(schema, value), faults));
  }

  it('with text that cannot be stored', () => {
    assert.deepEqual(faultsOf(Type.String(), '\0'), ['body /here contains an invalid character']);
  });

  it('gets values of its URL converted, but not those of its body', () => {
    const schema = Type.Object({ count: Type.Integer() });
    assert.deepEqual(compile({ schema, httpPart: 'querystring' })({ count: '5' }), { value: { count: 5 } });
    assert.deepEqual(faultsOf(schema, { count: '5' }), ['body /count must be integer']);
    assert.deepEqual(faultsOf(schema, { count: 'x' }, 'querystring'), ['querystring /count must be integer']);
  });

  it('reports a limited number of faults', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key${index}`, 1]));
    assert.ok(faultsOf(NoQuery, many).length <= 64);
    assert.ok(faultsWithoutCompiling(NoQuery, many).length <= 64);
  });
});
