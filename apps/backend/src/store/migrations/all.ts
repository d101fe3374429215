import { PostgresAdapter, sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';
import { automationTables, notificationTables } from './0001-automations.ts';
import { deviceTables, firmwareTables, provisioningTables } from './0001-devices.ts';
import { historyTables } from './0001-history.ts';
import { peopleTables } from './0001-people.ts';
import { reportLog } from './0002-report-log.ts';
import { gateways } from './0003-gateways.ts';
import { consumers } from './0004-consumers.ts';
import { discoveryPrefix } from './0005-discovery-prefix.ts';
import { cloudTables, stationTables } from './0001-station.ts';

/** The tables of the first release; a table comes after those that it names. */
const firstRelease: StationMigration = {
  name: '0001-first-release',
  up: async (db) => {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const tables = [
      peopleTables,
      stationTables,
      deviceTables,
      historyTables,
      automationTables,
      notificationTables,
      firmwareTables,
      provisioningTables,
      cloudTables,
    ].flat();
    for (const statement of tables)
      await sql.raw(isPostgres ? statement.replace(sqliteSequence, 'bigserial primary key') : statement).execute(db);
  },
};

/** A number that no later row gets again: the one type that the two databases write differently. */
const sqliteSequence = 'integer primary key autoincrement';

/** Every migration, oldest first. Listed by hand, so that they are inside the one bundled file. Never change one that was released. */
export const migrations: readonly StationMigration[] = [firstRelease, reportLog, gateways, consumers, discoveryPrefix];
