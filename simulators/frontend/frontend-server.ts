import { join } from 'node:path';
import staticFiles from '@fastify/static';
import fastify from 'fastify';
import type { FrontendConfig } from './config.ts';

/** Same policy as in deploy/frontend/Caddyfile: nothing from another host, no inline script. */
const headers = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};
const forEver = 'public, max-age=31536000, immutable';

/** Serves the built web app like the frontend's container. Paths without a file are pages of the app. */
export async function startFrontend({ host, port, webDir }: FrontendConfig): Promise<AsyncDisposable> {
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRequest', async (_request, reply) => void reply.headers(headers));
  await app.register(staticFiles, {
    root: webDir,
    preCompressed: true,
    cacheControl: false,
    setHeaders: (response, path) =>
      void response.header('cache-control', path.startsWith(join(webDir, 'assets')) ? forEver : 'no-cache'),
  });
  app.setNotFoundHandler((request, reply) => {
    const isPage = ['GET', 'HEAD'].includes(request.method) && !request.url.startsWith('/assets/');
    return isPage ? reply.sendFile('index.html') : reply.code(404).send();
  });
  await app.listen({ host, port });
  return { [Symbol.asyncDispose]: () => app.close() };
}
