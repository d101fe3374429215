import { sql, type Kysely } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Zones, device types, devices and what they report. */
export const devices: StationMigration = {
  name: '0002-devices',
  up: async (db) => {
    await createZonesAndTypes(db);
    await createDevices(db);
    await createEvents(db);
  },
};

async function createZonesAndTypes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('zones')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('device_types')
    .addColumn('type', 'text', (column) => column.primaryKey())
    .addColumn('definition', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function createDevices(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('devices')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('external_id', 'text', (column) => column.notNull().unique())
    // No foreign key: a device may be of a type that this release does not know.
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('zone_id', 'text', (column) => column.references('zones.id').onDelete('set null'))
    .addColumn('device_token', 'text', (column) => column.notNull().unique())
    .addColumn('status', 'text', (column) =>
      column
        .notNull()
        .defaultTo('unknown')
        .check(sql`status in ('unknown', 'online', 'offline')`),
    )
    .addColumn('status_at', 'bigint')
    .addColumn('last_seen_at', 'bigint')
    .addColumn('state', 'text', (column) => column.notNull().defaultTo('{}'))
    .addColumn('state_at', 'bigint')
    .addColumn('firmware_version', 'text')
    .addColumn('chip', 'text')
    .addColumn('kit_tag', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function createEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('device_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
  // UUIDv7 ids sort by time: they serve as the cursor of the activity feed.
  await db.schema.createIndex('device_events_device').on('device_events').columns(['device_id', 'id']).execute();
  await db.schema.createIndex('device_events_at').on('device_events').column('at').execute();
}
