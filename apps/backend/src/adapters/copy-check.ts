import { Worker } from 'node:worker_threads';
import { findThreadProgram } from './thread-program.ts';

export type CopyCheck = AsyncDisposable & {
  /** Of the file; null: none. Rejects with an error that is no damage. */
  damage: Promise<string | null>;
};

/** Looks for damage in a database file that nobody writes, in a thread of its own. Disposal ends it. */
export function startCopyCheck(file: string): CopyCheck {
  const worker = new Worker(findThreadProgram('station-copy-check.mjs', 'copy-check-thread.ts'), { workerData: file });
  const damage = new Promise<string | null>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The check of the copy ended early')));
  });
  // Whoever waits for it gets the error.
  damage.catch(() => undefined);
  return { damage, [Symbol.asyncDispose]: async () => void (await worker.terminate()) };
}
