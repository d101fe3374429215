import { StationError } from '@station/kit/station-error';
import type { Cloud } from './cloud.ts';
import { disabledStatus } from './status.ts';
import { userOf } from '../http/access.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';

/** /api/cloud (contracts, section 9). @param cloud null: there is none. */
export async function registerCloudRoutes(
  app: HttpServer,
  { cloud }: { cloud: Omit<Cloud, typeof Symbol.asyncDispose> | null },
): Promise<void> {
  serve(app, 'GET /api/cloud/status', async () => (await cloud?.status()) ?? disabledStatus);

  serve(app, 'GET /api/cloud/claim', async () => {
    const claim = (await cloud?.claim()) ?? null;
    if (claim === null) throw new StationError('conflict', 'There is no cloud, or the station is claimed already.');
    return claim;
  });

  serve(app, 'POST /api/cloud/unclaim', async (_request, reply) => {
    if (cloud === null) throw new StationError('conflict', 'There is no cloud.');
    await cloud.unclaim();
    return reply.code(204).send(null);
  });

  serve(app, 'GET /api/cloud/activity', async () => [...(cloud?.activity() ?? [])]);

  serve(app, 'GET /api/cloud/dead-letters', async () => {
    if (cloud === null) throw new StationError('conflict', 'There is no cloud.');
    return cloud.deadLetters();
  });

  serve(app, 'POST /api/cloud/dead-letters/send', async (request) => {
    if (cloud === null) throw new StationError('conflict', 'There is no cloud.');
    return { count: await cloud.resendDeadLetters(userOf(request).userId) };
  });
}
