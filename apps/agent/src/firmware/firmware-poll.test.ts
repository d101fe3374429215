import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import { parseSigningKey } from '@station/protocol/signing-key';
import { createReleaseSigner } from '@station/simulators/releases/release-signer';
import { createUpdateKeys } from '../core/update-keys.ts';
import { createFirmwareSource } from './firmware-poll.ts';

const newSigner = () => createReleaseSigner(generateKeyPairSync('ed25519').privateKey);

test('a firmware manifest may be signed with a learned key, and names no key itself', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'firmware-keys-'));
  const first = newSigner();
  const second = newSigner();
  const third = newSigner();
  const key = parseSigningKey(first.publicKey);
  assert.ok(key);
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  const keys = createUpdateKeys({ configured: [key], disk: nodeDisk, dataDir: folder.path, logger });
  const manifest = Buffer.from(JSON.stringify({ types: [], nextPublicKey: third.publicKey }));
  let signer = second;
  const source = createFirmwareSource({
    url: new URL('https://releases.test/firmware/manifest.json'),
    keys,
    maxBytes: 2 ** 20,
    fetchFile: async ({ pathname, href }) => {
      const bytes = pathname.endsWith('.minisig') ? Buffer.from(signer.sign(manifest)) : manifest;
      return { kind: 'ok', bytes, etag: null, url: href };
    },
  });
  const check = async (): Promise<string> => (await source.check(new AbortController().signal)).kind;
  assert.equal(await check(), 'rejected');
  await keys.learn({ version: '2.0.0', nextPublicKey: second.publicKey }, key);
  assert.equal(await check(), 'ok');
  signer = third;
  assert.equal(await check(), 'rejected');
});
