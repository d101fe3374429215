import { dirname } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { type Disk, makeDirectoryDurable, writeDurable } from '@station/kit/durable-files';
import { createWaker } from '@station/kit/wakeable';
import type { OperationFile } from '@station/protocol/operation-file';
import type { Stack } from './stack.ts';

/** Below the folder of the agent's socket, in a folder that the proxy's container sees. */
export const operationFile = 'public/operation.json';

type Parts = {
  /** The reverse proxy serves it (deploy/proxy/Caddyfile). */
  path: string;
  stack: Pick<Stack, 'operation' | 'onChange'>;
  disk: Disk;
  clock: Clock;
};

/** The end of the health check is known shortly after its phase has begun. */
const everyMs = 1_000;
const idleMs = 3_600_000;

/**
 * Keeps a file with the operation under way, until the signal aborts. Whoever reads it follows an update or a rollback while
 * the backend is being replaced. A file that cannot be written is not missed by anything else.
 */
export async function keepOperationFile({ path, stack, disk, clock }: Parts, signal: AbortSignal): Promise<void> {
  const waker = createWaker(clock);
  using _subscription = stack.onChange(waker.wake);
  let written: string | null = null;
  while (!signal.aborted) {
    const operation = stack.operation();
    const text = `${JSON.stringify({ operation } satisfies OperationFile)}\n`;
    if (text !== written) {
      written = await write(disk, path, text).then(
        () => text,
        () => null,
      );
    }
    await waker.sleep(operation === null && written !== null ? idleMs : everyMs, signal).catch(() => undefined);
  }
}

async function write(disk: Disk, path: string, text: string): Promise<void> {
  await makeDirectoryDurable(disk, dirname(path), 0o755);
  // Everybody may read it: the user of the proxy's container does.
  await writeDurable(disk, path, text, 0o644);
}
