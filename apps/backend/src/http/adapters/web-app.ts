import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { exists } from '@station/kit/durable-files';
import { StationError } from '@station/kit/station-error';

/** No inline script, nothing from another host; WebSocket and REST only to this host. */
const webAppPolicy = [
  "default-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Vite puts a hash of the content into names below /assets: those never change. */
const forEver = 'public, max-age=31536000, immutable';
const checkedEachTime = 'no-cache';
/** Paths of the backend that are never a page of the web app. */
const notPages = /^\/(api|ws|provisioning|metrics|firmware|assets)(\/|$)/;

/**
 * Serves the built web app, for development and `npm start`; in the stack the frontend's container does that. Page addresses have no file
 * and get index.html.
 */
export async function registerWebApp(app: FastifyInstance, { directory }: { directory: string }): Promise<void> {
  // Fails at start, not at the first request.
  if (!(await exists(join(directory, 'index.html'))))
    throw new Error('WEB_DIR holds no index.html: build the web app first');
  // Loaded only here: the stack does not need it, and the library takes memory.
  const { default: staticFiles } = await import('@fastify/static');
  await app.register(staticFiles, {
    root: directory,
    serve: false,
    cacheControl: false,
    etag: true,
    dotfiles: 'ignore',
  });
  app.get(
    '/*',
    { config: { access: 'public' }, exposeHeadRoute: true, schema: { hide: true, querystring: {} } },
    async (request, reply) => {
      const path = (request.params as { '*': string })['*'];
      const name = path === '' || (!path.includes('.') && !notPages.test(`/${path}`)) ? 'index.html' : path;
      if (notPages.test(`/${path}`) && !path.startsWith('assets/'))
        throw new StationError('not_found', 'There is nothing here.');
      void reply.headers({
        'content-security-policy': webAppPolicy,
        'cache-control': name.startsWith('assets/') ? forEver : checkedEachTime,
      });
      return reply.sendFile(name);
    },
  );
}
