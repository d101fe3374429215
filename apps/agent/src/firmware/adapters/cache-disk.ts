import { constants } from 'node:fs';
import { chmod, open, stat, statfs, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nodeDisk } from '@station/kit/durable-files';
import type { CacheDisk } from '../firmware-ports.ts';

/**
 * The firmware cache on the real disk. Other users read its files (the proxy runs as another user), so modes are set
 * explicitly, independent of the umask.
 */
export const cacheDisk: CacheDisk = {
  ...nodeDisk,
  makeDirectory: async (path, mode) => {
    await nodeDisk.makeDirectory(path, mode);
    const found = (await stat(path)).mode & 0o777;
    if ((found & mode) !== mode) await setMode(path, found | mode);
  },
  write: async (path, bytes, mode, owner) => {
    await nodeDisk.write(path, bytes, mode, owner);
    await setMode(path, mode);
  },
  append: async (path, bytes) => {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
    await using file = await open(path, flags, 0o600);
    await file.writeFile(bytes);
  },
  truncate: async (path, size) => truncate(path, size),
  size: async (path) => {
    try {
      return (await stat(path)).size;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
  },
  setMode,
  freeBytes: async (path) => {
    for (let at = path; ; at = dirname(at)) {
      try {
        const { bavail, bsize } = await statfs(at);
        return bavail * bsize;
      } catch {
        if (at === dirname(at)) return null;
      }
    }
  },
};

async function setMode(path: string, mode: number): Promise<void> {
  try {
    await chmod(path, mode);
  } catch (error) {
    // File systems of USB sticks and cards (vfat) have one mode for all files.
    if (codeOf(error) !== 'EPERM') throw error;
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : null);
