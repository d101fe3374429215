import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress } from 'node:zlib';
import { isoTime } from '@station/kit/clock';
import { nodeDisk, temporaryPath } from '@station/kit/durable-files';
import {
  backupFormat,
  backupManifestName,
  backupSumsName,
  type BackupFile,
  type BackupManifest,
} from '@station/protocol/backups';
import { maxDeviceTypeBytes } from '@station/protocol/device-types';
import { fileBytes, freeBytes, isOnOneDisk, move, readChunks, removeTree } from './adapters/backup-files.ts';
import { type DatabaseSnapshot, takeSnapshot } from '../core/adapters/database-snapshot.ts';
import { writeChunks } from '../core/adapters/new-file.ts';
import { compression } from '../core/adapters/zstd.ts';
import { migrations } from '../store/migrations/all.ts';
import { encryptAge } from './age.ts';
import type { BackupJob, BackupResult, JobContext } from './backup-job.ts';
import { agentName, databaseName, deviceTypesName, keyName } from './backup-places.ts';
import { BackupRefused } from './backup-refused.ts';
import { fitsTar, writeTar } from './tar.ts';

type MakeJob = Extract<BackupJob, { work: 'make' }>;

/** Free space beside the database, in its sizes: the backend's write-ahead log grows while the database is held still. */
const growthFactor = 0.25;

/** What the manifest says about the database. */
const queries = {
  station: 'select station_id, name from station',
  migrations: 'select name from kysely_migration order by name',
};

/**
 * Makes a backup: the database is held still at one moment, and goes with copies of the other files as one stream into the file, while a
 * thread checks every page of the database. The file has its name only once it is complete, checked and on disk.
 * @throws BackupRefused, or the error of file system or database.
 */
export async function makeBackup(job: MakeJob, context: JobContext): Promise<BackupResult> {
  const { places, signal } = context;
  await checkSpace(job, context);
  const missing = await copyFiles(job, places.scratch);
  const snapshot = await takeSnapshot(places.database, queries, signal);
  if (!('facts' in snapshot)) throw new BackupRefused('database_damaged', new Error(snapshot.damage));
  await using held = snapshot;
  const manifest = await describe(job, places.scratch, held.facts, missing);
  return { manifest, bytes: await pack(job, context, manifest, held) };
}

async function checkSpace({ to, dataDir }: MakeJob, { places }: JobContext): Promise<void> {
  const sizes = [await fileBytes(places.database), await fileBytes(`${places.database}-wal`)];
  const data = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  const folder = dirname(to);
  if ((await fileBytes(folder)) === null) throw new BackupRefused('not_writable');
  const isOneDisk = await isOnOneDisk(folder, dataDir);
  const here = await freeBytes(dataDir);
  const there = await freeBytes(folder);
  if (here < data * (growthFactor + (isOneDisk ? 1 : 0)) || there < data) throw new BackupRefused('no_space');
}

/** @returns names of what could not be copied. */
async function copyFiles({ dataDir, agent }: MakeJob, scratch: string): Promise<string[]> {
  const missing: string[] = [];
  await copySmall(join(dataDir, keyName), join(scratch, keyName));
  const types = (await nodeDisk.list(join(dataDir, deviceTypesName))).filter((name) => /^[^.].*\.json$/.test(name));
  await nodeDisk.makeDirectory(join(scratch, deviceTypesName), 0o700);
  for (const type of types.sort()) {
    const name = `${deviceTypesName}/${type}`;
    const isCopied = fitsTar(name) && (await copySmall(join(dataDir, name), join(scratch, name)));
    if (!isCopied) missing.push(name);
  }
  if (agent === null) missing.push('agent');
  else await nodeDisk.write(join(scratch, agentName), Buffer.from(JSON.stringify(agent)), 0o600);
  return missing;
}

/** A larger one is not used by the station either. @returns whether it was copied. */
async function copySmall(from: string, to: string): Promise<boolean> {
  const bytes = await fileBytes(from);
  if (bytes === null || bytes > maxDeviceTypeBytes) return false;
  const content = await nodeDisk.read(from);
  if (content !== null) await nodeDisk.write(to, content, 0o600);
  return content !== null;
}

async function describe(
  job: MakeJob,
  scratch: string,
  { bytes: databaseBytes, rows, texts }: DatabaseSnapshot['facts'],
  missing: string[],
): Promise<BackupManifest> {
  const types = (await nodeDisk.list(join(scratch, deviceTypesName))).sort();
  const files: BackupFile[] = [];
  for (const name of [keyName, agentName, ...types.map((type) => `${deviceTypesName}/${type}`)]) {
    const bytes = await fileBytes(join(scratch, name));
    if (bytes !== null) files.push({ name, bytes });
  }
  const [station] = texts['station'] ?? [];
  return {
    format: backupFormat,
    stationId: station?.['station_id'] ?? '',
    stationName: station?.['name'] ?? '',
    createdAt: isoTime(job.at),
    version: job.version,
    migrations: (texts['migrations'] ?? []).map(({ name }) => name ?? ''),
    knownMigrations: migrations.map(({ name }) => name),
    rows,
    files: [...files, { name: databaseName, bytes: databaseBytes }],
    missing,
  };
}

/** The file gets its name when the database has no damage. */
async function pack(
  { to, passphrase, at }: MakeJob,
  context: JobContext,
  manifest: BackupManifest,
  database: DatabaseSnapshot,
): Promise<number> {
  const { places, onProgress, signal } = context;
  const report = throttled(onProgress);
  const totalBytes = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBytes = 0;
  const scratch = places.scratch;
  let sums = '';
  async function* summed(name: string): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    const content = name === databaseName ? database.read() : readChunks(join(scratch, name));
    for await (const chunk of content) {
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
      createZstdCompress(compression),
      (compressed) => encryptAge(compressed, passphrase),
      async (encrypted: AsyncIterable<Buffer>) => {
        bytes = await writeChunks(temporary, encrypted);
      },
      { signal },
    );
    report({ work: 'make', phase: 'checking', doneBytes: 0, totalBytes: 0 });
    const found = await database.damage;
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
