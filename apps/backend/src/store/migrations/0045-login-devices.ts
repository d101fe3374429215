import type { StationMigration } from '../migrate.ts';

/** Browsers that logged in to an account before. */
export const loginDevices: StationMigration = {
  name: '0045-login-devices',
  up: async (db) => {
    await db.schema
      .createTable('login_devices')
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('token_hash', 'text', (column) => column.notNull())
      .addColumn('session_id', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('login_devices_key', ['user_id', 'token_hash'])
      .execute();
  },
};
