import { Type } from 'typebox';
import { CloudActivities } from '@station/protocol/cloud-activity';
import { CloudClaim, CloudDeadLetters, CloudStatus, SentAgain } from '@station/protocol/cloud';
import { StationError } from '@station/kit/station-error';
import type { Cloud } from './cloud.ts';
import { disabledStatus } from './status.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';

/** /api/cloud (contracts, section 9). @param cloud null: there is none. */
export async function registerCloudRoutes(
  app: HttpServer,
  { cloud }: { cloud: Omit<Cloud, typeof Symbol.asyncDispose> | null },
): Promise<void> {
  const tags = ['cloud'];

  app.get(
    '/api/cloud/status',
    { config: { access: 'user' }, schema: { tags, response: { 200: CloudStatus } } },
    async () => (await cloud?.status()) ?? disabledStatus,
  );

  app.get(
    '/api/cloud/claim',
    { config: { access: { station: 'owner', orFormerOwner: true } }, schema: { tags, response: { 200: CloudClaim } } },
    async () => {
      const claim = (await cloud?.claim()) ?? null;
      if (claim === null) throw new StationError('conflict', 'There is no cloud, or the station is claimed already.');
      return claim;
    },
  );

  app.post(
    '/api/cloud/unclaim',
    { config: { access: { station: 'owner', orFormerOwner: true } }, schema: { tags, response: { 204: Type.Null() } } },
    async (_request, reply) => {
      if (cloud === null) throw new StationError('conflict', 'There is no cloud.');
      await cloud.unclaim();
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/api/cloud/activity',
    { config: { access: 'user' }, schema: { tags, response: { 200: CloudActivities } } },
    async () => [...(cloud?.activity() ?? [])],
  );

  app.get(
    '/api/cloud/dead-letters',
    { config: { access: { station: 'admin' } }, schema: { tags, response: { 200: CloudDeadLetters } } },
    async () => {
      if (cloud === null) throw new StationError('conflict', 'There is no cloud.');
      return cloud.deadLetters();
    },
  );

  app.post(
    '/api/cloud/dead-letters/send',
    { config: { access: { station: 'admin' } }, schema: { tags, response: { 200: SentAgain } } },
    async (request) => {
      if (cloud === null) throw new StationError('conflict', 'There is no cloud.');
      return { count: await cloud.resendDeadLetters(userOf(request).userId) };
    },
  );
}
