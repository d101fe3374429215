import type { FastifyInstance, RouteOptions } from 'fastify';
import type { AccessRule } from '../access.ts';
import type { HttpServer } from '../server.ts';

/** A route as its description and its tests need it. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'> & { access: AccessRule };

const documentPath = '/api/openapi.json';
const pagePath = '/api/docs';
/** Set by the page's own script: it has inline styles, nothing else inline, and talks to no other host. */
const pagePolicy =
  "default-src 'none'; script-src 'self' 'nonce-station'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * GET /api/openapi.json and the reference page /api/docs.
 *
 * Both are asked for rarely, and what makes them weighs several megabytes: it is loaded at the first request, into an instance of
 * its own, from the routes noted by `collectRoutes`.
 */
export async function registerDocsRoutes(
  app: HttpServer,
  { routes, version }: { routes: readonly DescribedRoute[]; version: string },
): Promise<void> {
  let document: Promise<string> | null = null;
  app.get(
    documentPath,
    { config: { access: 'public' }, exposeHeadRoute: true, schema: { tags: ['docs'] } },
    async (_request, reply) => {
      document ??= writeOpenApi(routes, version);
      return reply.type('application/json; charset=utf-8').send(await document);
    },
  );

  let page: Promise<FastifyInstance> | null = null;
  for (const url of [pagePath, `${pagePath}/`, `${pagePath}/js/scalar.js`]) {
    app.get(url, { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) => {
      page ??= createReferencePage();
      const { statusCode, headers, rawPayload } = await (await page).inject({ method: 'GET', url });
      void reply.code(statusCode).header('content-security-policy', pagePolicy);
      for (const name of ['content-type', 'location'] as const) {
        const value = headers[name];
        if (value !== undefined) void reply.header(name, value);
      }
      return reply.send(rawPayload);
    });
  }
}

/** Notes every route that is registered from now on. */
export function collectRoutes(app: HttpServer): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (config?.access === undefined) return;
    routes.push({ method, url, access: config.access, ...(schema === undefined ? {} : { schema }) });
  });
  return routes;
}

async function writeOpenApi(routes: readonly DescribedRoute[], version: string): Promise<string> {
  const [{ default: fastify }, { default: swagger }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
  ]);
  const scratch = fastify();
  // Nothing is ever validated or written here.
  scratch.setValidatorCompiler(() => () => true);
  scratch.setSerializerCompiler(() => () => '');
  await scratch.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Station', description: 'REST interface of the station’s backend.', version },
      components: { securitySchemes: { user: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
      security: [{ user: [] }],
    },
  });
  for (const { method, url, schema } of routes) {
    if ([method].flat().includes('HEAD')) continue;
    scratch.route({ method, url, ...(schema === undefined ? {} : { schema }), handler: async () => undefined });
  }
  await scratch.ready();
  const text = JSON.stringify(scratch.swagger());
  await scratch.close();
  return text;
}

async function createReferencePage(): Promise<FastifyInstance> {
  const [{ default: fastify }, { default: reference }] = await Promise.all([
    import('fastify'),
    import('@scalar/fastify-api-reference'),
  ]);
  const instance = fastify();
  await instance.register(reference, {
    routePrefix: pagePath,
    configuration: { url: documentPath, withDefaultFonts: false, nonce: 'station' },
  });
  await instance.ready();
  return instance;
}
