import { Type } from 'typebox';
import { NewZone, Zone, Zones, type Zone as ZoneBody } from '@station/protocol/devices';
import { Id } from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';
import type { ZoneRow, ZoneStore } from './zone-store.ts';
import type { HttpServer } from '../http/server.ts';

const Params = Type.Object({ id: Id });

/** /api/zones (contracts, section 9). */
export async function registerZoneRoutes(app: HttpServer, { zones }: { zones: ZoneStore }): Promise<void> {
  const forAdmins = { access: { station: 'admin' } } as const;
  const tags = ['zones'];

  app.get('/api/zones', { config: { access: 'user' }, schema: { tags, response: { 200: Zones } } }, async () =>
    (await zones.list()).map(toZone),
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
