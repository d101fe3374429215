import type { StationMigration } from '../migrate.ts';

/** Failed log-ins with a delay, and the networks from which people logged in before. */
export const loginLimits: StationMigration = {
  name: '0033-login-limits',
  up: async (db) => {
    await db.schema
      .createTable('login_counts')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('failures', 'double precision', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('login_networks')
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('network', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('login_networks_key', ['user_id', 'network'])
      .execute();
  },
};
