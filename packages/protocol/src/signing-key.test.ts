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

test('shows an id with leading zeros as minisign does, without them', () => {
  assert.equal(formatKeyId(Uint8Array.of(0x1f, 0xe8, 0xb4, 0x42, 0x18, 0x0f, 0x02, 0x00)), '20F1842B4E81F');
  assert.equal(formatKeyId(new Uint8Array(8)), '0');
});
