import { join } from 'node:path';
import { StationError } from '@station/kit/station-error';
import { after } from '@station/kit/timers';
import { fileBytes, freeBytes, makeFolder, removeTree, writePieceAt } from './adapters/backup-files.ts';
import { newToken } from '../core/secrets.ts';

/** A backup that is being uploaded in pieces. One at a time: a new one replaces it. */
export type Uploads = {
  /** @param bytes its whole size. @param name of the file on the computer. @returns its id, which nobody can guess. @throws StationError disk_space_low. */
  begin(bytes: number, name?: string): Promise<string>;
  /**
   * Appends a piece. A piece that is already there is taken again, so that a lost answer can be repeated.
   * @returns bytes on disk. @throws StationError not_found, conflict (a piece is missing), payload_too_large.
   */
  append(id: string, offset: number, piece: Uint8Array): Promise<number>;
  /** Before its bytes are read: anybody may send some. @throws StationError not_found. */
  check(id: string): void;
  /** Path of a complete upload, and the name of the file that was uploaded; empty: not known. @throws StationError not_found, conflict. */
  complete(id: string): Promise<{ path: string; name: string }>;
  /** Takes a file of this folder, whole, as an upload. @returns its id. */
  adopt(file: { path: string; name: string }): Promise<string>;
  /** Somebody works with a file of the folder: it stays for a day more. */
  use(): void;
  remove(): Promise<void>;
};

/** Left free for the station itself. */
const spareBytes = 64 * 1024 * 1024;

/** Nobody comes back to what was left for so long, and it may be as large as the disk. */
const dayMs = 24 * 60 * 60 * 1000;

/** @param folder is emptied: an upload does not survive a restart. @param keepMs how long it stays there without use. */
export async function openUploads(folder: string, keepMs = dayMs): Promise<Uploads> {
  await removeTree(folder);
  let leaving: Disposable | null = null;
  let current: { id: string; path: string; bytes: number; name: string } | null = null;
  const remove = async (): Promise<void> => {
    current = null;
    await removeTree(folder);
  };
  const use = (): void => {
    leaving?.[Symbol.dispose]();
    // What cannot be removed now goes with the next start.
    leaving = after(keepMs, () => void remove().catch(() => undefined));
  };
  const find = (id: string) => {
    if (current?.id !== id) throw new StationError('not_found', 'There is no such upload. Begin it again.');
    use();
    return current;
  };
  return {
    begin: async (bytes, name = '') => {
      await remove();
      use();
      await makeFolder(folder);
      if ((await freeBytes(folder)) < bytes + spareBytes)
        throw new StationError('disk_space_low', 'There is not enough free space for this backup.');
      const id = newToken();
      current = { id, path: join(folder, `${id}.age`), bytes, name };
      return id;
    },
    append: async (id, offset, piece) => {
      const { path, bytes } = find(id);
      const there = (await fileBytes(path)) ?? 0;
      if (offset > there) throw new StationError('conflict', 'A piece before this one is missing.');
      if (offset + piece.length > bytes)
        throw new StationError('payload_too_large', 'This is more than the upload was begun with.');
      await writePieceAt(path, offset, piece);
      return Math.max(there, offset + piece.length);
    },
    check: (id) => void find(id),
    complete: async (id) => {
      const { path, bytes, name } = find(id);
      if ((await fileBytes(path)) !== bytes) throw new StationError('conflict', 'The upload is not complete.');
      return { path, name };
    },
    adopt: async ({ path, name }) => {
      use();
      const id = newToken();
      current = { id, path, bytes: (await fileBytes(path)) ?? 0, name };
      return id;
    },
    use,
    remove,
  };
}
