import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Dialect, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { openSqliteFile } from '../../adapters/sqlite.ts';
import { createSqliteDialect } from '../../adapters/sqlite-dialect.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { migrate } from '../migrate.ts';
import type { Database, Schema } from '../schema.ts';
import { migrations } from './all.ts';

async function openDatabase(): Promise<AsyncDisposable & { db: Kysely<unknown> }> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryFolder());
  const dialect = await dialectIn(folder.path, opening);
  const db = new Kysely<unknown>({ dialect });
  opening.defer(() => db.destroy());
  const opened = opening.move();
  return { db, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function dialectIn(folder: string, opening: AsyncDisposableStack): Promise<Dialect> {
  if (postgresUrl === null) {
    return createSqliteDialect(openSqliteFile(join(folder, 'test.sqlite')), (error) => assert.ifError(error));
  }
  const { url } = opening.use(await postgresDatabase(postgresUrl, folder));
  const pool = new pg.Pool({ connectionString: url });
  pool.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined));
  return new PostgresDialect({ pool });
}

const ownIndex = migrations.findIndex(({ name }) => name === '0020-device-types');

/** Devices as Station's first release stored them: id, type and state. */
const devices: [id: string, type: string, state: object, typeAfterwards: string][] = [
  ['lamp', 'light', { power: true, brightness: 40 }, 'light-v1'],
  ['field-lamp', 'light', { on: true, brightness: 40 }, 'light'],
  ['new-lamp', 'light', {}, 'light'],
  ['named-lamp', 'light', { label: '"power":' }, 'light'],
  ['switch', 'switch-pir', { motion: false, power: false }, 'switch-pir-v1'],
  ['field-switch', 'switch-pir', { motion: false }, 'switch-pir'],
  ['detector', 'pir', { motion: true, battery: 80 }, 'pir-v1'],
  ['field-detector', 'pir', { motion: true }, 'pir'],
  ['sensor', 'climate', { temperature: 21, battery: 80 }, 'climate-v1'],
  ['field-sensor', 'climate', { temperature: 21, pressure: 1013 }, 'climate'],
  ['valve', 'valve', { power: true, battery: 3 }, 'valve'],
];

async function addFirstReleaseData(db: Database): Promise<void> {
  const flow = JSON.stringify({ nodes: [{ data: { deviceId: 'lamp', capability: 'power' } }], edges: [] });
  for (const [id, type, state] of devices) {
    await sql`INSERT INTO devices (id, external_id, type, name, device_token, state, created_at)
      VALUES (${id}, ${`x-${id}`}, ${type}, ${`Name of ${id}`}, ${`token ${id}`}, ${JSON.stringify(state)}, 1)`.execute(
      db,
    );
    await sql`INSERT INTO device_events (id, device_id, kind, data, at)
      VALUES (${`event ${id}`}, ${id}, 'device_event', '{}', 1)`.execute(db);
    await sql`INSERT INTO device_samples (device_id, capability, at, value) VALUES (${id}, 'battery', 1, 80)`.execute(
      db,
    );
    await sql`INSERT INTO device_hours (device_id, capability, hour, samples, total, lowest, highest)
      VALUES (${id}, 'battery', 0, 2, 161, 80, 81)`.execute(db);
  }
  await sql`INSERT INTO device_commands (id, device_id, action, status, at, expires_at)
    VALUES ('command', 'lamp', 'set_power', 'pending', 1, 2)`.execute(db);
  await sql`INSERT INTO device_types (type, definition, updated_at) VALUES ('old', '{}', 1)`.execute(db);
  await sql`INSERT INTO automations (id, name, mode, flow, published_flow, revision, created_at, updated_at)
    VALUES ('automation', 'Evening', 'single', ${flow}, ${flow}, 1, 1, 1)`.execute(db);
}

test('devices of the first release get types of their own, with their history and automations intact', async () => {
  await using opened = await openDatabase();
  await migrate(opened.db, migrations.slice(0, ownIndex));
  const db = opened.db as Kysely<Schema>;
  await addFirstReleaseData(db);
  const contentOf = async () => ({
    events: await db.selectFrom('device_events').selectAll().orderBy('id').execute(),
    samples: await db.selectFrom('device_samples').selectAll().orderBy('device_id').execute(),
    hours: await db.selectFrom('device_hours').selectAll().orderBy('device_id').execute(),
    automations: await db.selectFrom('automations').selectAll().execute(),
    devices: await db.selectFrom('devices').select(['id', 'name', 'state', 'device_token']).orderBy('id').execute(),
  });
  const before = await contentOf();
  assert.equal(before.hours.length, devices.length);
  await migrate(opened.db, migrations.slice(0, ownIndex + 1));
  const rows = await db.selectFrom('devices').select(['id', 'type']).execute();
  assert.deepEqual(
    Object.fromEntries(rows.map(({ id, type }) => [id, type])),
    Object.fromEntries(devices.map(([id, , , type]) => [id, type])),
  );
  assert.deepEqual(await contentOf(), before);
  const command = await db.selectFrom('device_commands').selectAll().executeTakeFirstOrThrow();
  assert.deepEqual([command.status, command.confirmation], ['pending', null]);
  const type = await db.selectFrom('device_types').selectAll().executeTakeFirstOrThrow();
  assert.deepEqual([type.type, type.source], ['old', 'handshake']);
});
