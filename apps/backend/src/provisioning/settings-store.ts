import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import type { Database } from '../store/schema.ts';
import type { SecretBox } from '../store/secret-box.ts';

/** Name of the setting that holds the Wi-Fi for new devices. */
export const wifiSetting = 'wifi';

/** Settings by name, JSON values; the secret ones are encrypted. */
export type SettingsStore = {
  /** Null when it was never set, or what is kept does not fit the schema any more. */
  read<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  write(key: string, value: unknown): Promise<void>;
  /** Null also when the key it was encrypted with is gone. */
  readSecret<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  writeSecret(key: string, value: unknown): Promise<void>;
  /** Epoch milliseconds; null when it was never set. */
  updatedAt(key: string): Promise<number | null>;
  remove(key: string): Promise<void>;
};

export function createSettingsStore({ db, box, clock }: { db: Database; box: SecretBox; clock: Clock }): SettingsStore {
  const readText = async (key: string): Promise<string | null> => {
    const row = await db.selectFrom('settings').select('value').where('key', '=', key).executeTakeFirst();
    return row?.value ?? null;
  };
  const writeText = async (key: string, value: string): Promise<void> => {
    const set = { value, updated_at: clock.now() };
    await db
      .insertInto('settings')
      .values({ key, ...set })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(set))
      .execute();
  };
  const fitting = <T extends TSchema>(text: string | null, schema: T): Static<T> | null => {
    if (text === null) return null;
    const value: unknown = JSON.parse(text);
    return Value.Check(schema, value) ? value : null;
  };
  return {
    read: async (key, schema) => fitting(await readText(key), schema),
    write: (key, value) => writeText(key, JSON.stringify(value)),
    readSecret: async (key, schema) => {
      const sealed = await readText(key);
      return fitting(sealed === null ? null : box.open(sealed, key), schema);
    },
    writeSecret: (key, value) => writeText(key, box.seal(JSON.stringify(value), key)),
    updatedAt: async (key) => {
      const row = await db.selectFrom('settings').select('updated_at').where('key', '=', key).executeTakeFirst();
      return row?.updated_at ?? null;
    },
    remove: async (key) => {
      await db.deleteFrom('settings').where('key', '=', key).execute();
    },
  };
}
