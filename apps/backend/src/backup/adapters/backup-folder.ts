import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, lstat, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Disk, nodeDisk, writeDurable } from '@station/kit/durable-files';
import { ownValue } from '@station/protocol/own-value';
import {
  backupMarkName,
  DestinationFault,
  type FolderState,
  isBackupFileName,
  listedBackups,
  type StorageTarget,
  type StoredBackup,
} from '../../core/backup-destination.ts';
import { hashFile } from './backup-hash.ts';
import { openRegularFile } from './regular-file.ts';
import type { StorageDriver } from './storage-driver.ts';

const mostMarkBytes = 4096;
/** More than a station ever leaves in its folder: somebody else filled it. */
const mostEntries = 200_000;

/** The mark of a folder; null: it has none, or cannot be read. */
async function readFolderMark(folder: string): Promise<string | null> {
  try {
    await using file = await openRegularFile(join(folder, backupMarkName));
    if ((await file.stat()).size > mostMarkBytes) return null;
    const { id } = JSON.parse(await file.readFile('utf8')) as { id?: unknown };
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}

/** Marks a folder, so that it is recognised later; one that has a mark keeps it. @throws DestinationFault. */
async function markFolder(folder: string, disk: Disk = nodeDisk): Promise<string> {
  const state = await folderState(folder, null);
  if (state !== 'ready') throw new DestinationFault(state);
  const kept = await readFolderMark(folder);
  if (kept !== null) return kept;
  const id = randomUUID();
  await asFault(() => writeDurable(disk, join(folder, backupMarkName), JSON.stringify({ id })));
  return id;
}

/** @param mark as `markFolder` gave it; null: any folder will do. */
async function folderState(folder: string, mark: string | null): Promise<FolderState> {
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
 * empty folder behind, on the disk of the station. Only regular files are ever opened: a stick may come from anybody.
 */
export function createBackupFolder({
  folder,
  stationId,
  mark,
}: Extract<StorageTarget, { kind: 'folder' }>): StorageDriver {
  const own = join(folder, stationId);
  const ready = async (): Promise<void> => {
    // Without a mark it is the station's own disk, which is always there; on a new station the folder is missing.
    const state = mark === null ? 'ready' : await folderState(folder, mark);
    if (state !== 'ready') throw new DestinationFault(state);
    await mkdir(own, { recursive: true, mode: 0o700 });
    // A link would lead to other files of this machine.
    if (!(await lstat(own)).isDirectory()) throw new DestinationFault('not_writable');
  };
  return {
    prepare: () => asFault(ready),
    list: () =>
      asFault(async () => {
        await ready();
        return listedBackups(await filesIn(own));
      }),
    put: (path, name, { signal, onProgress }) =>
      asFault(async () => {
        await ready();
        const temporary = join(own, `.${name}.part`);
        try {
          await rm(temporary, { force: true });
          await using file = await open(temporary, 'wx', 0o600);
          await pipeline(createReadStream(path), counted(onProgress), file.createWriteStream({ autoClose: false }), {
            signal,
          });
          await file.sync();
        } catch (error) {
          await rm(temporary, { force: true });
          throw error;
        }
        await rename(temporary, join(own, name));
        await nodeDisk.sync(own);
        const there = await openRegularFile(join(own, name));
        const sums = await Promise.all([hashFile(createReadStream(path)), hashFile(there.createReadStream())]);
        if (sums[0] !== sums[1]) throw new DestinationFault('altered');
      }),
    read: (name): Promise<Readable> =>
      asFault(async () => {
        await ready();
        const file = await openRegularFile(join(own, name));
        return file.createReadStream();
      }),
    remove: (name) =>
      asFault(async () => {
        await ready();
        await rm(join(own, name), { force: true });
        await nodeDisk.sync(own);
      }),
    check: async () => undefined,
    tidy: async () => undefined,
    state: () => folderState(folder, mark),
    mark: () => markFolder(folder),
  };
}

async function filesIn(folder: string): Promise<StoredBackup[]> {
  const files: StoredBackup[] = [];
  let seen = 0;
  for await (const { name } of await opendir(folder, { bufferSize: 1_000 })) {
    if (++seen > mostEntries) break;
    if (!isBackupFileName(name)) continue;
    const found = await lstat(join(folder, name)).catch(() => null);
    if (found?.isFile() === true) files.push({ name, bytes: found.size });
  }
  return files;
}

const counted = (onProgress: (doneBytes: number) => void) =>
  async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let done = 0;
    for await (const chunk of source) {
      done += chunk.length;
      onProgress(done);
      yield chunk;
    }
  };

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
  ELOOP: 'failed',
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
