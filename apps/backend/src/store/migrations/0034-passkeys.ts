import type { StationMigration } from '../migrate.ts';

/** Passkeys of users, and the challenges that were answered. A release that does not know them offers passwords only. */
export const passkeys: StationMigration = {
  name: '0034-passkeys',
  up: async (db) => {
    await db.schema
      .createTable('passkeys')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('rp_id', 'text', (column) => column.notNull())
      .addColumn('credential_id', 'text', (column) => column.notNull().unique())
      .addColumn('public_key', 'text', (column) => column.notNull())
      .addColumn('counter', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint')
      .execute();
    await db.schema.createIndex('passkeys_user').on('passkeys').column('user_id').execute();
    await db.schema
      .createTable('used_challenges')
      .addColumn('challenge', 'text', (column) => column.primaryKey())
      .addColumn('used_at', 'bigint', (column) => column.notNull())
      .execute();
  },
};
