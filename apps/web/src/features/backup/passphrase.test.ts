import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestPassphrase } from './passphrase.ts';

test('a suggested passphrase is long, in groups, and without letters that look alike', () => {
  const suggested = Array.from({ length: 50 }, () => suggestPassphrase((bytes) => crypto.getRandomValues(bytes)));
  for (const text of suggested) assert.match(text, /^([B-DF-HJ-NP-TV-XZ2-9]{4}-){5}[B-DF-HJ-NP-TV-XZ2-9]{4}$/);
  assert.equal(new Set(suggested).size, suggested.length);
});

test('bytes that would make some letters more likely are skipped', () => {
  const text = suggestPassphrase((bytes) => bytes.map((_, n) => (n % 2 === 0 ? 255 : 0)));
  assert.equal(text, Array.from({ length: 6 }, () => 'BBBB').join('-'));
});
