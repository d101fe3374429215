import { basename, dirname, join } from 'node:path';
import { isoTime, type Clock } from '@station/kit/clock';
import { temporaryPath, type Disk } from '@station/kit/durable-files';
import { findDamageInCopy } from '../core/adapters/sqlite.ts';
import { isBadCompression, unpackFile } from '../core/adapters/zstd.ts';
import { copyDatabase } from './copy-job.ts';

/** Why a copy was taken. Each kind has its own limit of copies. */
export type CopyKind = 'migration' | 'daily';
type DatabaseCopy = { path: string; name: string; kind: CopyKind; takenAt: string };

export type DatabaseCopies = {
  /** Copies the database while it is in use. Resolved means checked and on disk. */
  take(kind: CopyKind, signal?: AbortSignal): Promise<DatabaseCopy>;
  /** Newest first. */
  list(): Promise<DatabaseCopy[]>;
  /**
   * Writes the newest undamaged copy to a new file. Null: there is none, and the file may be there all the same.
   * @throws the error of the file system when the file cannot be written.
   */
  unpackNewest(to: string): Promise<DatabaseCopy | null>;
};

const keptOfEachKind = 3;
const copyName = /^station-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-(migration|daily)\.sqlite\.zst$/;

/**
 * Copies of the SQLite file, compressed, in a directory beside it. They hold the same secrets, so only the owner may read them.
 * @param options.file the database.
 */
export function createDatabaseCopies(options: { file: string; disk: Disk; clock: Clock }): DatabaseCopies {
  const { file, disk, clock } = options;
  const directory = copiesDirectory(file);

  const list = async (): Promise<DatabaseCopy[]> => {
    const copies = (await disk.list(directory)).map((name) => parse(directory, name)).filter((copy) => copy !== null);
    return copies.sort((a, b) => b.takenAt.localeCompare(a.takenAt));
  };

  const removeOld = async (kind: CopyKind): Promise<void> => {
    const old = (await list()).filter((copy) => copy.kind === kind).slice(keptOfEachKind);
    for (const { path } of old) await disk.remove(path);
    // Remains of an interrupted copy.
    const cut = (await disk.list(directory)).filter((name) => name.startsWith('.station-'));
    for (const name of cut) await disk.remove(join(directory, name));
    await disk.sync(directory);
  };

  return {
    list,
    take: async (kind, signal = new AbortController().signal) => {
      const takenAt = isoTime(clock.now());
      const name = `station-${takenAt.replaceAll(/[-:.]/g, '')}-${kind}.sqlite.zst`;
      const path = join(directory, name);
      const temporary = temporaryPath(path);
      await disk.makeDirectory(directory, 0o700);
      try {
        await copyDatabase(file, temporary, signal);
        await disk.rename(temporary, path);
      } catch (error) {
        await disk.remove(temporary);
        throw error;
      }
      await disk.sync(directory);
      await removeOld(kind);
      return { path, name, kind, takenAt };
    },
    unpackNewest: async (to) => {
      for (const copy of await list()) if (await isUnpacked(copy.path, to)) return copy;
      return null;
    },
  };
}

/** @returns false when the copy is damaged or cannot be read. @throws other errors of the file system, such as a full disk. */
async function isUnpacked(copy: string, to: string): Promise<boolean> {
  try {
    await unpackFile(copy, to);
  } catch (error) {
    if (isBadCompression(error) || isBadRead(error)) return false;
    throw error;
  }
  return findDamageInCopy(to) === null;
}

/** A card that wears out has sectors that cannot be read any more; an older copy may be whole. */
const isBadRead = (error: unknown): boolean => error instanceof Error && 'syscall' in error && error.syscall === 'read';

/** Removes a database file together with its write-ahead log and index. */
export async function removeWithSides(disk: Disk, file: string): Promise<void> {
  for (const suffix of databaseSuffixes) await disk.remove(file + suffix);
}

/** The files that SQLite keeps beside a database file; the log is listed before the database. */
export const databaseSuffixes = ['-wal', '-shm', '-journal', ''] as const;

/** Where the copies of a database file are kept. */
export const copiesDirectory = (file: string): string => join(dirname(file), `${basename(file, '.sqlite')}-copies`);

function parse(directory: string, name: string): DatabaseCopy | null {
  const match = copyName.exec(name);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, milliseconds, kind] = match;
  const takenAt = `${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`;
  return { path: join(directory, name), name, kind: kind as CopyKind, takenAt };
}
