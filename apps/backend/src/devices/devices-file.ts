import { hash } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { readText, type Disk } from '@station/kit/durable-files';
import { parseJson } from '@station/kit/json';
import { isExternalId } from '@station/protocol/topics';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { hashToken } from '../core/secrets.ts';
import { forgetUnregistered } from '../store/removed-device-store.ts';
import { newDeviceRow } from '../store/device-store.ts';
import type { Database } from '../store/schema.ts';

/**
 * Devices that got their login in advance (at the factory, from an installer, in a simulation) and not over BLE. DEVICES_FILE names a file
 * of this form. It holds tokens, so only the station's user should be able to read it.
 */
const DevicesFile = Type.Object({
  devices: Type.Array(
    Type.Object({
      externalId: Type.String({ minLength: 1, maxLength: 64 }),
      type: Type.String({ minLength: 1, maxLength: 64 }),
      name: Type.String({ minLength: 1, maxLength: 100 }),
      token: Type.String({ minLength: 32, maxLength: 256, description: 'The MQTT password; random.' }),
    }),
    { maxItems: 10_000 },
  ),
});
type DevicesFile = Static<typeof DevicesFile>;

export type FileLogin = { externalId: string; token: string };

const settingKey = 'devices_file';

/**
 * Adds the devices of the file that the station does not have. The same content is imported only once, so that a removed device does not
 * return at the next start.
 * @returns how many were added, and the logins of the file that are the current logins of their devices.
 * @throws {Error} when the file is missing or does not match the schema.
 */
export async function importDevices(options: {
  db: Database;
  disk: Disk;
  path: string;
  clock: Clock;
}): Promise<{ added: number; logins: FileLogin[] }> {
  const { db, clock } = options;
  const text = await readText(options.disk, options.path);
  if (text === null) throw new Error('The file that DEVICES_FILE names does not exist');
  const digest = hash('sha256', text);
  const { devices } = parse(text);
  const read = await db.selectFrom('settings').select('value').where('key', '=', settingKey).executeTakeFirst();
  const added = read?.value === digest ? 0 : await addDevices(db, devices, digest, clock.now());
  const rows = await db.selectFrom('devices').select(['external_id', 'device_token']).execute();
  const hashes = new Map(rows.map((row) => [row.external_id, row.device_token]));
  const logins = devices.filter(({ externalId, token }) => hashes.get(externalId) === hashToken(token));
  return { added, logins: logins.map(({ externalId, token }) => ({ externalId, token })) };
}

function addDevices(db: Database, devices: DevicesFile['devices'], digest: string, now: number): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    let added = 0;
    for (const { externalId, type, name, token } of devices) {
      const row = newDeviceRow({ externalId, type, name, zoneId: null }, hashToken(token), now);
      const { numInsertedOrUpdatedRows = 0n } = await transaction
        .insertInto('devices')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows === 0n) continue;
      added += 1;
      await forgetUnregistered(transaction, [externalId]);
    }
    await transaction
      .insertInto('settings')
      .values({ key: settingKey, value: digest, updated_at: now })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: digest, updated_at: now }))
      .execute();
    return added;
  });
}

function parse(text: string): DevicesFile {
  const body = parseJson(text);
  // The parser's own message would repeat a piece of the text, perhaps a token.
  if (body === undefined) throw new Error('The file of DEVICES_FILE is not JSON');
  if (!Value.Check(DevicesFile, body)) {
    const [fault] = Value.Errors(DevicesFile, body);
    throw new Error(`The file of DEVICES_FILE does not match its schema, at ${fault?.instancePath ?? ''}`);
  }
  const bad = body.devices.findIndex(({ externalId }) => !isExternalId(externalId));
  if (bad >= 0) throw new Error(`The external id at /devices/${bad} of DEVICES_FILE cannot be part of a topic`);
  return body;
}
