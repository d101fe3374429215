import type { StationMigration } from '../migrate.ts';

/** Members who see some zones only, and when the access of a guest ends. */
export const memberLimits: StationMigration = {
  name: '0039-member-limits',
  up: async (db) => {
    await db.schema
      .createTable('member_limits')
      .addColumn('user_id', 'text', (column) => column.primaryKey().references('users.id').onDelete('cascade'))
      .addColumn('ends_at', 'bigint')
      .execute();
    await db.schema
      .createTable('member_zones')
      .addColumn('user_id', 'text', (column) =>
        column.notNull().references('member_limits.user_id').onDelete('cascade'),
      )
      .addColumn('zone_id', 'text', (column) => column.notNull().references('zones.id').onDelete('cascade'))
      .addPrimaryKeyConstraint('member_zones_key', ['user_id', 'zone_id'])
      .execute();
    await db.schema.createIndex('member_zones_zone').on('member_zones').column('zone_id').execute();
    await db.schema.createIndex('devices_zone').on('devices').column('zone_id').execute();
  },
};
