import { once } from 'node:events';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** Owner and group may connect: connecting needs the right to write (unix(7)). */
const socketMode = 0o660;

/**
 * Makes way for a socket to be listened on at `path`: makes its directory, and removes a socket that a process left which
 * ended without cleaning up.
 * @throws when somebody answers there, or when something else than a socket stands there.
 */
async function prepareSocketPath(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const found = await lstat(path).catch(absent);
  if (found === null) return;
  if (!found.isSocket()) throw new Error('something else than a socket stands at the path of the socket');
  if (await answers(path)) throw new Error('another process listens on the socket');
  await rm(path, { force: true });
}

/** Lets the owner and the group of the socket connect, and nobody else. */
const restrictSocket = (path: string): Promise<void> => chmod(path, socketMode);

export const socketFiles = { prepare: prepareSocketPath, restrict: restrictSocket };

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // A full backlog (EAGAIN) or a refused permission is still somebody there.
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}

function absent(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
