import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { parseAs, parseJson, parseObject } from './json.ts';

test('a text that is no JSON is undefined, and null is null', () => {
  assert.deepEqual(parseJson('{"a":[1]}'), { a: [1] });
  assert.equal(parseJson('null'), null);
  for (const text of ['', '{', 'undefined', "{'a':1}", '\u0000']) assert.equal(parseJson(text), undefined);
});

test('a value of another form is null', () => {
  const Form = Type.Object({ a: Type.Number() });
  assert.deepEqual(parseAs(Form, '{"a":1,"b":2}'), { a: 1, b: 2 });
  for (const text of [null, '', '{', 'null', '{"a":"1"}', '[]']) assert.equal(parseAs(Form, text), null);
});

test('what is no object is null', () => {
  assert.deepEqual(parseObject('{"a":1}'), { a: 1 });
  for (const text of ['', 'null', '1', '"a"', 'true']) assert.equal(parseObject(text), null);
});
