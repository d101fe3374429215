import { cpSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A lost database; one restored from an older copy; the one that was in use before. */
export type Swap = 'empty' | 'older' | 'back';

/** Exchanges the database of a stopped backend. Nothing is deleted, so that all of them can be read in the end. */
export type SwappedDatabases = {
  /** What is in use: `main`, `empty` or `older`. */
  current(): 'main' | 'empty' | 'older';
  /** Copies the database for later swaps to `older`. */
  keepAsOlder(): void;
  swap(to: Swap): void;
  /** Rows of all databases that were ever in use. A database without the table has none. */
  query<Row>(sql: string): Row[];
};

export function createSwappedDatabases(dataDir: string, savedDir: string): SwappedDatabases {
  let current: ReturnType<SwappedDatabases['current']> = 'main';
  let swaps = 0;
  mkdirSync(savedDir, { recursive: true });
  const older = join(savedDir, 'as-older');
  /** The file, its write-ahead log and its copies, from which the backend would restore it. */
  const parts = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('station'));
  const place = (folder: string, how: (from: string, to: string) => void): void => {
    for (const name of parts(folder)) how(join(folder, name), join(dataDir, name));
  };
  return {
    current: () => current,
    keepAsOlder: () => {
      mkdirSync(older);
      for (const name of parts(dataDir)) cpSync(join(dataDir, name), join(older, name), { recursive: true });
    },
    swap: (to) => {
      const aside = join(savedDir, current === 'main' ? 'main' : `${current}-${(swaps += 1)}`);
      mkdirSync(aside, { recursive: true });
      for (const name of parts(dataDir)) renameSync(join(dataDir, name), join(aside, name));
      if (to === 'back') place(join(savedDir, 'main'), renameSync);
      if (to === 'older') place(older, (from, into) => cpSync(from, into, { recursive: true }));
      current = to === 'back' ? 'main' : to;
    },
    query: <Row>(sql: string) => {
      const folders = [dataDir, ...readdirSync(savedDir).map((name) => join(savedDir, name))];
      const files = folders.map((folder) => join(folder, 'station.sqlite'));
      return files.flatMap((file) => readRows<Row>(file, sql));
    },
  };
}

function readRows<Row>(file: string, sql: string): Row[] {
  try {
    using database = new DatabaseSync(file, { timeout: 5_000 });
    return database.prepare(sql).all() as Row[];
  } catch (error) {
    if (error instanceof Error && /no such table|unable to open/.test(error.message)) return [];
    throw error;
  }
}
