import assert from 'node:assert/strict';
import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk, type Disk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { type AgentEvent, events as catalogue } from '@station/protocol/events';
import { formatKeyId, parseSigningKey, type SigningKey } from '@station/protocol/signing-key';
import { createReleaseSigner } from '@station/simulators/releases/release-signer';
import { createUpdateKeys, readLearnedKeys } from './update-keys.ts';

function newKey(): SigningKey {
  const key = parseSigningKey(createReleaseSigner(generateKeyPairSync('ed25519').privateKey).publicKey);
  assert.ok(key);
  return key;
}

const a = newKey();
const b = newKey();
const c = newKey();
const naming = (key: SigningKey) => ({ version: '2.0.0', nextPublicKey: key.text });

/** Keys of a station with its state in `dataDir`, and the events that they log. */
function station(dataDir: string, configured: readonly SigningKey[], disk: Disk = nodeDisk) {
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  logger.subscribe((event) => void events.push(event));
  const keys = createUpdateKeys({ configured, disk, dataDir, logger });
  const trusted = async (): Promise<string[]> => (await keys.trusted()).map(({ text }) => text);
  return { keys, trusted, events };
}

const openFolder = () => mkdtempDisposable(join(tmpdir(), 'update-keys-'));

describe('the keys that may sign', () => {
  it('are the configured and the learned ones, also after a restart', async () => {
    await using folder = await openFolder();
    const { keys, trusted, events } = station(folder.path, [a]);
    assert.deepEqual(await trusted(), [a.text]);
    await keys.learn(naming(b), a);
    await keys.learn(naming(b), a);
    await keys.learn(naming(c), b);
    assert.deepEqual(await trusted(), [a.text, b.text, c.text]);
    const learned = events.map((event) => (event.event === 'update_key_learned' ? event.keyId : event.event));
    assert.deepEqual(learned, [formatKeyId(b.keyId), formatKeyId(c.keyId)]);
    assert.deepEqual(await station(folder.path, [a]).trusted(), [a.text, b.text, c.text]);
    assert.deepEqual(await readdir(folder.path), ['update-keys.json']);
  });

  it('are read by others too, who change nothing', async () => {
    await using folder = await openFolder();
    const read = async (configured: SigningKey[]) =>
      (await readLearnedKeys({ configured, disk: nodeDisk, dataDir: folder.path })).map(({ text }) => text);
    assert.deepEqual(await read([a]), []);
    await station(folder.path, [a]).keys.learn(naming(b), a);
    assert.deepEqual(await read([c]), []);
    assert.deepEqual(await read([a]), [b.text]);
  });

  it('lose the learned ones when UPDATE_PUBLIC_KEY changes, also when it changes back', async () => {
    await using folder = await openFolder();
    await station(folder.path, [a]).keys.learn(naming(b), a);
    assert.deepEqual(await station(folder.path, [c]).trusted(), [c.text]);
    assert.deepEqual(await station(folder.path, [a]).trusted(), [a.text]);
  });

  it('are the configured ones alone when the file is damaged, which is reported', async () => {
    await using folder = await openFolder();
    await station(folder.path, [a]).keys.learn(naming(b), a);
    const forged = { sha256: '0'.repeat(64), keys: { configured: [a.text], learned: [c.text] } };
    await writeFile(join(folder.path, 'update-keys.json'), JSON.stringify(forged));
    const { keys, trusted, events } = station(folder.path, [a]);
    assert.deepEqual(await trusted(), [a.text]);
    assert.deepEqual(
      events.map(({ event }) => event),
      ['state_repaired'],
    );
    await keys.learn(naming(b), a);
    assert.deepEqual(await station(folder.path, [a]).trusted(), [a.text, b.text]);
  });

  it('are not guessed while the disk fails, until it has failed several times', async () => {
    await using folder = await openFolder();
    await station(folder.path, [a]).keys.learn(naming(b), a);
    let failures = 2;
    const read: Disk['read'] = (path) => {
      failures -= 1;
      return failures < 0 ? nodeDisk.read(path) : Promise.reject(new Error('EIO'));
    };
    const { trusted } = station(folder.path, [a], { ...nodeDisk, read });
    await assert.rejects(trusted(), /EIO/);
    await assert.rejects(trusted(), /EIO/);
    assert.deepEqual(await trusted(), [a.text, b.text]);
    const broken = station(folder.path, [a], { ...nodeDisk, read: () => Promise.reject(new Error('EIO')) });
    for (let tries = 0; tries < 3; tries += 1) await assert.rejects(broken.trusted(), /EIO/);
    assert.deepEqual(await broken.trusted(), [a.text]);
  });

  it('do not include a key that could not be stored', async () => {
    await using folder = await openFolder();
    const rename: Disk['rename'] = () => Promise.reject(new Error('ENOSPC'));
    const { keys, trusted, events } = station(folder.path, [a], { ...nodeDisk, rename });
    await assert.rejects(keys.learn(naming(b), a), /ENOSPC/);
    assert.deepEqual(await trusted(), [a.text]);
    assert.deepEqual(events, []);
  });
});
