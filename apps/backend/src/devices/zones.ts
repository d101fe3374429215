import { randomUUIDv7 } from 'node:crypto';
import { Type } from 'typebox';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { NewZone, Zone, type Zone as ZoneBody, Zones } from '@station/protocol/devices';
import { Id, PageQuery } from '@station/protocol/rest';
import { pageOf } from '../http/pages.ts';
import type { HttpServer } from '../http/server.ts';
import type { Database, DatabaseTransaction, ZonesTable } from '../store/schema.ts';

type ZoneRow = ZonesTable;

export type ZoneStore = {
  /** Sorted by name. */
  list(): Promise<ZoneRow[]>;
  has(id: string): Promise<boolean>;
  /** Two zones cannot have the same name, ignoring case: people could not distinguish them. */
  add(name: string): Promise<ZoneRow | 'name_taken'>;
  /** Null when there is no such zone. */
  rename(id: string, name: string): Promise<ZoneRow | 'name_taken' | null>;
  /** Its devices remain, without a zone. @returns false when there is no such zone. */
  remove(id: string): Promise<boolean>;
};

export function createZoneStore({ db, clock }: { db: Database; clock: Clock }): ZoneStore {
  return {
    list: () => db.selectFrom('zones').selectAll().orderBy('name').orderBy('id').execute(),
    has: async (id) =>
      (await db.selectFrom('zones').select('id').where('id', '=', id).executeTakeFirst()) !== undefined,
    add: (name) =>
      db.transaction().execute(async (transaction) => {
        if (await isTaken(transaction, name, null)) return 'name_taken';
        const zone = { id: randomUUIDv7(), name: name.trim(), created_at: clock.now() };
        await transaction.insertInto('zones').values(zone).execute();
        return zone;
      }),
    rename: (id, name) =>
      db.transaction().execute(async (transaction) => {
        if (await isTaken(transaction, name, id)) return 'name_taken';
        const update = transaction.updateTable('zones').set({ name: name.trim() }).where('id', '=', id).returningAll();
        return (await update.executeTakeFirst()) ?? null;
      }),
    remove: async (id) => (await db.deleteFrom('zones').where('id', '=', id).executeTakeFirst()).numDeletedRows === 1n,
  };
}

/**
 * Whether another zone has this name. There is no unique index, because old stations may have duplicates. The lower case is computed here,
 * because SQLite only does it for ASCII.
 */
async function isTaken(transaction: DatabaseTransaction, name: string, exceptId: string | null): Promise<boolean> {
  // This statement serialises concurrent requests, so that two of them cannot both find the name free.
  await transaction
    .updateTable('station')
    .set(({ ref }) => ({ name: ref('name') }))
    .execute();
  const zones = await transaction.selectFrom('zones').select(['id', 'name']).execute();
  return zones.some((zone) => zone.id !== exceptId && sameName(zone.name) === sameName(name));
}

const sameName = (name: string): string => name.trim().normalize('NFKC').toLowerCase();

const Params = Type.Object({ id: Id });

/** /api/zones (contracts, section 9). */
export async function registerZoneRoutes(app: HttpServer, { zones }: { zones: ZoneStore }): Promise<void> {
  const forAdmins = { access: { station: 'admin' } } as const;
  const tags = ['zones'];

  app.get(
    '/api/zones',
    { config: { access: 'user' }, schema: { tags, querystring: PageQuery, response: { 200: Zones } } },
    async (request, reply) => pageOf({ request, reply }, (await zones.list()).map(toZone), ({ id }) => id),
  );

  app.post(
    '/api/zones',
    { config: forAdmins, schema: { tags, body: NewZone, response: { 201: Zone } } },
    async (request, reply) => {
      const zone = await zones.add(request.body.name);
      if (zone === 'name_taken') throw nameTaken();
      return reply.code(201).send(toZone(zone));
    },
  );

  app.patch(
    '/api/zones/:id',
    { config: forAdmins, schema: { tags, params: Params, body: NewZone, response: { 200: Zone } } },
    async (request) => {
      const zone = await zones.rename(request.params.id, request.body.name);
      if (zone === null) throw noSuchZone();
      if (zone === 'name_taken') throw nameTaken();
      return toZone(zone);
    },
  );

  app.delete(
    '/api/zones/:id',
    { config: forAdmins, schema: { tags, params: Params, response: { 204: Type.Null() } } },
    async (request, reply) => {
      if (!(await zones.remove(request.params.id))) throw noSuchZone();
      return reply.code(204).send(null);
    },
  );
}

const noSuchZone = (): StationError => new StationError('not_found', 'There is no such zone.');
const nameTaken = (): StationError => new StationError('conflict', 'There is a zone of this name already.');
const toZone = ({ id, name }: ZoneRow): ZoneBody => ({ id, name });
