import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Disk, nodeDisk, writeDurable } from '@station/kit/durable-files';
import type { BackupPlace } from '@station/protocol/backup-api';
import { ownValue } from '@station/protocol/own-value';
import { type BackupDestination, DestinationFault } from '../core/backup-destination.ts';
import { hashFile } from './backup-hash.ts';

/** Written on the disk when it is chosen. Without it another disk is mounted there, or none. */
const markName = '.station-backups.json';

export type FolderState = 'ready' | 'not_mounted' | 'not_writable';

/** The mark of a folder; null: it has none, or cannot be read. */
async function readFolderMark(folder: string): Promise<string | null> {
  try {
    const { id } = JSON.parse(await readFile(join(folder, markName), 'utf8')) as { id?: unknown };
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}

/** Marks a folder, so that it is recognised later; one that has a mark keeps it. @throws DestinationFault. */
export async function markFolder(folder: string, disk: Disk = nodeDisk): Promise<string> {
  const state = await folderState(folder, null);
  if (state !== 'ready') throw new DestinationFault(state);
  const kept = await readFolderMark(folder);
  if (kept !== null) return kept;
  const id = randomUUID();
  await asFault(() => writeDurable(disk, join(folder, markName), JSON.stringify({ id })));
  return id;
}

/** @param mark as `markFolder` gave it; null: any folder will do. */
export async function folderState(folder: string, mark: string | null): Promise<FolderState> {
  try {
    if (!(await stat(folder)).isDirectory()) return 'not_mounted';
  } catch {
    return 'not_mounted';
  }
  if (mark !== null && (await readFolderMark(folder)) !== mark) return 'not_mounted';
  return access(folder, constants.W_OK).then(
    () => 'ready',
    () => 'not_writable',
  );
}

/**
 * A folder on a disk of this machine, or a share that is mounted. Its mark is looked for at each use: a stick that was pulled out leaves an
 * empty folder behind, on the disk of the station.
 */
export function createBackupFolder(options: {
  place: BackupPlace;
  folder: string;
  stationId: string;
  mark: string | null;
}): BackupDestination {
  const { place, folder, stationId, mark } = options;
  const own = join(folder, stationId);
  const ready = async (): Promise<void> => {
    // Without a mark it is the station's own disk, which is always there; on a new station the folder is missing.
    const state = mark === null ? 'ready' : await folderState(folder, mark);
    if (state !== 'ready') throw new DestinationFault(state);
    await mkdir(own, { recursive: true, mode: 0o700 });
  };
  return {
    place,
    list: () =>
      asFault(async () => {
        await ready();
        const names = (await readdir(own)).filter((name) => name.endsWith('.age'));
        return Promise.all(names.map(async (name) => ({ name, bytes: (await stat(join(own, name))).size })));
      }),
    put: (path, name, signal) =>
      asFault(async () => {
        await ready();
        const temporary = join(own, `.${name}.part`);
        try {
          await using file = await open(temporary, 'w', 0o600);
          await pipeline(createReadStream(path), file.createWriteStream({ autoClose: false }), { signal });
          await file.sync();
        } catch (error) {
          await rm(temporary, { force: true });
          throw error;
        }
        await rename(temporary, join(own, name));
        await nodeDisk.sync(own);
        const sums = await Promise.all([hashFile(createReadStream(path)), hashFile(createReadStream(join(own, name)))]);
        if (sums[0] !== sums[1]) throw new DestinationFault('altered');
      }),
    read: (name) =>
      asFault(async () => {
        await ready();
        const file = await open(join(own, name), 'r');
        return file.createReadStream();
      }),
    remove: (name) =>
      asFault(async () => {
        await ready();
        await rm(join(own, name), { force: true });
        await nodeDisk.sync(own);
      }),
  };
}

const faultOf: Readonly<Record<string, DestinationFault['reason']>> = {
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EFBIG: 'too_large',
  EACCES: 'not_writable',
  EPERM: 'not_writable',
  EROFS: 'not_writable',
  ENOENT: 'not_mounted',
  EIO: 'not_mounted',
  ENODEV: 'not_mounted',
  ESTALE: 'not_mounted',
};

async function asFault<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof DestinationFault) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new DestinationFault(ownValue(faultOf, code) ?? 'failed', error);
  }
}
