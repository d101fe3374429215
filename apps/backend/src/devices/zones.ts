import { randomUUIDv7 } from 'node:crypto';
import { sql } from 'kysely';
import { type Clock, isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { Zone } from '@station/protocol/devices';
import { sees } from '../core/sight.ts';
import { sightOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Database, DatabaseTransaction, ZonesTable } from '../store/schema.ts';

type ZoneRow = ZonesTable;

export type ZoneStore = {
  /** In the order of the household; those that nobody moved come after them, by name. */
  list(): Promise<ZoneRow[]>;
  has(id: string): Promise<boolean>;
  /** Two zones cannot have the same name, ignoring case: people could not distinguish them. */
  add(name: string): Promise<ZoneRow | 'name_taken'>;
  /** Null when there is no such zone. */
  rename(id: string, name: string): Promise<ZoneRow | 'name_taken' | null>;
  /** Zones that are not named lose their place. Unknown ids are left out. */
  order(ids: readonly string[]): Promise<void>;
  /** Its devices remain, without a zone. @returns the users who were limited to it; null when there is no such zone. */
  remove(id: string): Promise<string[] | null>;
};

export function createZoneStore({ db, clock }: { db: Database; clock: Clock }): ZoneStore {
  return {
    list: () =>
      db
        .selectFrom('zones')
        .selectAll()
        .orderBy(sql`position is null`)
        .orderBy('position')
        .orderBy('name')
        .orderBy('id')
        .execute(),
    has: async (id) =>
      (await db.selectFrom('zones').select('id').where('id', '=', id).executeTakeFirst()) !== undefined,
    add: (name) =>
      db.transaction().execute(async (transaction) => {
        if (await isTaken(transaction, name, null)) return 'name_taken';
        const zone = { id: randomUUIDv7(), name: name.trim(), created_at: clock.now(), position: null };
        await transaction.insertInto('zones').values(zone).execute();
        return zone;
      }),
    rename: (id, name) =>
      db.transaction().execute(async (transaction) => {
        if (await isTaken(transaction, name, id)) return 'name_taken';
        const update = transaction.updateTable('zones').set({ name: name.trim() }).where('id', '=', id).returningAll();
        return (await update.executeTakeFirst()) ?? null;
      }),
    order: (ids) =>
      db.transaction().execute(async (transaction) => {
        await transaction.updateTable('zones').set({ position: null }).execute();
        for (const [position, id] of ids.entries())
          await transaction.updateTable('zones').set({ position }).where('id', '=', id).execute();
      }),
    remove: (id) =>
      db.transaction().execute(async (transaction) => {
        const limited = await transaction
          .selectFrom('member_zones')
          .select('user_id')
          .where('zone_id', '=', id)
          .execute();
        const { numDeletedRows } = await transaction.deleteFrom('zones').where('id', '=', id).executeTakeFirst();
        return numDeletedRows === 1n ? limited.map(({ user_id: userId }) => userId) : null;
      }),
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

/** /api/zones (contracts, section 9). */
export async function registerZoneRoutes(
  app: HttpServer,
  {
    zones,
    hub,
    clock,
    onRemoved,
  }: {
    zones: ZoneStore;
    hub: Pick<SocketHub, 'broadcast'>;
    clock: Clock;
    onRemoved: (limited: readonly string[]) => Promise<void>;
  },
): Promise<void> {
  const tellChanged = (): void => hub.broadcast({ type: 'zones_changed', at: isoTime(clock.now()) }, 'zones_changed');

  serve(app, 'GET /api/zones', async (request, reply) => {
    const seen = (await zones.list()).filter(({ id }) => sees(sightOf(request), id));
    return pageOf({ request, reply }, seen.map(toZone), ({ id }) => id);
  });

  serve(app, 'POST /api/zones', async (request, reply) => {
    const zone = await zones.add(request.body.name);
    if (zone === 'name_taken') throw nameTaken();
    tellChanged();
    return reply.code(201).send(toZone(zone));
  });

  serve(app, 'PUT /api/zones/order', async (request, reply) => {
    await zones.order(request.body.ids);
    tellChanged();
    return reply.code(204).send(null);
  });

  serve(app, 'PATCH /api/zones/:id', async (request) => {
    const zone = await zones.rename(request.params.id, request.body.name);
    if (zone === null) throw noSuchZone();
    if (zone === 'name_taken') throw nameTaken();
    tellChanged();
    return toZone(zone);
  });

  serve(app, 'DELETE /api/zones/:id', async (request, reply) => {
    const limited = await zones.remove(request.params.id);
    if (limited === null) throw noSuchZone();
    tellChanged();
    await onRemoved(limited);
    return reply.code(204).send(null);
  });
}

const noSuchZone = (): StationError => new StationError('not_found', 'There is no such zone.');
const nameTaken = (): StationError => new StationError('conflict', 'There is a zone of this name already.');
const toZone = ({ id, name }: ZoneRow): Zone => ({ id, name });
