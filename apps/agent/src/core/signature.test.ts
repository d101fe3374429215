import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { verifyMinisign } from './signature.ts';

// Signature files are made here as the format says; the program itself signs in `npm run e2e -- update`.
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key = {
  keyId: randomBytes(8),
  publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
};
const content = new TextEncoder().encode('{"version":"1.0.0"}');

function signatureFile(algorithm: 'Ed' | 'ED', by: KeyObject = privateKey, keyId: Uint8Array = key.keyId): string {
  const message = algorithm === 'ED' ? createHash('blake2b512').update(content).digest() : content;
  const signature = sign(null, message, by);
  const comment = 'timestamp:1';
  const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), by);
  const line = Buffer.concat([Buffer.from(algorithm), keyId, signature]).toString('base64');
  return `untrusted comment: x\n${line}\ntrusted comment: ${comment}\n${global.toString('base64')}\n`;
}

test('accepts both forms of signature over exactly these bytes', () => {
  for (const algorithm of ['Ed', 'ED'] as const) {
    assert.ok(verifyMinisign(content, signatureFile(algorithm), key), algorithm);
    assert.ok(!verifyMinisign(new TextEncoder().encode('{"version":"1.0.1"}'), signatureFile(algorithm), key));
  }
});

test('refuses another key, another key id, a changed comment and anything that is no signature file', () => {
  const good = signatureFile('ED');
  const other = generateKeyPairSync('ed25519').privateKey;
  assert.ok(!verifyMinisign(content, signatureFile('ED', other), key));
  assert.ok(!verifyMinisign(content, signatureFile('ED', privateKey, randomBytes(8)), key));
  assert.ok(!verifyMinisign(content, good.replace('timestamp:1', 'timestamp:2'), key));
  for (const text of [
    '',
    'untrusted comment: x',
    good.split('\n').slice(0, 2).join('\n'),
    good.replace('trusted comment: ', ''),
  ]) {
    assert.ok(!verifyMinisign(content, text, key), JSON.stringify(text.slice(0, 30)));
  }
});

test('refuses a signature with any single bit changed', () => {
  const lines = signatureFile('ED').split('\n');
  const bytes = Buffer.from(lines[1] as string, 'base64');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    const file = [lines[0], changed.toString('base64'), ...lines.slice(2)].join('\n');
    assert.ok(!verifyMinisign(content, file, key), `bit ${bit}`);
  }
});
