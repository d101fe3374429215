import type { Sight } from '../core/sight.ts';
import { sightOf, userOf } from '../http/access.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { Database } from '../store/schema.ts';

type Parts = { db: Database; devices: Pick<DeviceStore, 'seen'> };

type FavouriteStore = {
  /** Ids of devices in the order that the person chose. */
  list(userId: string, sight: Sight): Promise<string[]>;
  /** Devices that do not exist any more, or that the person does not see, are left out. */
  replace(userId: string, sight: Sight, deviceIds: readonly string[]): Promise<void>;
};

function createFavouriteStore({ db, devices }: Parts): FavouriteStore {
  return {
    list: async (userId, sight) => {
      const rows = db.selectFrom('favourites').select('device_id').where('user_id', '=', userId).orderBy('position');
      const ids = (await rows.execute()).map((row) => row.device_id);
      if (ids.length === 0) return ids;
      const seen = await devices.seen(sight);
      return ids.filter((id) => seen.has(id));
    },
    replace: async (userId, sight, deviceIds) => {
      const seen = await devices.seen(sight);
      await db.transaction().execute(async (transaction) => {
        await transaction.deleteFrom('favourites').where('user_id', '=', userId).execute();
        if (deviceIds.length === 0) return;
        const known = await transaction.selectFrom('devices').select('id').where('id', 'in', deviceIds).execute();
        const there = new Set(known.map(({ id }) => id));
        const rows = deviceIds
          .filter((id) => there.has(id) && seen.has(id))
          .map((id, position) => ({ user_id: userId, device_id: id, position }));
        if (rows.length > 0) await transaction.insertInto('favourites').values(rows).execute();
      });
    },
  };
}

/** /api/favourites: everybody has their own. */
export async function registerFavouriteRoutes(app: HttpServer, parts: Parts): Promise<void> {
  const favourites = createFavouriteStore(parts);

  serve(app, 'GET /api/favourites', async (request) => ({
    deviceIds: await favourites.list(userOf(request).userId, sightOf(request)),
  }));

  serve(app, 'PUT /api/favourites', async (request) => {
    const { userId } = userOf(request);
    await favourites.replace(userId, sightOf(request), request.body.deviceIds);
    return { deviceIds: await favourites.list(userId, sightOf(request)) };
  });
}
