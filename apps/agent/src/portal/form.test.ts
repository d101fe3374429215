import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readForm } from './form.ts';

const read = (body: string | Uint8Array) => {
  const form = readForm(typeof body === 'string' ? new TextEncoder().encode(body) : body);
  return form && Object.fromEntries(form);
};

const cases: [string, string | Uint8Array, Record<string, string> | null][] = [
  ['fields', 'ssid=486f6d65&password=a+b%2Bc%26d%3De', { ssid: '486f6d65', password: 'a b+c&d=e' }],
  ['texts of other alphabets', 'name=%D0%94%D1%96%D0%BC', { name: 'Дім' }],
  ['texts that were not escaped', 'name=Дім', { name: 'Дім' }],
  ['a value with equals signs', 'password=a=b=', { password: 'a=b=' }],
  ['a mark at the beginning, which is part of the text', 'password=%EF%BB%BFx', { password: '\ufeffx' }],
  ['the last of a name', 'a=1&a=2', { a: '2' }],
  ['empty values', 'a=&=b', { a: '', '': 'b' }],
  ['nothing', '', {}],
  ['a field without a value is none', 'a&b=1', { b: '1' }],
  ['a broken escape', 'password=100%', null],
  ['escaped bytes that are no text', 'password=%FF%FE', null],
  ['bytes that are no text', new Uint8Array([0x61, 0x3d, 0xff]), null],
];

for (const [name, body, expected] of cases) {
  test(`reads ${name}`, () => assert.deepEqual(read(body), expected));
}
