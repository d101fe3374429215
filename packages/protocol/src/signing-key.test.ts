import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatKeyId, parseSigningKey } from './signing-key.ts';

test('reads a key that minisign has made, and shows its id as minisign does', () => {
  // The key of the minisign releases themselves (jedisct1.github.io/minisign).
  const key = parseSigningKey('RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3');
  assert.ok(key);
  assert.deepEqual([key.keyId.length, key.publicKey.length], [8, 32]);
  assert.equal(formatKeyId(key.keyId), 'E7620F1842B4E81F');
});
