import type { FastifyReply, RouteOptions } from 'fastify';
import type { AccessRule } from '@station/protocol/route';
import { writeOpenApi } from './adapters/openapi-document.ts';
import { serve } from './serve.ts';
import { compilersFactory, type HttpServer } from './server.ts';

/** A route with the fields that documentation and tests need. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'> & { access: AccessRule };

/**
 * GET /api/openapi.json. It is written at the first request, from the routes that `collectRoutes` recorded.
 */
export async function registerDocsRoutes(
  app: HttpServer,
  { routes, version }: { routes: readonly DescribedRoute[]; version: string },
): Promise<void> {
  let document: Promise<string> | null = null;
  const answer = async (reply: FastifyReply) => {
    document ??= write(routes, version);
    return reply.type('application/json; charset=utf-8').send(await document);
  };
  serve(app, 'GET /api/openapi.json', (_request, reply) => answer(reply), { exposeHeadRoute: true });
}

/** Records every route that is registered from now on. */
export function collectRoutes(app: HttpServer): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (config?.access === undefined) return;
    routes.push({ method, url, access: config.access, ...(schema === undefined ? {} : { schema }) });
  });
  return routes;
}

const securitySchemes = {
  user: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  agent: { type: 'http', scheme: 'bearer' },
  device: { type: 'apiKey', in: 'header', name: 'X-Device-Token' },
  metrics: { type: 'http', scheme: 'bearer' },
} as const;

function write(routes: readonly DescribedRoute[], version: string): Promise<string> {
  const described = routes
    .filter(({ method }) => ![method].flat().includes('HEAD'))
    .map(({ method, url, schema, access }) => ({ method, url, schema: { ...schema, ...describeAccess(access) } }));
  return writeOpenApi(described, {
    title: 'Station',
    description: 'REST interface of the station’s backend.',
    version,
    securitySchemes,
    compilersFactory,
  });
}

function describeAccess(access: AccessRule): { description: string; security: Record<string, string[]>[] } {
  if (typeof access === 'object') {
    const who =
      'roles' in access
        ? access.roles.join(' or ')
        : `${access.station} of the station, or above${access.orFormerOwner ? ', and for the owner before the cloud named another' : ''}`;
    return { description: `For users with the role ${who}.`, security: [{ user: [] }] };
  }
  switch (access) {
    case 'public':
      return { description: 'For anyone.', security: [] };
    case 'user':
      return { description: 'For users who may see the whole station.', security: [{ user: [] }] };
    case 'limited':
      return { description: 'For users who are logged in, except guests.', security: [{ user: [] }] };
    case 'guest':
      return { description: 'For users who are logged in, also guests.', security: [{ user: [] }] };
    case 'metrics':
      return { description: 'For the program that has METRICS_TOKEN.', security: [{ metrics: [] }] };
    case 'agent':
      return { description: 'For the agent.', security: [{ agent: [] }] };
    case 'device':
      return { description: 'For devices.', security: [{ device: [] }] };
  }
}
