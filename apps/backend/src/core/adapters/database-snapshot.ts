import { type FileHandle, open } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { SnapshotFacts, SnapshotMessage } from './database-snapshot-thread.ts';
import { findThreadProgram } from './thread-program.ts';

/** One consistent moment of a database that others use. They write meanwhile; their log grows until the disposal. */
export type DatabaseSnapshot = AsyncDisposable & {
  facts: SnapshotFacts;
  /** The database as one file. @throws when the file changed since the moment. */
  read(): AsyncGenerator<Buffer>;
  /** A thread reads every page. Null: there is no damage. */
  damage: Promise<string | null>;
};

const chunkBytes = 1024 * 1024;

/**
 * Holds a database still instead of copying it: nobody writes to the file while a read transaction has all of it there.
 *
 * The system's locks on a file belong to the process, and closing any descriptor of the file ends them. So the one here is closed after the
 * thread has ended, and nothing else in this process may open and close the file meanwhile.
 * @param queries of columns that are texts.
 * @returns null and the reason when it is damaged. @throws errors that are no damage.
 */
export async function takeSnapshot(
  file: string,
  queries: Record<string, string>,
  signal: AbortSignal,
): Promise<DatabaseSnapshot | { damage: string }> {
  await using opened = new AsyncDisposableStack();
  const content = opened.use(await open(file));
  const thread = opened.use(startThread(file, queries));
  const stop = (): void => thread.fail(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  opened.defer(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  const held = await Promise.race([thread.held, thread.damage]);
  if (held === null || typeof held === 'string') return { damage: held ?? 'unknown' };
  const changedAt = await changeOf(content);
  const things = opened.move();
  return {
    facts: held,
    read: () => readHeld(content, held.bytes, changedAt),
    damage: thread.damage,
    [Symbol.asyncDispose]: () => things.disposeAsync(),
  };
}

async function* readHeld(content: FileHandle, bytes: number, changedAt: bigint): AsyncGenerator<Buffer> {
  yield* content.createReadStream({ start: 0, end: bytes - 1, highWaterMark: chunkBytes, autoClose: false });
  if ((await changeOf(content)) !== changedAt) throw new Error('The database file was written while it was held still');
}

const changeOf = async (content: FileHandle): Promise<bigint> => (await content.stat({ bigint: true })).mtimeNs;

function startThread(file: string, queries: Record<string, string>) {
  const source = new URL('database-snapshot-thread.ts', import.meta.url);
  const worker = new Worker(findThreadProgram('station-snapshot.mjs', source), { workerData: { file, queries } });
  const held = Promise.withResolvers<SnapshotFacts>();
  const checked = Promise.withResolvers<string | null>();
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const fail = (error: Error): void => {
    held.reject(error);
    checked.reject(error);
  };
  worker.on('message', (message: SnapshotMessage) => {
    if (message.kind === 'held') held.resolve(message.facts);
    else checked.resolve(message.damage);
  });
  worker.once('error', fail);
  worker.once('exit', () => fail(new Error('The thread of the snapshot ended early')));
  // Whoever waits for one gets the error.
  for (const { promise } of [held, checked]) promise.catch(() => undefined);
  return {
    held: held.promise,
    damage: checked.promise,
    fail,
    [Symbol.asyncDispose]: async () => {
      // It closes the database, after what it is doing now.
      worker.postMessage('end');
      await exited;
    },
  };
}
