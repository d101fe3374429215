import type { FastifyServerOptions, RouteOptions } from 'fastify';

/** Loads its libraries when it is called: the document is rarely requested. @returns the OpenAPI document of these routes, as JSON. */
export async function writeOpenApi(
  routes: readonly Pick<RouteOptions, 'method' | 'url' | 'schema'>[],
  given: {
    title: string;
    description: string;
    version: string;
    securitySchemes: object;
    compilersFactory: NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>;
  },
): Promise<string> {
  const { securitySchemes, compilersFactory, ...info } = given;
  const [{ default: fastify }, { default: swagger }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
  ]);
  // Nothing is ever validated or written here.
  const scratch = fastify({ schemaController: { compilersFactory } });
  await scratch.register(swagger, {
    openapi: { openapi: '3.1.0', info, components: { securitySchemes: securitySchemes as never } },
  });
  for (const route of routes) scratch.route({ ...route, handler: async () => undefined });
  await scratch.ready();
  const text = JSON.stringify(scratch.swagger());
  await scratch.close();
  return text;
}
