import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  ContextConfigDefault,
  FastifyReply,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify';
import type { Route } from '@station/protocol/route';
import { type RouteKey, type Routes, routes } from '@station/protocol/routes';
import type { HttpServer } from './server.ts';

/** The request of a declared route, typed by its schemas: for handlers that are functions of their own. */
export type RequestOf<Key extends RouteKey> = FastifyRequest<
  RouteGenericInterface,
  RawServerDefault,
  RawRequestDefaultExpression,
  Routes[Key],
  TypeBoxTypeProvider
>;

/** The reply of a declared route: `code` and `send` take only what it declares. */
export type ReplyOf<Key extends RouteKey> = FastifyReply<
  RouteGenericInterface,
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  ContextConfigDefault,
  Routes[Key],
  TypeBoxTypeProvider
>;

type HandlerOf<Key extends RouteKey> = RouteHandlerMethod<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  RouteGenericInterface,
  ContextConfigDefault,
  Routes[Key],
  TypeBoxTypeProvider
>;

/** What the declaration of a route does not say: how this server answers it. */
type Answering = Pick<RouteShorthandOptions, 'bodyLimit' | 'exposeHeadRoute' | 'onRequest' | 'serializerCompiler'>;

/** Registers the handler of a route that `packages/protocol` declares (ADR 76). */
export function serve<Key extends RouteKey>(
  app: HttpServer,
  key: Key,
  handler: HandlerOf<Key>,
  answering: Answering = {},
): void {
  const { access, heavy, ...schema }: Route = routes[key];
  const [method = '', url = ''] = key.split(' ');
  const config = heavy === undefined ? { access } : { access, heavy };
  // Fastify cannot see in a generic function that the handler fits the schema; `HandlerOf` has checked it.
  app.route({ ...answering, method, url, config, schema, handler: handler as never });
}

/** The server does not start while a declared route has no handler. @param served the routes that are registered, also later. */
export function requireHandlers(app: HttpServer, served: readonly { method: string | string[]; url: string }[]): void {
  // Some routes are in scopes that load later.
  app.addHook('onReady', async () => {
    const found = new Set(served.flatMap(({ method, url }) => [method].flat().map((one) => `${one} ${url}`)));
    const missing = Object.keys(routes).filter((key) => !found.has(key));
    if (missing.length > 0) throw new Error(`No handler is registered for ${missing.join(', ')}`);
  });
}
