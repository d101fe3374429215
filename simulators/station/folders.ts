import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folders of `npm start`: all below the state folder, except sockets when its path is too long for them. */
export type Folders = {
  state: string;
  releases: string;
  /** The agent's DATA_DIR. */
  agent: string;
  /** Compose file. */
  stack: string;
  /** Images and logs of the process engine. */
  engine: string;
  /** The backend's DATA_DIR. */
  backend: string;
  firmware: string;
  /** What the new devices remember. */
  radio: string;
  sockets: string;
};

/** Longest path of a Unix socket: 108 bytes with its end (unix(7)). */
const socketPathBytes = 107;
const longestSocketName = 'running.sock';

export async function makeFolders(state: string): Promise<Folders> {
  const below = (name: string): string => join(state, name);
  const folders: Folders = {
    state,
    releases: below('releases'),
    agent: below('agent'),
    stack: below('stack'),
    engine: below('engine'),
    backend: below('backend'),
    firmware: below('firmware'),
    radio: below('radio'),
    sockets: below('run'),
  };
  if (Buffer.byteLength(join(folders.sockets, longestSocketName)) > socketPathBytes) {
    folders.sockets = join(tmpdir(), `station-${createHash('sha256').update(state).digest('hex').slice(0, 16)}`);
  }
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return folders;
}
