import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { Database, ZonesTable } from '../store/schema.ts';

export type ZoneRow = ZonesTable;

export type ZoneStore = {
  /** By name. */
  list(): Promise<ZoneRow[]>;
  has(id: string): Promise<boolean>;
  add(name: string): Promise<ZoneRow>;
  /** Null when there is no such zone. */
  rename(id: string, name: string): Promise<ZoneRow | null>;
  /** Its devices stay, without a zone. @returns false when there is no such zone. */
  remove(id: string): Promise<boolean>;
};

export function createZoneStore({ db, clock }: { db: Database; clock: Clock }): ZoneStore {
  return {
    list: () => db.selectFrom('zones').selectAll().orderBy('name').orderBy('id').execute(),
    has: async (id) =>
      (await db.selectFrom('zones').select('id').where('id', '=', id).executeTakeFirst()) !== undefined,
    add: async (name) => {
      const zone = { id: randomUUIDv7(), name: name.trim(), created_at: clock.now() };
      await db.insertInto('zones').values(zone).execute();
      return zone;
    },
    rename: async (id, name) => {
      const update = db.updateTable('zones').set({ name: name.trim() }).where('id', '=', id).returningAll();
      return (await update.executeTakeFirst()) ?? null;
    },
    remove: async (id) => (await db.deleteFrom('zones').where('id', '=', id).executeTakeFirst()).numDeletedRows === 1n,
  };
}
