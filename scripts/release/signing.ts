// Signatures with minisign: one key signs manifests and checksums; stations trust it through UPDATE_PUBLIC_KEY.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { tmpdir } from 'node:os';
import { exists } from '@station/kit/durable-files';
import { run } from './program.ts';

export type Signer = {
  /** The line with the key itself, as UPDATE_PUBLIC_KEY takes it. */
  publicKey: string;
  /** Writes `FILE.minisig`. The same file, key and date give the same signature. */
  sign(file: string): Promise<void>;
};

/**
 * Opens a secret key of minisign.
 * @param password null for a key without one
 * @param date becomes part of the signed comment
 */
export async function openSigner(keyFile: string, password: string | null, date: Date): Promise<Signer> {
  const input = password === null ? {} : { input: `${password}\n` };
  const sign: Signer['sign'] = async (file) => {
    const comment = `timestamp:${Math.floor(date.getTime() / 1000)}\tfile:${basename(file)}`;
    const texts = ['-c', 'signature of Station', '-t', comment];
    await run('minisign', ['-S', '-s', keyFile, '-m', file, '-x', `${file}.minisig`, ...texts], input);
  };
  return { publicKey: await publicKeyOf(keyFile, input), sign };
}

/** Makes a key without password at `keyFile`, mode 600, unless there is one. @returns whether it was made. */
export async function makeThrowAwayKey(keyFile: string): Promise<boolean> {
  if (await exists(keyFile)) return false;
  await run('sh', ['-c', 'umask 077 && exec minisign -G -W -p "$1.pub" -s "$1"', 'sh', keyFile]);
  return true;
}

async function publicKeyOf(keyFile: string, input: { input?: string }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'station-key-'));
  try {
    const file = join(folder, 'key.pub');
    await run('minisign', ['-R', '-s', keyFile, '-p', file], input);
    const line = (await readFile(file, 'utf8')).split('\n')[1] ?? '';
    if (!/^[A-Za-z0-9+/=]{56}$/.test(line)) throw new Error(`minisign gave no public key for ${keyFile}`);
    return line;
  } finally {
    await rm(folder, { recursive: true });
  }
}
