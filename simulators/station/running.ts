import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/** Lets other processes find out that this station runs, and where. */
export type RunningMark = AsyncDisposable & { publish(address: string): void };

/**
 * Reserves the state folder for this process with a Unix socket in it. The socket of a killed process does not answer and
 * is replaced.
 * @returns the URL of a station that already runs on that state folder, if there is one.
 */
export async function markRunning(socketPath: string): Promise<RunningMark | { runsAt: string }> {
  const runsAt = await ask(socketPath);
  if (runsAt !== null) return { runsAt };
  await rm(socketPath, { force: true });
  let address = 'starting';
  const server = createServer((socket) => socket.on('error', () => undefined).end(address));
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    publish: (given) => {
      address = given;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

async function ask(socketPath: string): Promise<string | null> {
  try {
    return await text(connect(socketPath));
  } catch {
    return null;
  }
}
