import { basename, dirname } from 'node:path';
import { type Static, Type } from 'typebox';
import { type Clock, isoTime } from '@station/kit/clock';
import { type Disk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';
import { parseAs } from '@station/kit/json';
import type { BackendLogger } from '@station/kit/logger';
import { findDamage, isDamage, isEmpty, openSqliteFile, type SqliteDatabase } from '../core/adapters/sqlite.ts';
import { type DatabaseCopies, databaseSuffixes, removeWithSides } from './database-copies.ts';

type Dependencies = { file: string; disk: Disk; clock: Clock; copies: DatabaseCopies; logger: BackendLogger };

/**
 * Opens the database file in any condition. A damaged file is renamed with the date, never deleted, and the newest good copy replaces it;
 * a missing file is restored too. All of it is logged at level error. After a power cut at any point, the next start finishes the work.
 * @throws errors that are not damage: replacing the file does not repair a full, read-only or forbidden disk.
 */
export async function openOrRestore(dependencies: Dependencies): Promise<SqliteDatabase> {
  const { file, disk, logger, copies } = dependencies;
  await finishReplacement(dependencies);
  // Created here when missing, because SQLite would make it readable for everyone.
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
  await replace(dependencies);
  await disk.remove(suspicion(file));
  return openSqliteFile(file);
}

/** Notes a sign of damage while the file was in use: the next start then checks the whole file. */
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
 * The complete replacement is on disk before a marker starts the exchange. From then on there are only renames, which `finishReplacement`
 * repeats after a crash. Without the marker, a crash after moving the log could leave a file that seems intact but lost its last commits.
 */
async function replace(dependencies: Dependencies): Promise<void> {
  const { file, disk, clock, copies, logger } = dependencies;
  const damaged = `${file}.damaged-${isoTime(clock.now()).replaceAll(/[-:.]/g, '')}`;
  const copy = await copies.unpackNewest(replacement(file));
  if (copy === null) {
    await removeWithSides(disk, replacement(file));
    await disk.write(replacement(file), new Uint8Array(), 0o600);
    await noteLoss(dependencies, damaged);
  }
  await disk.sync(replacement(file));
  await writeDurable(disk, marker(file), damaged);
  await finishReplacement(dependencies);
  if (copy === null) {
    logger.event('database_started_empty', { damaged: basename(damaged), reason: 'There is no good copy to restore' });
  } else {
    logger.event('database_restored', { damaged: basename(damaged), copy: copy.name, copyTakenAt: copy.takenAt });
  }
}

/** A database that was replaced by an empty one. `file`: name of the damaged one, which is kept. */
const DatabaseLoss = Type.Object({ at: Type.String(), file: Type.String() });
export type DatabaseLoss = Static<typeof DatabaseLoss>;

const lossPath = (file: string): string => `${file}.lost`;

async function noteLoss({ file, disk, clock }: Dependencies, damaged: string): Promise<void> {
  const loss: DatabaseLoss = { at: isoTime(clock.now()), file: basename(damaged) };
  await writeDurable(disk, lossPath(file), JSON.stringify(loss));
}

/** Null: the database was not lost, or the station was set up since. The note may be damaged too: then it says nothing. */
export async function readLoss(disk: Disk, file: string): Promise<DatabaseLoss | null> {
  return parseAs(DatabaseLoss, await readText(disk, lossPath(file)));
}

export async function forgetLoss(disk: Disk, file: string): Promise<void> {
  if (await has(disk, lossPath(file))) await removeDurable(disk, lossPath(file));
}

async function finishReplacement({ file, disk }: Dependencies): Promise<void> {
  const damaged = await readText(disk, marker(file));
  if (damaged === null) {
    await removeWithSides(disk, replacement(file));
    return;
  }
  // After the exchange, the files with this name are the good ones.
  if (await has(disk, replacement(file))) {
    for (const suffix of databaseSuffixes) {
      if (await has(disk, file + suffix)) await disk.rename(file + suffix, damaged + suffix);
    }
    await disk.rename(replacement(file), file);
    await disk.sync(dirname(file));
  }
  await removeDurable(disk, marker(file));
}

/** Looks at the directory listing: reading the whole database file would need as much memory as its size. */
async function has(disk: Disk, path: string): Promise<boolean> {
  return (await disk.list(dirname(path))).includes(basename(path));
}
