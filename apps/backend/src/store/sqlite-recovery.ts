import { basename, dirname } from 'node:path';
import { type Clock, isoTime } from '@station/kit/clock';
import { type Disk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import {
  copySqliteFile,
  findDamage,
  isDamage,
  isEmpty,
  openSqliteFile,
  type SqliteDatabase,
} from '../adapters/sqlite.ts';
import { type DatabaseCopies, type DatabaseCopy, databaseSuffixes, removeWithSides } from './database-copies.ts';

type Dependencies = { file: string; disk: Disk; clock: Clock; copies: DatabaseCopies; logger: BackendLogger };

/**
 * Opens the database file whatever state it is in. A damaged one is put aside under a dated name, never deleted, and the newest good
 * copy takes its place; a missing one is restored too. All of it is said at level error, and a power cut at any point is
 * finished at the next start.
 * @throws errors that are not damage: a disk that is full, read-only or not permitted is not mended by replacing the file.
 */
export async function openOrRestore(dependencies: Dependencies): Promise<SqliteDatabase> {
  const { file, disk, logger, copies } = dependencies;
  await finishReplacement(dependencies);
  // Made here when missing, because SQLite would let everyone read it.
  if (!(await has(disk, file))) await disk.write(file, new Uint8Array(), 0o600);
  const opened = openAndCheck(file, await has(disk, suspicion(file)));
  if (opened.database !== null && (!isEmpty(opened.database) || (await copies.list()).length === 0)) {
    await disk.remove(suspicion(file));
    return opened.database;
  }
  opened.database?.close();
  logger.event('database_damaged', {
    file: basename(file),
    reason: opened.damage ?? 'It is empty although copies of it exist',
  });
  await replaceBy(dependencies, await copies.newestGood());
  await disk.remove(suspicion(file));
  return openSqliteFile(file);
}

/** Notes that the file gave a sign of damage while in use: the next start then reads it in full. */
export async function suspectDamage(disk: Disk, file: string, reason: string): Promise<void> {
  await writeDurable(disk, suspicion(file), `${reason}\n`);
}

const suspicion = (file: string): string => `${file}.suspected`;

type Opened = { database: SqliteDatabase; damage: null } | { database: null; damage: string };

function openAndCheck(file: string, thorough: boolean): Opened {
  let database: SqliteDatabase;
  try {
    database = openSqliteFile(file);
  } catch (error) {
    if (isDamage(error)) return { database: null, damage: error.message };
    throw error;
  }
  const damage = findDamage(database, thorough);
  if (damage === null) return { database, damage };
  database.close();
  return { database: null, damage };
}

const replacement = (file: string): string => `${file}.restored`;
const marker = (file: string): string => `${file}.replacing`;

/**
 * The replacement is prepared in full and on disk before a marker says that the exchange began. From then on it is only
 * renames, which `finishReplacement` repeats after a crash. Without the marker, a crash after the log was moved could leave the
 * file looking sound while its last commits are gone.
 */
async function replaceBy(dependencies: Dependencies, copy: DatabaseCopy | null): Promise<void> {
  const { file, disk, clock, logger } = dependencies;
  const damaged = `${file}.damaged-${isoTime(clock.now()).replaceAll(/[-:.]/g, '')}`;
  await disk.write(replacement(file), new Uint8Array(), 0o600);
  if (copy !== null) await copySqliteFile(copy.path, replacement(file));
  await disk.sync(replacement(file));
  await writeDurable(disk, marker(file), damaged);
  await finishReplacement(dependencies);
  if (copy === null) {
    logger.event('database_started_empty', { damaged: basename(damaged), reason: 'There is no good copy to restore' });
  } else {
    logger.event('database_restored', { damaged: basename(damaged), copy: copy.name, copyTakenAt: copy.takenAt });
  }
}

async function finishReplacement({ file, disk }: Dependencies): Promise<void> {
  const damaged = await readText(disk, marker(file));
  if (damaged === null) {
    await removeWithSides(disk, replacement(file));
    return;
  }
  // Once the replacement has taken its place, the files of that name are the good ones.
  if (await has(disk, replacement(file))) {
    for (const suffix of databaseSuffixes) {
      if (await has(disk, file + suffix)) await disk.rename(file + suffix, damaged + suffix);
    }
    await disk.rename(replacement(file), file);
    await disk.sync(dirname(file));
  }
  await removeDurable(disk, marker(file));
}

/** By the directory's names: reading a database to see whether it is there would take as much memory as it is long. */
async function has(disk: Disk, path: string): Promise<boolean> {
  return (await disk.list(dirname(path))).includes(basename(path));
}
