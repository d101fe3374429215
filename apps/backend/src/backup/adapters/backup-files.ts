import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { openRegularFile } from './regular-file.ts';

/** Files of any size, read and written as streams. */

const chunkBytes = 1024 * 1024;
const lockPollMs = 100;

/** Of a regular file; anything else is refused. @throws the file system's error. */
export async function* readChunks(path: string): AsyncGenerator<Buffer> {
  await using file = await openRegularFile(path);
  yield* file.createReadStream({ highWaterMark: chunkBytes, autoClose: false }) as AsyncIterable<Buffer>;
}

/** Size in bytes; null when there is no such file. */
export async function fileBytes(path: string): Promise<number | null> {
  return (await stat(path).catch(() => null))?.size ?? null;
}

/**
 * Free bytes for this user on the disk of a folder; of its parent while it does not exist. Infinity: the file system does not say, as some
 * of FUSE (statvfs(3): undefined fields are zero).
 */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(folder).catch(() => statfs(dirname(folder)));
  return blocks === 0 ? Infinity : bavail * bsize;
}

/** Free bytes, of which a tenth of the disk is left to everything else. */
export async function spareBytes(folder: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(folder).catch(() => statfs(dirname(folder)));
  return blocks === 0 ? Infinity : (bavail - blocks / 10) * bsize;
}

/** True when both are on one disk. */
export async function isOnOneDisk(one: string, other: string): Promise<boolean> {
  return (await stat(one)).dev === (await stat(other)).dev;
}

/** Removes a file or a folder with everything in it; nothing happens when there is none. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Moves a file or folder within one disk. */
export async function move(from: string, to: string): Promise<void> {
  await rename(from, to);
}

/** fsync of everything in a folder, and of the folder. */
export async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    else await sync(path);
  }
  await sync(folder);
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, constants.O_RDONLY);
  await file.sync();
}

/**
 * Locks a folder for this process, across containers too; the kernel releases the lock when the process ends.
 * @returns null when another process still has it after that time. @throws when the signal aborts meanwhile.
 */
export async function lockFolder(folder: string, waitMs: number, signal?: AbortSignal): Promise<Disposable | null> {
  const until = performance.now() + waitMs;
  for (;;) {
    const lock = tryLock(folder);
    if (lock !== null || performance.now() >= until) return lock;
    await delay(lockPollMs, undefined, { signal });
  }
}

/** It is an SQLite lock: Node has no other that ends with its holder. */
function tryLock(folder: string): Disposable | null {
  const database = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) return null;
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

/** Writes a piece at its place in a file that only its owner may read; what was behind it is cut off. */
export async function writePieceAt(path: string, offset: number, piece: Uint8Array): Promise<void> {
  await using file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  await file.truncate(offset);
  for (let at = 0; at < piece.length;) at += (await file.write(piece, at, piece.length - at, offset + at)).bytesWritten;
}
