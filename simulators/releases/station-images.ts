import { randomBytes } from 'node:crypto';
import type { ImageContent } from './image-folder.ts';

/** Behaviour of a release once it is installed. */
export const behaviours = ['good', 'crashes', 'unhealthy', 'missing'] as const;
export type Behaviour = (typeof behaviours)[number];

/** Builds the images of a release; null for an image that the registry must not have. */
export type ImageRecipe = (release: {
  version: string;
  behaviour: Behaviour;
  /** True for the very first release: a new station should start without a wait. */
  first: boolean;
}) => Record<string, ImageContent | null>;

/** Variables of the compose file with the paths of the programs, so that images stay the same when a checkout moves. */
export const programVariables = { backend: 'STATION_BACKEND_MAIN', frontend: 'STATION_FRONTEND_MAIN' } as const;

const runProgram = (variable: string): string => `// Runs the program of this checkout.
await import(process.env['${variable}']);
`;

const crash = `// A release that ends soon after its start, again and again.
console.error('This release was made to crash.');
setTimeout(() => process.exit(1), 300);
`;

const unhealthy = `// A release that runs, and never becomes healthy.
import { createServer } from 'node:http';
const version = process.env['STATION_VERSION'];
const server = createServer((request, response) => {
  const health = { status: 'failing', version, checks: { database: false, mqtt: true } };
  const error = { statusCode: 503, error: 'Service Unavailable', code: 'unavailable', message: 'This release was made to fail.' };
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
 * Images of the real backend, and of a small server for the web app. Padding makes them large enough for a download to be
 * seen; part of it is the same in every release, as the base of a container image is.
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
