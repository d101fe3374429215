import { dirname } from 'node:path';
import { removeDurable, type Disk } from '@station/kit/durable-files';

/** A disk may fail for a moment; a file that it does not give out so often in a row is as good as damaged (as with the journal). */
const readTries = 3;
/** Of a machine that is short of something: they say nothing of the file. */
const passing = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR'];

export const lostReason = 'the disk does not give it out';

/** What was read, or that it is lost. @throws the file system's error as long as it may pass. */
export type Patience = <T>(
  path: string,
  read: () => Promise<T>,
) => Promise<{ kind: 'ok'; value: T } | { kind: 'lost' }>;

export function createPatience(): Patience {
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

/** Removes durably whatever stands at a path; a folder, which may hold something, goes aside. */
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
