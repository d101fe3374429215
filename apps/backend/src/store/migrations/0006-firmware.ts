import type { Kysely } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Firmware files, and how they go to the devices. */
export const firmware: StationMigration = {
  name: '0006-firmware',
  up: async (db) => {
    await createImages(db);
    await createRollouts(db);
    await createTargets(db);
  },
};

async function createImages(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('firmware_images')
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('file', 'text', (column) => column.notNull())
    .addColumn('checksum', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('chip', 'text')
    .addColumn('min_version', 'text')
    .addColumn('ready_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('firmware_images_key', ['type', 'version'])
    .execute();
  await db.schema
    .createTable('firmware_modes')
    .addColumn('type', 'text', (column) => column.primaryKey())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function createRollouts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('firmware_rollouts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('wave', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('requested_by', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('firmware_rollouts_type')
    .on('firmware_rollouts')
    .columns(['type', 'version', 'id'])
    .execute();
}

async function createTargets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('firmware_targets')
    .addColumn('rollout_id', 'text', (column) =>
      column.notNull().references('firmware_rollouts.id').onDelete('cascade'),
    )
    .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('phase', 'text')
    .addColumn('percent', 'integer')
    .addColumn('wave', 'integer')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('interruptions', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('not_before', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('firmware_targets_key', ['rollout_id', 'device_id'])
    .execute();
  await db.schema.createIndex('firmware_targets_state').on('firmware_targets').columns(['state']).execute();
}
