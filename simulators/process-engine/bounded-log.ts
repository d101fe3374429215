import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

export type BoundedLog = Disposable & { write(chunk: Uint8Array): void };

/**
 * Appends to a file that never grows beyond `maxBytes`: then it becomes `<path>.1`, in place of the one before, and a new one
 * begins. Synchronous, so that nothing piles up in memory when a program writes faster than the disk takes it.
 * A log that cannot be written is no reason to end a service: what does not fit is dropped.
 */
export function createBoundedLog(path: string, maxBytes: number): BoundedLog {
  let descriptor: number | null = null;
  let size = 0;
  const open = (): number => {
    descriptor = openSync(path, 'a', 0o600);
    size = fstatSync(descriptor).size;
    return descriptor;
  };
  const close = (): void => {
    if (descriptor !== null) closeSync(descriptor);
    descriptor = null;
  };
  return {
    write: (chunk) => {
      const bytes = chunk.subarray(-maxBytes);
      try {
        let target = descriptor ?? open();
        if (size + bytes.length > maxBytes) {
          close();
          renameSync(path, `${path}.1`);
          target = open();
        }
        size += writeSync(target, bytes);
      } catch (error) {
        if (!isFileSystemError(error)) throw error;
        close();
      }
    },
    [Symbol.dispose]: close,
  };
}

const isFileSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;
