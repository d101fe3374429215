import { closeSync, fstatSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { ServiceOperator } from './engine-port.ts';

type OnLine = Parameters<ServiceOperator['followLog']>[2];

export type BoundedLog = Disposable & {
  write(chunk: Uint8Array): void;
  /** Passes on the last lines and then each new one until the signal aborts. */
  follow(options: { since: number | null; lines: number }, onLine: OnLine, signal: AbortSignal): Promise<void>;
};

/**
 * Appends to a file of at most `maxBytes`. A full file is renamed to `<path>.1` and a new one begins.
 * Synchronous, so that output does not accumulate in memory. Output that cannot be written is dropped.
 */
export function createBoundedLog(path: string, maxBytes: number): BoundedLog {
  let descriptor: number | null = null;
  let size = 0;
  const followers = new Set<(bytes: Uint8Array) => void>();
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
      for (const follower of followers) follower(bytes);
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
    follow: async ({ since, lines }, onLine, signal) => {
      const take = (text: string): void => {
        const time = timeIn(text);
        if (text !== '' && (since === null || Date.parse(time) >= since)) void onLine({ time, text });
      };
      // In one go with the beginning of the rest, so that no line is missed or told twice.
      const before = readBefore(path).split('\n');
      let rest = before.pop() ?? '';
      for (const line of before.slice(since === null ? -lines : 0)) take(line);
      const follower = (bytes: Uint8Array): void => {
        const parts = (rest + Buffer.from(bytes).toString('utf8')).split('\n');
        rest = parts.pop() ?? '';
        parts.forEach(take);
      };
      followers.add(follower);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      followers.delete(follower);
    },
    [Symbol.dispose]: close,
  };
}

function readBefore(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Of a line of JSON its own; of another one now, because no engine noted it. */
function timeIn(line: string): string {
  try {
    const { time } = JSON.parse(line) as { time?: unknown };
    if (typeof time === 'string') return time;
  } catch {
    // No JSON.
  }
  return new Date().toISOString();
}

const isFileSystemError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;
