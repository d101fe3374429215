import { constants } from 'node:fs';
import { chmod, lchown, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * The file operations that durable state needs. Nothing is on disk before `sync` has returned, as with the kernel.
 * The simulated disk of the fault tests implements the same operations.
 */
export type Disk = {
  /** Bytes of a file; null when there is none. */
  read(path: string): Promise<Uint8Array | null>;
  /** Names in a directory; empty when there is none. */
  list(directory: string): Promise<string[]>;
  /** Creates a directory and its parents. With `owner`, one that is there gets owner and mode too. */
  makeDirectory(path: string, mode: number, owner?: Owner): Promise<void>;
  /** Creates or replaces a file's content; not durable. */
  write(path: string, bytes: Uint8Array, mode: number, owner?: Owner): Promise<void>;
  /** fsync of a file or a directory. */
  sync(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; nothing happens when there is none. */
  remove(path: string): Promise<void>;
};

/** Numeric user and group. */
export type Owner = { uid: number; gid: number };

export const nodeDisk: Disk = {
  read: async (path) => absentAs(null, () => readFile(path)),
  list: async (directory) => absentAs([], () => readdir(directory)),
  makeDirectory: async (path, mode, owner) => {
    await mkdir(path, { recursive: true, mode });
    if (!owner) return;
    await lchown(path, owner.uid, owner.gid);
    await chmod(path, mode);
  },
  write: async (path, bytes, mode, owner) => {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    await using file = await open(path, flags, mode);
    // Before the content is written, so that no other user can read it in between.
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.writeFile(bytes);
  },
  sync: async (path) => {
    await using file = await open(path, constants.O_RDONLY);
    await file.sync();
  },
  rename: async (from, to) => rename(from, to),
  remove: async (path) => rm(path, { force: true }),
};

/** The temporary file for `path`. Always the same name, so that crashes leave at most one. */
export const temporaryPath = (path: string): string => join(dirname(path), `.${basename(path)}.tmp`);

/**
 * Replaces a file so that a power cut at any moment leaves the old content or the new one, never a part:
 * temporary file → fsync → rename → fsync of the directory. Resolved means on disk.
 * @throws the file system's error (ENOSPC, EROFS, …); the old content then remains.
 */
export async function writeDurable(
  disk: Disk,
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  owner?: Owner,
): Promise<void> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const temporary = temporaryPath(path);
  await disk.remove(temporary);
  await disk.write(temporary, bytes, mode, owner);
  await disk.sync(temporary);
  await disk.rename(temporary, path);
  await disk.sync(dirname(path));
}

/**
 * Creates a directory durably. Of several new directories only the last one is synced with its parent.
 * A parent that may not be opened is not synced.
 */
export async function makeDirectoryDurable(disk: Disk, path: string, mode: number): Promise<void> {
  await disk.makeDirectory(path, mode);
  try {
    await disk.sync(dirname(path));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error;
  }
}

/** Removes a file durably. */
export async function removeDurable(disk: Disk, path: string): Promise<void> {
  await disk.remove(path);
  await disk.sync(dirname(path));
}

/** A file as text; null when there is none or when it is not UTF-8. */
export async function readText(disk: Disk, path: string): Promise<string | null> {
  const bytes = await disk.read(path);
  if (bytes === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** True when anything exists at `path`. */
export async function exists(path: string): Promise<boolean> {
  return absentAs(false, async () => {
    await lstat(path);
    return true;
  });
}

async function absentAs<T>(absent: T, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return absent;
    throw error;
  }
}
