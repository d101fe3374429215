import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

export type BoundedLog = Disposable & { write(chunk: Uint8Array): void };

/**
 * Appends to a file of at most `maxBytes`. A full file is renamed to `<path>.1` and a new one begins.
 * Synchronous, so that output does not accumulate in memory. Output that cannot be written is dropped.
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
