import { once } from 'node:events';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** Owner and group may connect: connecting needs the right to write (unix(7)). */
const socketMode = 0o660;

/**
 * Prepares `path` for a new socket: creates its directory, and removes the socket of a process that
 * ended without clean-up.
 * @throws when another process serves the socket, or when the file is no socket.
 */
async function prepareSocketPath(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const found = await lstat(path).catch(absent);
  if (found === null) return;
  if (!found.isSocket()) throw new Error('something else than a socket stands at the path of the socket');
  if (await answers(path)) throw new Error('another process listens on the socket');
  await rm(path, { force: true });
}

/** Allows only the owner and the group of the socket to connect. */
const restrictSocket = (path: string): Promise<void> => chmod(path, socketMode);

export const socketFiles = { prepare: prepareSocketPath, restrict: restrictSocket };

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // With a full backlog (EAGAIN) or a refused permission, a process still serves the socket.
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}

function absent(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
