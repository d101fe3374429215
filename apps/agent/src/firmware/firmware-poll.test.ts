import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createAgentConditions } from '@station/kit/conditions';
import { nodeDisk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import { parseSigningKey } from '@station/protocol/signing-key';
import { createReleaseSigner } from '@station/simulators/releases/release-signer';
import { createUpdateKeys } from '../core/update-keys.ts';
import { createFirmwarePoll, createFirmwareSource } from './firmware-poll.ts';

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

test('a firmware manifest whose signature is older is not believed, and asked for again soon', async () => {
  const signer = newSigner();
  const key = parseSigningKey(signer.publicKey);
  assert.ok(key);
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  const manifest = Buffer.from('{ "types": [] }');
  let signed = Buffer.from('{}');
  const source = createFirmwareSource({
    url: new URL('https://releases.test/firmware/manifest.json'),
    keys: { trusted: async () => [key], learn: () => Promise.reject(new Error('it names no key')) },
    maxBytes: 2 ** 20,
    fetchFile: async ({ pathname, href }) => {
      const bytes = pathname.endsWith('.minisig') ? Buffer.from(signer.sign(signed)) : manifest;
      return { kind: 'ok', bytes, etag: null, url: href };
    },
  });
  const poll = createFirmwarePoll({
    source,
    conditions: createAgentConditions(systemClock, logger),
    clock: systemClock,
    logger,
    checkIntervalMs: 3600_000,
    isUsualAddress: true,
    random: () => 0.5,
  });
  const check = async (): Promise<string> => (await poll.check(new AbortController().signal)).kind;
  const pauseMs = (): number => poll.dueMs() - systemClock.monotonic();
  assert.equal(await check(), 'rejected');
  assert.ok(pauseMs() <= 15_000);
  // What stays wrong is asked for ever less.
  for (let checks = 0; checks < 8; checks += 1) assert.equal(await check(), 'rejected');
  assert.ok(pauseMs() > 3500_000);
  signed = manifest;
  assert.equal(await check(), 'ok');
  assert.equal(poll.lastError(), null);
  assert.ok(pauseMs() > 3200_000);
});
