import { constants } from 'node:fs';
import { access, lstat, readFile, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readFileSystemType } from '@station/kit/machine-facts';
import type { BackupDisk, FileFacts } from '../../core/doctor-facts.ts';

/** A folder, what is in it, and what is in its folders. Null: there is no such folder. @throws other errors of the file system. */
export async function readFolder(folder: string): Promise<FileFacts[] | null> {
  const own = await factsOf(folder, '');
  if (own === null || !own.isFolder) return null;
  const found = [own];
  for (const name of (await readdir(folder)).sort()) {
    const entry = await factsOf(folder, name);
    if (entry === null) continue;
    found.push(entry);
    if (!entry.isFolder) continue;
    for (const inner of (await readdir(join(folder, name))).sort()) {
      const facts = await factsOf(folder, join(name, inner));
      if (facts !== null) found.push(facts);
    }
  }
  return found;
}

async function factsOf(folder: string, name: string): Promise<FileFacts | null> {
  try {
    const stats = await lstat(join(folder, name));
    const { mode, uid, size: bytes, mtimeMs: changedAt } = stats;
    return { name, isFolder: stats.isDirectory(), mode: mode & 0o777, uid, bytes, changedAt };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Whether this process may write in a folder. Root may, except on a read-only file system. */
export const isWritable = (folder: string): Promise<boolean> =>
  access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

/** The text of a file, or the code of the error that prevents it (ENOENT, EACCES, …). */
export async function readTextFile(path: string): Promise<{ text: string } | { failure: string }> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { failure: error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be read' };
  }
}

/** What is at BACKUP_DIR. @param mark name of the file that is on every disk that was chosen for backups. */
export async function readBackupDisk(folder: string, dataDir: string, mark: string): Promise<BackupDisk> {
  const found = await stat(folder).catch(() => null);
  if (!found?.isDirectory()) return { kind: 'missing' };
  // Without a mount a folder is on the disk of those around it; in a container it seems to be mounted, from the disk of the data.
  const around = await Promise.all([dirname(folder), dataDir].map((path) => stat(path).catch(() => null)));
  const isOtherDisk = around.every((one) => one?.dev !== found.dev);
  const isChosen = await isThere(join(folder, mark));
  if (!isOtherDisk && !isChosen) return { kind: 'missing' };
  return { kind: 'there', isWritable: await isWritable(folder), type: await readFileSystemType(folder) };
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
