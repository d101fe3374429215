import { basename, dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { isoTime } from '@station/kit/clock';
import { nodeDisk, temporaryPath } from '@station/kit/durable-files';
import {
  backupFormat,
  backupManifestName,
  backupSumsName,
  type BackupFile,
  type BackupManifest,
} from '@station/protocol/backups';
import {
  fileBytes,
  freeBytes,
  isOnOneDisk,
  move,
  readChunks,
  removeTree,
  writeChunks,
} from '../adapters/backup-files.ts';
import { startCopyCheck } from '../adapters/copy-check.ts';
import { countRows, isDamage, leaveWriteAheadLog, readTexts, snapshotSqliteFile } from '../adapters/sqlite.ts';
import { migrations } from '../store/migrations/all.ts';
import { encryptAge } from './age.ts';
import type { BackupJob, BackupResult, JobContext } from './backup-job.ts';
import { agentName, databaseName, deviceTypesName, keyNames } from './backup-places.ts';
import { BackupRefused } from './backup-refused.ts';
import { fitsTar, writeTar } from './tar.ts';

type MakeJob = Extract<BackupJob, { work: 'make' }>;

/** The copy of the database, and a part more for its index and growth. */
const copyFactor = 1.25;

/**
 * Makes a backup: a consistent copy of the database and of the other files into a scratch folder, then one stream into the file, while a
 * thread checks every page of the copy. The file has its name only once it is complete, checked and on disk.
 * @throws BackupRefused, or the error of file system or database.
 */
export async function makeBackup(job: MakeJob, context: JobContext): Promise<BackupResult> {
  const { places, onProgress, signal } = context;
  const report = throttled(onProgress);
  await checkSpace(job, context);
  const scratch = places.scratch;
  const copy = join(scratch, databaseName);
  await nodeDisk.write(copy, new Uint8Array(), 0o600);
  await snapshotSqliteFile(places.database, copy, (done, total) => {
    report({ work: 'make', phase: 'copying', doneBytes: done * pageBytes, totalBytes: total * pageBytes });
    // The only way to stop the copy.
    signal.throwIfAborted();
  });
  const missing = await copyFiles(job, scratch);
  const manifest = await describe(job, scratch, missing);
  await using check = startCopyCheck(copy);
  return { manifest, bytes: await pack(job, context, manifest, check.damage) };
}

/** SQLite's default; only used to show progress. */
const pageBytes = 4096;

async function checkSpace({ to, dataDir }: MakeJob, { places }: JobContext): Promise<void> {
  const sizes = [await fileBytes(places.database), await fileBytes(`${places.database}-wal`)];
  const data = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  const folder = dirname(to);
  if ((await fileBytes(folder)) === null) throw new BackupRefused('not_writable');
  const isOneDisk = await isOnOneDisk(folder, dataDir);
  const [here, there] = [await freeBytes(dataDir), await freeBytes(folder)];
  if (here < data * copyFactor * (isOneDisk ? 2 : 1) || there < data) throw new BackupRefused('no_space');
}

/** @returns names of what could not be copied. */
async function copyFiles({ dataDir, agent }: MakeJob, scratch: string): Promise<string[]> {
  const missing: string[] = [];
  for (const name of keyNames) await copySmall(join(dataDir, name), join(scratch, name));
  const types = (await nodeDisk.list(join(dataDir, deviceTypesName))).filter((name) => /^[^.].*\.json$/.test(name));
  await nodeDisk.makeDirectory(join(scratch, deviceTypesName), 0o700);
  for (const type of types.sort()) {
    const name = `${deviceTypesName}/${type}`;
    if (fitsTar(name)) await copySmall(join(dataDir, name), join(scratch, name));
    else missing.push(name);
  }
  if (agent === null) missing.push('agent');
  else await nodeDisk.write(join(scratch, agentName), Buffer.from(JSON.stringify(agent)), 0o600);
  return missing;
}

/** Larger ones are not ours: keys have some bytes, device types some kilobytes. */
const smallBytes = 4 * 1024 * 1024;

async function copySmall(from: string, to: string): Promise<void> {
  const bytes = await fileBytes(from);
  if (bytes === null || bytes > smallBytes) return;
  const content = await nodeDisk.read(from);
  if (content !== null) await nodeDisk.write(to, content, 0o600);
}

async function describe(job: MakeJob, scratch: string, missing: string[]): Promise<BackupManifest> {
  const types = (await nodeDisk.list(join(scratch, deviceTypesName))).sort();
  // The small files first: a part of them can then be restored without reading the whole file.
  const names = [...keyNames, agentName, ...types.map((name) => `${deviceTypesName}/${name}`), databaseName];
  const files: BackupFile[] = [];
  for (const name of names) {
    const path = join(scratch, name);
    const bytes = await fileBytes(path);
    if (bytes !== null) files.push({ name, bytes });
  }
  return {
    ...describeDatabase(join(scratch, databaseName)),
    format: backupFormat,
    createdAt: isoTime(job.at),
    version: job.version,
    knownMigrations: migrations.map(({ name }) => name),
    files,
    missing,
  };
}

function describeDatabase(copy: string): Pick<BackupManifest, 'stationId' | 'stationName' | 'migrations' | 'rows'> {
  try {
    leaveWriteAheadLog(copy);
    const [station] = readTexts(copy, 'select station_id, name from station');
    return {
      stationId: station?.['station_id'] ?? '',
      stationName: station?.['name'] ?? '',
      migrations: readTexts(copy, 'select name from kysely_migration order by name').map(({ name }) => name ?? ''),
      rows: countRows(copy),
    };
  } catch (error) {
    throw isDamage(error) ? new BackupRefused('database_damaged', error) : error;
  }
}

/** Of each piece of compressed output: each costs a turn of the thread pool. */
const compressedBytes = 512 * 1024;
/** Makes samples as small as the default level does, in less time. */
const fastest = { [constants.ZSTD_c_compressionLevel]: 1 };

/** @param damage of the copy: the file gets its name when there is none. */
async function pack(
  { to, passphrase, at }: MakeJob,
  context: JobContext,
  manifest: BackupManifest,
  damage: Promise<string | null>,
): Promise<number> {
  const { places, onProgress, signal } = context;
  const report = throttled(onProgress);
  const totalBytes = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBytes = 0;
  const scratch = places.scratch;
  let sums = '';
  async function* summed(name: string): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    for await (const chunk of readChunks(join(scratch, name))) {
      hash.update(chunk);
      doneBytes += chunk.length;
      report({ work: 'make', phase: 'packing', doneBytes, totalBytes });
      yield chunk;
    }
    sums += sumLine(hash.digest('hex'), name);
  }
  async function* entries() {
    yield textEntry(backupManifestName, `${JSON.stringify(manifest, null, 2)}\n`);
    for (const { name, bytes } of manifest.files) yield { name, bytes, content: summed(name) };
    yield textEntry(backupSumsName, sums);
  }
  const folder = dirname(to);
  await removeUnfinished(folder);
  const temporary = temporaryPath(to);
  try {
    let bytes = 0;
    await pipeline(
      () => writeTar(entries(), at),
      createZstdCompress({ chunkSize: compressedBytes, params: fastest }),
      (compressed) => encryptAge(compressed, passphrase),
      async (encrypted: AsyncIterable<Buffer>) => {
        bytes = await writeChunks(temporary, encrypted);
      },
      { signal },
    );
    const found = await damage;
    if (found !== null) throw new BackupRefused('database_damaged', new Error(found));
    await move(temporary, to);
    await nodeDisk.sync(folder);
    return bytes;
  } catch (error) {
    await removeTree(temporary);
    throw error;
  }
}

/** A line of `SHA256SUMS`. */
export const sumLine = (sum: string, name: string): string => `${sum}  ${name}\n`;

function textEntry(name: string, text: string) {
  const content = Buffer.from(text);
  return { name, bytes: content.length, content: once(content) };
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

/** What a killed process left there. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await nodeDisk.list(folder)) {
    if (/^\.station-.*\.age\.tmp$/.test(basename(name))) await removeTree(join(folder, name));
  }
}

const reportEveryBytes = 4 * 1024 * 1024;

/** Passes on at most one report for some megabytes, and the first one of each phase. */
export function throttled(onProgress: JobContext['onProgress']): JobContext['onProgress'] {
  let last: { phase: string; bytes: number } | null = null;
  return (progress) => {
    const { phase, doneBytes, totalBytes } = progress;
    const isDue = last?.phase !== phase || doneBytes - last.bytes >= reportEveryBytes || doneBytes === totalBytes;
    if (!isDue) return;
    last = { phase, bytes: doneBytes };
    onProgress(progress);
  };
}
