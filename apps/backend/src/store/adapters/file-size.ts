import { stat } from 'node:fs/promises';

/** Bytes that a file takes on the disk, without holes; 0: there is none. @throws (rejects) the file system's error. */
export async function readFileBytes(path: string): Promise<number> {
  try {
    return (await stat(path)).blocks * 512;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
}
