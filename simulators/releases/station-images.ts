import { randomBytes } from 'node:crypto';
import type { ImageContent } from './image-folder.ts';

/** Behaviour of an installed release. */
export const behaviours = ['good', 'crashes', 'unhealthy', 'missing'] as const;
export type Behaviour = (typeof behaviours)[number];

/** Builds the images of a release; null: the registry must not have this image. */
export type ImageRecipe = (release: {
  version: string;
  behaviour: Behaviour;
  /** True for the first release, which a new station must download quickly. */
  first: boolean;
}) => Record<string, ImageContent | null>;

/** Variables of the compose file with the paths of the programs, so that images do not depend on the checkout's path. */
export const programVariables = { backend: 'STATION_BACKEND_MAIN', frontend: 'STATION_FRONTEND_MAIN' } as const;

const runProgram = (variable: string): string => `// Runs the program of this checkout.
await import(process.env['${variable}']);
`;

const crash = `// A release that ends soon after each start.
console.error('This release crashes on purpose.');
setTimeout(() => process.exit(1), 300);
`;

const unhealthy = `// A release that runs but never becomes healthy.
import { createServer } from 'node:http';
const version = process.env['STATION_VERSION'];
const server = createServer((request, response) => {
  const health = { status: 'failing', version, checks: { database: false, mqtt: true } };
  const error = { statusCode: 503, error: 'Service Unavailable', code: 'unavailable', message: 'This release fails on purpose.' };
  response.writeHead(503, { 'content-type': 'application/json' });
  response.end(JSON.stringify(request.url === '/api/health' ? health : error));
});
server.listen(Number(process.env['PORT']), process.env['HOST']);
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
`;

const megabyte = 1024 * 1024;

/**
 * Images of the real backend and of a small server for the web app. Padding makes their download visible. Part of it is
 * equal in every release, like the base of a container image.
 */
export const stationImages: ImageRecipe = ({ version, behaviour, first }) => {
  const env = { STATION_VERSION: version };
  const padding = (megabytes: number): Uint8Array => randomBytes((first ? 0.1 : megabytes) * megabyte);
  const backendCode = { crashes: crash, unhealthy, good: runProgram(programVariables.backend) };
  const base = Buffer.alloc(megabyte, 'station base\n');
  return {
    backend:
      behaviour === 'missing'
        ? null
        : {
            args: ['start.mjs'],
            env,
            files: { 'start.mjs': backendCode[behaviour], 'base.bin': base, 'padding.bin': padding(5) },
          },
    frontend: {
      args: ['start.mjs'],
      env,
      files: { 'start.mjs': runProgram(programVariables.frontend), 'base.bin': base, 'padding.bin': padding(1) },
    },
  };
};
