import { basename, dirname, join } from 'node:path';
import { isoTime, type Clock } from '@station/kit/clock';
import { temporaryPath, type Disk } from '@station/kit/durable-files';
import { findDamageInCopy, type SqliteDatabase, copyOpenDatabase } from '../core/adapters/sqlite.ts';

/** Why a copy was taken. Each kind has its own limit of copies. */
export type CopyKind = 'migration' | 'daily';
export type DatabaseCopy = { path: string; name: string; kind: CopyKind; takenAt: string };

export type DatabaseCopies = {
  /** Copies the open database while it is in use. Resolved means checked and on disk. */
  take(database: SqliteDatabase, kind: CopyKind): Promise<DatabaseCopy>;
  /** Newest first. */
  list(): Promise<DatabaseCopy[]>;
  /** The newest undamaged copy; null when there is none. */
  newestGood(): Promise<DatabaseCopy | null>;
};

const keptOfEachKind = 3;
const copyName = /^station-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-(migration|daily)\.sqlite$/;

/** Copies of the SQLite file, in a directory beside it. They hold the same secrets, so only the owner may read them. */
export function createDatabaseCopies(options: { directory: string; disk: Disk; clock: Clock }): DatabaseCopies {
  const { directory, disk, clock } = options;

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
    take: async (database, kind) => {
      const takenAt = isoTime(clock.now());
      const name = `station-${takenAt.replaceAll(/[-:.]/g, '')}-${kind}.sqlite`;
      const path = join(directory, name);
      const temporary = temporaryPath(path);
      await disk.makeDirectory(directory, 0o700);
      await disk.write(temporary, new Uint8Array(), 0o600);
      try {
        await copyOpenDatabase(database, temporary);
        const damage = findDamageInCopy(temporary);
        if (damage !== null) throw new Error(`The copy of the database is damaged: ${damage}`);
        await disk.sync(temporary);
        await disk.rename(temporary, path);
      } catch (error) {
        await removeWithSides(disk, temporary);
        throw error;
      }
      await disk.sync(directory);
      await removeOld(kind);
      return { path, name, kind, takenAt };
    },
    newestGood: async () => {
      for (const copy of await list()) if (findDamageInCopy(copy.path) === null) return copy;
      return null;
    },
  };
}

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
