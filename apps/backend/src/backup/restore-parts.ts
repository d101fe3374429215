import { join } from 'node:path';
import { sql } from 'kysely';
import { type Disk, writeDurable } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import type { RestorePart } from '@station/protocol/backups';
import { removeTree } from './adapters/backup-files.ts';
import { forgetMeasured } from '../history/history-rows.ts';
import type { Database, DatabaseTransaction, Schema } from '../store/schema.ts';
import { databaseName, deviceTypesName, placesIn } from './backup-places.ts';
import { openRestoreMarker } from './restore-marker.ts';

/**
 * Takes the chosen parts of a prepared backup, when the database is open and nothing uses it yet. All rows change in one transaction; after
 * a crash the next start does the same again.
 * @throws the database's or file system's error; no row was changed then.
 */
export async function restoreParts(options: {
  dataDir: string;
  db: Database;
  disk: Disk;
  logger: BackendLogger;
}): Promise<void> {
  const { dataDir, db, disk, logger } = options;
  const places = placesIn(dataDir);
  const file = openRestoreMarker(disk, places);
  const marker = await file.read();
  if (marker?.phase !== 'ready' || marker.parts === null) return;
  const { parts, backup } = marker;
  await sql`attach database ${join(places.next, databaseName)} as restored`.execute(db);
  try {
    await db.transaction().execute(async (transaction) => {
      for (const part of parts) await takeRows[part](transaction);
    });
  } finally {
    await sql`detach database restored`.execute(db);
  }
  if (parts.includes('device_types')) await takeDeviceTypes(disk, places.next, dataDir);
  await file.remove();
  await removeTree(places.next);
  logger.event('restore_parts_applied', { ...backup, parts: [...parts] });
}

const historyTables = [
  'device_events',
  'device_samples',
  'device_hours',
  'device_hour_parts',
  'device_transitions',
] as const;

/** Both databases have the schema of this release. */
const takeRows: Record<RestorePart, (transaction: DatabaseTransaction) => Promise<void>> = {
  automations: async (transaction) => {
    await sql`delete from automations where id not in (select id from restored.automations)`.execute(transaction);
    // The others are not deleted first: that would delete their runs too.
    const columns = await columnsOf(transaction, 'automations');
    const taken = columns
      .filter((name) => name !== 'id')
      .map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`);
    await insert(transaction, 'automations', sql`where true on conflict (id) do update set ${sql.join(taken)}`);
    await transaction.deleteFrom('scenes').execute();
    await insert(transaction, 'scenes');
  },
  people: async (transaction) => {
    // Members and sessions go with their users; everybody logs in again.
    await transaction.deleteFrom('users').execute();
    await insert(transaction, 'users');
    await insert(transaction, 'station_members');
    await insert(transaction, 'member_limits');
    // A zone that this station does not have opens nothing.
    await insert(transaction, 'member_zones', sql`where zone_id in (select id from zones)`);
    await insert(transaction, 'passkeys');
    await insert(transaction, 'notification_preferences');
    await insert(transaction, 'favourites', sql`where device_id in (select id from devices)`);
    // The cloud that closed them may not be the one of this station.
    await transaction.updateTable('users').set({ closed_at: null }).where('closed_at', 'is not', null).execute();
    await sql`update station set owner_id = (select owner_id from restored.station)`.execute(transaction);
  },
  history: async (transaction) => {
    // What the station has recorded itself stays; of devices that it does not have there is no history.
    for (const table of historyTables) {
      await insert(transaction, table, sql`where device_id in (select id from devices) on conflict do nothing`);
    }
    await forgetMeasured(transaction);
  },
  device_types: async (transaction) => {
    await transaction.deleteFrom('device_types').execute();
    await insert(transaction, 'device_types');
  },
};

/** Copies rows by the names of the columns: their order depends on the order of the migrations. */
async function insert(transaction: DatabaseTransaction, table: keyof Schema, rest = sql``): Promise<void> {
  const columns = sql.join((await columnsOf(transaction, table)).map((name) => sql.ref(name)));
  await sql`insert into ${sql.table(table)} (${columns}) select ${columns} from restored.${sql.table(table)} ${rest}`.execute(
    transaction,
  );
}

async function columnsOf(transaction: DatabaseTransaction, table: keyof Schema): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(transaction);
  return rows.map(({ name }) => name);
}

async function takeDeviceTypes(disk: Disk, from: string, dataDir: string): Promise<void> {
  const folder = join(dataDir, deviceTypesName);
  await disk.makeDirectory(folder, 0o700);
  for (const name of await disk.list(join(from, deviceTypesName))) {
    const content = await disk.read(join(from, deviceTypesName, name));
    if (content !== null) await writeDurable(disk, join(folder, name), content);
  }
}
