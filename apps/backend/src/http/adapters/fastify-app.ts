import cookie from '@fastify/cookie';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyHttpOptions, type RawServerDefault } from 'fastify';

/** A Fastify server without routes, which types them by TypeBox and reads cookies. */
export function openFastify(options: FastifyHttpOptions<RawServerDefault>) {
  const app = fastify(options).withTypeProvider<TypeBoxTypeProvider>();
  void app.register(cookie);
  return app;
}
