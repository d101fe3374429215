import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ssidFromText } from '../core/wifi-network.ts';
import { readForm, readJoinForm } from './join-form.ts';
import { network } from '../../testing/running-portal.ts';

const networks = [
  network('Home', 'wpa2', 80),
  network('New', 'wpa3', 70),
  network('Both', 'wpa2-wpa3', 60),
  network('Free', 'open', 50),
  network('Veiled', 'owe', 45),
  network('Twin', 'open', 44),
  network('Twin', 'wpa2', 43),
  network('Office', 'enterprise', 40),
  network('Old', 'wep', 30),
];
const hex = ssidFromText;
const read = (fields: Record<string, string>) => readJoinForm(new Map(Object.entries(fields)), networks);

const accepted: [string, Record<string, string>, object][] = [
  [
    'a network of the list',
    { ssid: hex('Home'), password: '12345678' },
    { ssid: hex('Home'), security: 'wpa2', password: '12345678', isHidden: false },
  ],
  [
    'the longest passphrase',
    { ssid: hex('Home'), password: '~'.repeat(63) },
    { security: 'wpa2', password: '~'.repeat(63) },
  ],
  ['a passphrase with other letters', { ssid: hex('Home'), password: 'пароль123' }, { password: 'пароль123' }],
  ['a key instead of a passphrase', { ssid: hex('Home'), password: 'aB'.repeat(32) }, { password: 'aB'.repeat(32) }],
  ['spaces as they are', { ssid: hex('Home'), password: '  12345678 ' }, { password: '  12345678 ' }],
  ['a short password of WPA3', { ssid: hex('New'), password: 'ї' }, { security: 'wpa3', password: 'ї' }],
  ['the longest password of WPA3', { ssid: hex('New'), password: 'ї'.repeat(64) }, { password: 'ї'.repeat(64) }],
  ['WPA2 and WPA3', { ssid: hex('Both'), password: '12345678' }, { security: 'wpa2-wpa3' }],
  ['an open network', { ssid: hex('Free') }, { security: 'open', password: null }],
  [
    'an open network, with a password that somebody left there',
    { ssid: hex('Free'), password: 'left' },
    { password: null },
  ],
  [
    'an encrypted network without a password',
    { ssid: hex('Veiled'), password: '' },
    { security: 'owe', password: null },
  ],
  ['the open one of two with one name', { ssid: `${hex('Twin')}.open` }, { security: 'open', password: null }],
  ['the other of them', { ssid: `${hex('Twin')}.wpa2`, password: '12345678' }, { ssid: hex('Twin'), security: 'wpa2' }],
  [
    'one that is out of reach by now',
    { ssid: hex('Gone'), password: 'x' },
    { ssid: hex('Gone'), security: null, password: 'x', isHidden: false },
  ],
  ['one out of reach without a password', { ssid: hex('Gone') }, { security: null, password: null }],
  [
    'a typed name',
    { ssid: 'other', name: 'Дім ', password: '12345678' },
    { ssid: hex('Дім '), security: null, password: '12345678', isHidden: true },
  ],
  [
    'a typed name of 32 bytes',
    { ssid: 'other', name: 'ї'.repeat(16), security: 'open' },
    { ssid: 'd197'.repeat(16), security: 'open', password: null },
  ],
  [
    'a typed name of a network that is encrypted without a password',
    { ssid: 'other', name: 'a', security: 'owe' },
    { security: 'owe', password: null, isHidden: true },
  ],
  [
    'a typed name with its security',
    { ssid: 'other', name: 'a', security: 'wpa3', password: 'x' },
    { security: 'wpa3', isHidden: true },
  ],
];

for (const [name, fields, expected] of accepted) {
  test(`takes ${name}`, () => {
    const reading = read(fields);
    assert.equal(reading.kind, 'ok');
    assert.deepEqual(
      reading.kind === 'ok' && { ...reading.request, ...expected },
      reading.kind === 'ok' && reading.request,
    );
  });
}

const refused: [string, Record<string, string>, string][] = [
  ['nothing chosen', { password: '12345678' }, 'no_network'],
  ['a name that is no hex', { ssid: 'Home' }, 'no_network'],
  ['a name in capital hex', { ssid: '4A' }, 'no_network'],
  ['a name of 33 bytes', { ssid: '61'.repeat(33) }, 'no_network'],
  ['half a byte', { ssid: '616' }, 'no_network'],
  ['an empty name', { ssid: '' }, 'no_network'],
  ['no typed name', { ssid: 'other', password: '12345678' }, 'name_missing'],
  ['a typed name that is too long', { ssid: 'other', name: 'ї'.repeat(17) }, 'name_too_long'],
  ['a typed name without a password', { ssid: 'other', name: 'a' }, 'password_missing'],
  ['a missing password', { ssid: hex('Home'), password: '' }, 'password_missing'],
  ['a missing password of WPA3', { ssid: hex('New') }, 'password_missing'],
  ['a passphrase of 7', { ssid: hex('Home'), password: '1234567' }, 'password_length'],
  ['a passphrase of 64 that is no key', { ssid: hex('Home'), password: 'g'.repeat(64) }, 'password_length'],
  ['a typed name whose network has WPA2', { ssid: 'other', name: 'Home', password: 'seven77' }, 'password_length'],
  ['a passphrase of 64 bytes', { ssid: hex('Home'), password: 'ї'.repeat(32) }, 'password_length'],
  ['a passphrase with a control character', { ssid: hex('Both'), password: '1234567\t' }, 'password_characters'],
  ['a password that ends early', { ssid: hex('New'), password: 'a\0b' }, 'password_characters'],
  ['a password without end', { ssid: hex('New'), password: 'ї'.repeat(65) }, 'password_too_long'],
  ['a company network', { ssid: hex('Office'), password: 'x' }, 'enterprise'],
  ['a network of old', { ssid: hex('Old'), password: 'x' }, 'wep'],
];

for (const [name, fields, problem] of refused) {
  test(`says what is wrong with ${name}`, () => {
    const reading = read(fields);
    assert.equal(reading.kind === 'invalid' && reading.problem, problem);
  });
}

test('a network that was shown with a password is not taken for an open one of its name, which has come since', () => {
  const now = [network('Home', 'open', 90), network('Other', 'wpa2', 20)];
  const form = new Map([
    ['ssid', `${hex('Home')}.wpa2`],
    ['password', 'my own password'],
  ]);
  const reading = readJoinForm(form, now);
  assert.equal(reading.kind, 'ok');
  assert.deepEqual([reading.request.security, reading.request.password], ['wpa2', 'my own password']);
  // A router that was set to WPA3 meanwhile is the same one.
  const upgraded = readJoinForm(form, [network('Home', 'open', 90), network('Home', 'wpa3', 20)]);
  assert.equal(upgraded.kind === 'ok' && upgraded.request.security, 'wpa3');
});

test('an unknown security is not accepted from a form', () => {
  const reading = read({ ssid: `${hex('Home')}.magic`, password: '12345678' });
  assert.equal(reading.kind === 'ok' && reading.request.security, 'wpa2');
  const typed = read({ ssid: 'other', name: 'a', security: 'enterprise', password: 'x' });
  assert.equal(typed.kind === 'ok' && typed.request.security, null);
});

const readFields = (body: string | Uint8Array) => {
  const form = readForm(typeof body === 'string' ? new TextEncoder().encode(body) : body);
  return form && Object.fromEntries(form);
};

const bodies: [string, string | Uint8Array, Record<string, string> | null][] = [
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

for (const [name, body, expected] of bodies) {
  test(`reads ${name}`, () => assert.deepEqual(readFields(body), expected));
}
