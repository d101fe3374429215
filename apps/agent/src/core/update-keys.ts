import { join } from 'node:path';
import { Type } from 'typebox';
import { removeDurable, type Disk } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import { formatKeyId, parseSigningKey, type SigningKey } from '@station/protocol/signing-key';
import { damagedAfterTries } from './damaged-after-tries.ts';
import { learnNext, stillLearned } from './update-keys-decide.ts';

/** The keys that may sign manifests: those of UPDATE_PUBLIC_KEY, and those that signed release manifests have named. */
export type UpdateKeys = {
  /** @throws the file system's error while the learned keys cannot be read. */
  trusted(): Promise<readonly SigningKey[]>;
  /**
   * Trusts the next key of a release manifest from now on. The signature must verify, and the manifest must not be older than the
   * highest version seen. Resolved means on disk. @throws the file system's error; the key is then not trusted.
   */
  learn(manifest: { version: string; nextPublicKey: string }, signer: SigningKey): Promise<void>;
};

export type UpdateKeysParts = {
  configured: readonly SigningKey[];
  disk: Disk;
  dataDir: string;
  logger: AgentLogger;
};

export const learnedKeysFile = 'update-keys.json';
const StoredKeys = Type.Object({ configured: Type.Array(Type.String()), learned: Type.Array(Type.String()) });

const openFile = (disk: Disk, path: string) => createJsonFile({ disk, path, schema: StoredKeys, checksumKey: 'keys' });

/** The learned keys on disk that still count; changes nothing. @throws the file system's error. */
export async function readLearnedKeys({
  configured,
  disk,
  dataDir,
}: Omit<UpdateKeysParts, 'logger'>): Promise<SigningKey[]> {
  const reading = await openFile(disk, join(dataDir, learnedKeysFile)).read();
  const stored = reading.kind === 'ok' ? reading.value : null;
  const texts = configured.map(({ text }) => text);
  return stillLearned(stored, texts).flatMap((text) => parseSigningKey(text) ?? []);
}

export function createUpdateKeys({ configured, disk, dataDir, logger }: UpdateKeysParts): UpdateKeys {
  const path = join(dataDir, learnedKeysFile);
  const file = openFile(disk, path);
  const configuredTexts = configured.map(({ text }) => text);
  // Releases and firmware are checked at the same time.
  const runner = createExclusiveRunner();
  let learned: readonly string[] | null = null;
  const read = damagedAfterTries(file.read);

  const load = async (): Promise<readonly string[]> => {
    if (learned !== null) return learned;
    const reading = await read();
    if (reading.kind === 'damaged') logger.event('state_repaired', { file: learnedKeysFile, reason: reading.reason });
    const stored = reading.kind === 'ok' ? reading.value : null;
    const kept = stillLearned(stored, configuredTexts);
    // On disk too: the former UPDATE_PUBLIC_KEY must not bring them back.
    if (stored !== null && kept.length < stored.learned.length) await removeDurable(disk, path);
    learned = kept;
    return kept;
  };
  return {
    trusted: () =>
      runner.run(async () => [...configured, ...(await load()).flatMap((text) => parseSigningKey(text) ?? [])]),
    learn: ({ version, nextPublicKey }, signer) =>
      runner.run(async () => {
        const before = await load();
        const known = { configured: configuredTexts, learned: before };
        const after = learnNext(known, { signer: signer.text, next: nextPublicKey });
        if (after === null) return;
        await file.write({ configured: configuredTexts, learned: [...after] });
        learned = after;
        const key = before.includes(nextPublicKey) ? null : parseSigningKey(nextPublicKey);
        if (key) logger.event('update_key_learned', { keyId: formatKeyId(key.keyId), version });
      }),
  };
}
