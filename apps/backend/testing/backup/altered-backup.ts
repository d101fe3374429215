import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type BackupManifest, backupManifestName, backupSumsName } from '@station/protocol/backups';
import { readChunks } from '../../src/backup/adapters/backup-files.ts';
import { writeChunks } from '../../src/core/adapters/new-file.ts';
import { countRowsOf } from '../../src/core/adapters/sqlite.ts';
import { decryptAge, encryptAge } from '../../src/backup/age.ts';
import { sumLine } from '../../src/backup/make-backup.ts';
import { readTar, writeTar } from '../../src/backup/tar.ts';

/** What is in a backup. `files`: content by name. */
type Contents = { manifest: BackupManifest; files: Map<string, Buffer> };

/** What somebody with the passphrase does to a backup. */
export type Alteration = {
  /** SQL on the database, whose rows the manifest then has. */
  sql?: string;
  /** Changes manifest and files; sizes and sums are made right afterwards. */
  edit?: (contents: Contents) => void;
  /** What the manifest says at last, whatever is true. */
  claim?: (manifest: BackupManifest) => void;
  /** Of the sizes that the manifest and the archive say: the content is zeros. */
  zeros?: { name: string; bytes: number };
  workFactor?: number;
  /** Logarithm of the window of the compression. */
  window?: number;
};

/** Makes another backup of the contents of a good one, which stay as they are: complete, and with right sums. */
export async function alterBackup(good: Contents, to: string, passphrase: string, change: Alteration): Promise<void> {
  const contents = { manifest: structuredClone(good.manifest), files: new Map(good.files) };
  if (change.sql !== undefined) await editDatabase(contents, change.sql);
  const { manifest, files } = contents;
  manifest.files = [...files].map(([name, content]) => ({ name, bytes: content.length }));
  if (change.zeros !== undefined) manifest.files.push(change.zeros);
  change.edit?.(contents);
  for (const [name, content] of files) {
    const known = manifest.files.find((file) => file.name === name);
    if (known === undefined) manifest.files.push({ name, bytes: content.length });
    else known.bytes = content.length;
  }
  change.claim?.(manifest);
  const params: Record<number, number> = {
    [constants.ZSTD_c_compressionLevel]: 1,
    ...(change.window === undefined ? {} : { [constants.ZSTD_c_windowLog]: change.window }),
  };
  await pipeline(
    () => writeTar(entriesOf(contents, change.zeros), Date.parse('2026-01-01T00:00:00Z')),
    createZstdCompress({ params }),
    (packed) => encryptAge(packed, passphrase, change.workFactor ?? 10),
    (sealed: AsyncIterable<Buffer>) => writeChunks(to, sealed),
  );
}

/** Once for many alterations: the passphrase takes a third of a second of the processor. */
export async function readBackup(file: string, passphrase: string): Promise<Contents> {
  const files = new Map<string, Buffer>();
  await pipeline(
    () => readChunks(file),
    (sealed: AsyncIterable<Buffer>) => decryptAge(sealed, passphrase),
    createZstdDecompress(),
    (plain: AsyncIterable<Buffer>) =>
      readTar(plain, async ({ name }, content) => {
        files.set(name, Buffer.concat(await Array.fromAsync(content)));
      }),
  );
  const manifest = JSON.parse(String(files.get(backupManifestName))) as BackupManifest;
  files.delete(backupManifestName);
  files.delete(backupSumsName);
  return { manifest, files };
}

async function editDatabase({ manifest, files }: Contents, sql: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'altered-backup-'));
  try {
    const path = join(folder, 'database');
    await writeFile(path, files.get('station.sqlite') ?? '');
    const database = new DatabaseSync(path, { defensive: false });
    database.exec('pragma journal_mode = delete');
    database.exec(sql);
    manifest.rows = countRowsOf(database);
    database.exec('pragma journal_mode = wal');
    database.close();
    files.set('station.sqlite', await readFile(path));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function* entriesOf({ manifest, files }: Contents, zeros: Alteration['zeros']) {
  const entry = (name: string, content: Buffer) => ({ name, bytes: content.length, content: once(content) });
  yield entry(backupManifestName, Buffer.from(JSON.stringify(manifest)));
  let sums = '';
  for (const [name, content] of files) {
    sums += sumLine(createHash('sha256').update(content).digest('hex'), name);
    yield entry(name, content);
  }
  if (zeros !== undefined) yield { ...zeros, content: zerosOf(zeros.bytes) };
  yield entry(backupSumsName, Buffer.from(sums));
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}

async function* zerosOf(bytes: number): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(Math.min(bytes, 1024 * 1024));
  for (let at = 0; at < bytes; at += piece.length) yield piece.subarray(0, Math.min(piece.length, bytes - at));
}
