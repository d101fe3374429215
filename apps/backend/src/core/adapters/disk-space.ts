import { statfs } from 'node:fs/promises';
import type { DiskSpace } from '../space.ts';

/** Space of the disk that holds `path`, in bytes; what the kernel keeps for root does not count as free. Null: it cannot be read. */
export async function readDiskSpace(path: string): Promise<DiskSpace | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return null;
  }
}
