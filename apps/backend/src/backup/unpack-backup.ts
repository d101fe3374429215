import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createHash } from 'node:crypto';
import { constants, createZstdDecompress } from 'node:zlib';
import { parseJson } from '@station/kit/json';
import { Value } from 'typebox/value';
import { backupFormat, backupManifestName, BackupManifest, backupSumsName } from '@station/protocol/backups';
import { freeBytes, fileBytes, makeFolder, readChunks } from './adapters/backup-files.ts';
import { writeChunks } from '../core/adapters/new-file.ts';
import { isBadCompression } from '../core/adapters/zstd.ts';
import { migrations } from '../store/migrations/all.ts';
import { decryptAge } from './age.ts';
import type { BackupResult, JobContext } from './backup-job.ts';
import { agentName, databaseName, isBackupName } from './backup-places.ts';
import { BackupRefused } from './backup-refused.ts';
import { checkDatabase } from './check-database.ts';
import { checkFiles, fateOf } from './check-files.ts';
import { sumLine, throttled } from './make-backup.ts';
import { readTar } from './tar.ts';

/** 8 MiB; a backup is made with less. A larger window takes as much memory beside the backend. */
const maxWindowLog = 23;
/** Of the manifest, and of the sums. */
const maxTextBytes = 1024 * 1024;

/**
 * Unpacks a backup into a folder and checks all of it: passphrase, completeness, sums, format and migrations, schema and every page of
 * the database. Nothing outside the folder is touched.
 * @param spaceFactor free space that must be there before it begins, in sizes of the content.
 * @throws BackupRefused, or the error of the file system.
 */
export async function unpackBackup(
  { file, passphrase, into, spaceFactor }: { file: string; passphrase: string; into: string; spaceFactor: number },
  { onProgress, signal, ...context }: JobContext & { work: 'verify' | 'restore' },
): Promise<BackupResult> {
  const bytes = await fileBytes(file);
  if (bytes === null) throw new BackupRefused('not_readable');
  const report = throttled(onProgress);
  let manifest: BackupManifest | null = null;
  const unpacked = new Map<string, string>();
  let haveSums = false;
  let areSumsRight = false;
  let doneBytes = 0;
  await makeFolder(into);
  const onFile = async (entry: Entry, content: AsyncIterable<Buffer>): Promise<void> => {
    if (manifest === null) {
      manifest = await readManifest(entry, content);
      if ((await freeBytes(into)) < spaceFactor * totalOf(manifest)) throw new BackupRefused('no_space');
      return;
    }
    if (entry.name === backupSumsName && !haveSums) {
      haveSums = true;
      const sums = manifest.files.map(({ name }) => sumLine(unpacked.get(name) ?? '', name)).join('');
      areSumsRight = (await readText(entry, content)) === sums;
      return;
    }
    const expected = manifest.files.find(({ name }) => name === entry.name);
    if (expected === undefined || expected.bytes !== entry.bytes || unpacked.has(entry.name)) {
      throw new BackupRefused('damaged');
    }
    const totalBytes = totalOf(manifest);
    const isWritten = fateOf(entry, unpacked.size) === 'write';
    const sum = await readAndSum(isWritten ? join(into, entry.name) : null, content, (count) => {
      doneBytes += count;
      report({ work: context.work, phase: 'unpacking', doneBytes, totalBytes });
    });
    unpacked.set(entry.name, sum);
  };
  await readArchive(file, passphrase, onFile, signal);
  // An assignment inside a callback is not seen by the type checker.
  const read = manifest as BackupManifest | null;
  if (read === null || unpacked.size !== read.files.length || !areSumsRight) throw new BackupRefused('damaged');
  report({ work: context.work, phase: 'checking', doneBytes: 0, totalBytes: 0 });
  const left = await checkFiles(into);
  await checkDatabase(join(into, databaseName), read);
  return { manifest: { ...read, missing: [...new Set([...read.missing, ...left.map(missingName)])] }, bytes };
}

/** As a manifest says it. */
const missingName = (file: string): string => (file === agentName ? 'agent' : file);

/** Reads the manifest, and nothing after it. @throws BackupRefused, or the error of the file system. */
export async function inspectBackup(
  { file, passphrase }: { file: string; passphrase: string },
  { signal }: Pick<JobContext, 'signal'>,
): Promise<BackupResult> {
  const bytes = await fileBytes(file);
  if (bytes === null) throw new BackupRefused('not_readable');
  const enough = new AbortController();
  let manifest: BackupManifest | null = null;
  const onFile = async (entry: Entry, content: AsyncIterable<Buffer>): Promise<void> => {
    manifest = await readManifest(entry, content);
    enough.abort();
    enough.signal.throwIfAborted();
  };
  try {
    await readArchive(file, passphrase, onFile, AbortSignal.any([signal, enough.signal]));
  } catch (error) {
    if (!enough.signal.aborted) throw error;
  }
  const read = manifest as BackupManifest | null;
  if (read === null) throw new BackupRefused('damaged');
  return { manifest: read, bytes };
}

/** @throws BackupRefused, or the error of the file system. */
async function readArchive(
  file: string,
  passphrase: string,
  onFile: Parameters<typeof readTar>[1],
  signal: AbortSignal,
): Promise<void> {
  try {
    await pipeline(
      () => readChunks(file),
      (sealed: AsyncIterable<Buffer>) => decryptAge(sealed, passphrase),
      createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: maxWindowLog } }),
      (plain: AsyncIterable<Buffer>) => readTar(plain, onFile),
      { signal },
    );
  } catch (error) {
    throw isBadCompression(error) ? new BackupRefused('damaged', error) : error;
  }
}

const totalOf = ({ files }: BackupManifest): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

type Entry = { name: string; bytes: number };

async function readText({ bytes }: Entry, content: AsyncIterable<Buffer>): Promise<string> {
  if (bytes > maxTextBytes) throw new BackupRefused('damaged');
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function readManifest(entry: Entry, content: AsyncIterable<Buffer>): Promise<BackupManifest> {
  if (entry.name !== backupManifestName || entry.bytes > maxTextBytes) throw new BackupRefused('not_recognised');
  const value = parseJson(await readText(entry, content));
  // Before its form: that of a newer format is not known here.
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : null;
  if (typeof format === 'number' && format > backupFormat) throw new BackupRefused('too_new');
  if (!Value.Check(BackupManifest, value)) throw new BackupRefused('damaged');
  const names = value.files.map((file) => file.name);
  if (!names.every(isBackupName) || !names.includes(databaseName) || new Set(names).size < names.length)
    throw new BackupRefused('damaged');
  const tooLarge = value.files.find((file, at) => fateOf(file, at) === 'refuse');
  if (tooLarge !== undefined) throw new BackupRefused('not_accepted', new Error(`${tooLarge.name} is too large`));
  const known = new Set(migrations.map((migration) => migration.name));
  // Migrations that its release did not know either are left from a rollback; that release worked with them.
  if (!value.knownMigrations.every((migration) => known.has(migration))) throw new BackupRefused('too_new');
  return value;
}

/** @param path where it is written; null: it is only read. */
async function readAndSum(
  path: string | null,
  content: AsyncIterable<Buffer>,
  onBytes: (count: number) => void,
): Promise<string> {
  const hash = createHash('sha256');
  async function* summed(): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      hash.update(chunk);
      onBytes(chunk.length);
      yield chunk;
    }
  }
  if (path === null) {
    for await (const _chunk of summed());
  } else {
    await makeFolder(dirname(path));
    await writeChunks(path, summed());
  }
  return hash.digest('hex');
}
