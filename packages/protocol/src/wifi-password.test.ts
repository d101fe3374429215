import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isSsidTooLong,
  likelySecurity,
  type Security,
  type WifiPasswordProblem,
  wifiPasswordProblem,
  wifiPasswordProblemAmong,
} from './wifi-password.ts';

type Row = [what: string, password: string, wpa2: WifiPasswordProblem | null, wpa3: WifiPasswordProblem | null];

const rows: readonly Row[] = [
  ['none', '', 'password_missing', 'password_missing'],
  ['one character', 'x', 'password_length', null],
  ['five', 'salt5', 'password_length', null],
  ['seven', '1234567', 'password_length', null],
  ['eight', '12345678', null, null],
  ['63', '~'.repeat(63), null, null],
  ['64 that are no key', 'g'.repeat(64), 'password_length', null],
  ['64 with an umlaut', `ä${'a'.repeat(63)}`, 'password_length', null],
  ['a key', 'aB0'.repeat(21) + 'f', null, null],
  ['65 hexadecimal digits', 'a'.repeat(65), 'password_length', null],
  ['100', 'a'.repeat(100), 'password_length', null],
  ['128', 'a'.repeat(128), 'password_length', null],
  ['129', 'a'.repeat(129), 'password_length', 'password_too_long'],
  ['seven characters of eight bytes', 'pässwrt', null, null],
  ['four umlauts', 'äöüß', null, null],
  ['32 umlauts', 'ä'.repeat(32), 'password_length', null],
  ['65 umlauts', 'ä'.repeat(65), 'password_length', 'password_too_long'],
  ['two emoji', '🔑🔑', null, null],
  ['blanks alone', ' '.repeat(8), null, null],
  ['quotes and backslashes', `"'\\$(id);#`, null, null],
  ['a tab', '1234567\t', 'password_characters', null],
  ['a line', '12345678\n', 'password_characters', null],
  ['what ends a text early', '12345678\0', 'password_characters', 'password_characters'],
];

describe('a password of Wi-Fi', () => {
  for (const [what, password, wpa2, wpa3] of rows) {
    test(`of ${what}`, () => {
      const ask = (security: Security | null) => wifiPasswordProblem(security, password, { mayBeOpen: false });
      assert.equal(ask('wpa2'), wpa2);
      assert.equal(ask('wpa2-wpa3'), wpa2);
      assert.equal(ask('wpa3'), wpa3);
      assert.equal(ask(null), wpa3, 'where the security is not known, only what no network takes is wrong');
      for (const free of ['open', 'owe'] as const) assert.equal(ask(free), null);
      for (const unusable of ['wep', 'enterprise'] as const) assert.equal(ask(unusable), unusable);
    });
  }

  test('may be missing where the network may be an open one', () => {
    assert.equal(wifiPasswordProblem(null, '', { mayBeOpen: true }), null);
    assert.equal(wifiPasswordProblem('wpa3', '', { mayBeOpen: true }), 'password_missing');
  });

  test('fits one of the networks of that name', () => {
    const among = (seen: readonly Security[], password: string) =>
      wifiPasswordProblemAmong(seen, password, { mayBeOpen: false });
    assert.equal(among(['wpa2'], 'salt5'), 'password_length');
    assert.equal(among(['wpa2', 'wpa3'], 'salt5'), null);
    assert.equal(among(['open', 'wpa2'], 'salt5'), 'password_length');
    assert.equal(among(['open'], 'salt5'), null);
    assert.equal(among([], 'salt5'), null);
    assert.equal(among(['enterprise'], 'salt5'), 'enterprise');
  });

  test('says which security to try', () => {
    assert.equal(likelySecurity(null), 'open');
    assert.equal(likelySecurity('12345678'), 'wpa2-wpa3');
    assert.equal(likelySecurity('salt5'), 'wpa3');
    assert.equal(likelySecurity('a'.repeat(100)), 'wpa3');
  });
});

test('the name of a network has 32 bytes at most', () => {
  assert.deepEqual([isSsidTooLong('x'.repeat(32)), isSsidTooLong('ї'.repeat(17))], [false, true]);
});
