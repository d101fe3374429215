import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

const pagePath = '/api/docs';
const noncePlace = 'nonce-goes-here';

/** The page has inline styles and one inline script; it contacts no other host. */
const pagePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** The reference page of the backend's REST interface, which is made of /api/openapi.json. */
export type ApiPage = {
  /** @returns whether the request is for this page. */
  serves(request: IncomingMessage): boolean;
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
};

export function createApiPage(): ApiPage {
  let made: Promise<FastifyInstance> | null = null;
  return {
    serves: ({ url = '' }) => url === pagePath || url.startsWith(`${pagePath}/`),
    answer: async ({ url = '' }, response) => {
      if (url === pagePath) {
        response.writeHead(301, { location: `${pagePath}/` }).end();
        return;
      }
      made ??= makePage();
      const { statusCode, headers, rawPayload } = await (await made).inject(url);
      const type = { 'content-type': String(headers['content-type'] ?? 'text/plain') };
      if (!type['content-type'].startsWith('text/html')) {
        response.writeHead(statusCode, type).end(rawPayload);
        return;
      }
      const nonce = randomBytes(16).toString('base64url');
      response.writeHead(statusCode, { ...type, 'content-security-policy': pagePolicy(nonce) });
      response.end(rawPayload.toString().replaceAll(noncePlace, nonce));
    },
  };
}

/** Its library has several megabytes, and the page is rarely opened. */
async function makePage(): Promise<FastifyInstance> {
  const [{ default: fastify }, { default: reference }] = await Promise.all([
    import('fastify'),
    import('@scalar/fastify-api-reference'),
  ]);
  const instance = fastify();
  await instance.register(reference, {
    routePrefix: pagePath,
    configuration: {
      url: '/api/openapi.json',
      pageTitle: 'Station: REST interface',
      nonce: noncePlace,
      withDefaultFonts: false,
      telemetry: false,
      // Features that would send the reader, or the content, to external services.
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  });
  await instance.ready();
  return instance;
}
