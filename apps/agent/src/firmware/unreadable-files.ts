import { dirname } from 'node:path';
import { removeDurable, type Disk } from '@station/kit/durable-files';

/** A disk may fail for a moment; a file that fails so often in a row counts as damaged (as with the journal). */
const readTries = 3;
/** Errors of a machine that lacks resources; the file itself may be intact. */
const passing = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR'];

export const lostReason = 'the disk cannot read it';

/** Reads a file: its content, or `lost` after several failures. @throws the file system's error until then. */
export type TolerantRead = <T>(
  path: string,
  read: () => Promise<T>,
) => Promise<{ kind: 'ok'; value: T } | { kind: 'lost' }>;

export function createTolerantRead(): TolerantRead {
  const failures = new Map<string, number>();
  return async (path, read) => {
    try {
      const value = await read();
      failures.delete(path);
      return { kind: 'ok', value };
    } catch (error) {
      if (!isFileFault(error) || passing.includes(error.code)) throw error;
      const tries = (failures.get(path) ?? 0) + 1;
      failures.set(path, tries);
      if (tries < readTries) throw error;
      return { kind: 'lost' };
    }
  };
}

/** Durably removes what is at a path; a folder, which may have content, is renamed to `.damaged`. */
export async function clearPath(disk: Disk, path: string): Promise<void> {
  try {
    await removeDurable(disk, path);
  } catch (error) {
    if (!isFileFault(error) || !['EISDIR', 'ERR_FS_EISDIR'].includes(error.code)) throw error;
    await disk.rename(path, `${path}.damaged`);
    await disk.sync(dirname(path));
  }
}

export const isFileFault = (error: unknown): error is NodeJS.ErrnoException & { code: string } =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
