import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUnstorable, mayBeUnstorable } from './storable-text.ts';

const cases: [story: string, json: string, pointer: string | null][] = [
  ['plain', '{"a":["b",1,null,true]}', null],
  ['a surrogate pair, written as escapes', '{"a":"\\ud83d\\ude00"}', null],
  ['a backslash before what looks like an escape', '"\\\\u0000"', null],
  ['U+0000', '"a\\u0000b"', ''],
  ['U+0000 inside', '{"a":[1,{"b/c":"\\u0000"}]}', '/a/1/b~1c'],
  ['U+0000 in a key', '{"a":{"\\u0000":1}}', '/a'],
  ['a lone high surrogate', '["x","\\uD800"]', '/1'],
  ['a lone low surrogate', '["x","\\udfffx"]', '/1'],
  ['the largest and the smallest number', '[1.7976931348623157e308,5e-324,-0,1e-400]', null],
];

for (const [story, json, pointer] of cases) {
  test(`${pointer === null ? 'can be stored' : 'cannot be stored'}: ${story}`, () => {
    assert.equal(findUnstorable(JSON.parse(json)), pointer);
    if (pointer !== null) assert.ok(mayBeUnstorable(json));
  });
}

test('a number that is too large cannot be stored', () => {
  for (const json of ['1e400', '-1e400']) assert.equal(findUnstorable(JSON.parse(`{"a":[${json}]}`)), '/a/0');
});

test('a value of the greatest depth a message can have is searched', () => {
  const depth = 40_000;
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(depth)}"\\u0000"${'}'.repeat(depth)}`);
  assert.equal(findUnstorable(deep)?.length, 2 * depth);
});
