import type { BackupPlace } from '@station/protocol/backup-api';
import type { Database } from '../store/schema.ts';

/** When each backup file was verified, epoch milliseconds. */
export type VerifiedStore = {
  /** Name → time. */
  of(place: BackupPlace): Promise<ReadonlyMap<string, number>>;
  add(place: BackupPlace, name: string, at: number): Promise<void>;
  remove(place: BackupPlace, name: string): Promise<void>;
};

export const createVerifiedStore = (db: Database): VerifiedStore => ({
  of: async (place) => {
    const rows = await db.selectFrom('backup_files').selectAll().where('place', '=', place).execute();
    return new Map(rows.map(({ name, verified_at: at }) => [name, at]));
  },
  add: async (place, name, verified_at) => {
    await db
      .insertInto('backup_files')
      .values({ place, name, verified_at })
      .onConflict((conflict) => conflict.columns(['place', 'name']).doUpdateSet({ verified_at }))
      .execute();
  },
  remove: async (place, name) => {
    await db.deleteFrom('backup_files').where('place', '=', place).where('name', '=', name).execute();
  },
});
