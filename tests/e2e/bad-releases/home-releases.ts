import {
  answering,
  changedPage,
  changedServer,
  onRequest,
  upgrading,
  withContent,
  withoutFile,
  withProgram,
  withStored,
} from './faults.ts';
import type { BadRelease, Changes, GoodRelease } from './offered.ts';

// Releases of the real stack, which has an owner and devices.

const withoutScript = async (): Promise<Changes> => ({
  frontend: await changedPage((html) => html.replace(/<script async.*<\/script>/, '')),
});
const foreignStation = "process.env.STATION_ID = '00000000-0000-4000-8000-000000000000';";

/** Their health address answers; people would miss something. */
export const badOfHome: readonly BadRelease[] = [
  ['has a blank page', withoutScript, 'release_page_broken', /page is blank/],
  [
    'has a WebSocket that hears nothing',
    () => ({ backend: upgrading('socket.resume()') }),
    'release_socket_dead',
    /WebSocket/,
  ],
  [
    'has devices that stay away',
    () => ({ backend: withProgram(foreignStation) }),
    'release_devices_away',
    /0 of 5 devices/,
  ],
];

export const goodOfHome: readonly GoodRelease[] = [
  ['is like the one before', () => ({ backend: withProgram('') })],
  ['has another page', () => ({ frontend: withContent('index.html', '<h1>Another page</h1>') })],
];

const start = 'assets/start-*.js';
const later = 'assets/automations-place-*.js';
const page = 'release_page_broken';
const never = 'setInterval(() => undefined, 1e6); await new Promise(() => undefined);';

/** More of the same kinds. */
export const moreBadOfHome: readonly BadRelease[] = [
  ['lacks its first script', () => ({ frontend: withoutFile(start) }), page, /start-.*404/],
  ['lacks a later script', () => ({ frontend: withoutFile('assets/activity-page-*.js') }), page, /activity-page/],
  ['has an empty first script', () => ({ frontend: withContent(start, '') }), page, /start-.* is empty/],
  [
    'has zeros in its first script',
    () => ({ frontend: withContent(start, '\0\0\0\0\0\0') }),
    page,
    /start-.* is empty/,
  ],
  [
    'has a later script that was cut off',
    () => ({ frontend: withContent(later, 'export default {') }),
    page,
    /automations-place.* cannot start/,
  ],
  [
    'has a first script with an error',
    () => ({ frontend: withContent(start, '<<<<<<< ours') }),
    page,
    /start-.* cannot start/,
  ],
  ['has a damaged compressed script', () => ({ frontend: withStored(start, 'no Brotli') }), page, /start-/],
  ['lacks its style sheet', () => ({ frontend: withoutFile('assets/start-*.css') }), page, /start-.*css.*404/],
  ['has an empty page', () => ({ frontend: withContent('index.html', '') }), page, /page is blank/],
  [
    'answers its page in place of a chunk',
    async () => ({
      frontend: {
        files: [
          ...(withoutFile(later).files ?? []),
          ...((await changedServer((text) => text.replace('/assets/*', '/no-assets/*'))).files ?? []),
        ],
      },
    }),
    page,
    /automations-place.* is missing/,
  ],
  [
    'has a web server that fails',
    async () => ({ frontend: await changedServer((text) => text.replace('try_files', 'respond 500\n\t\ttry_files')) }),
    page,
    /page answers 500/,
  ],
  [
    'has a service that does nothing',
    () => ({ frontend: { config: { Cmd: ['/opt/station/caddy', 'run'] } } }),
    page,
    /page (does not come|answers 50)/,
  ],
  [
    'has a service that ends at once',
    () => ({ frontend: { config: { Cmd: ['/opt/station/caddy', 'version'] } } }),
    'release_unhealthy',
    /keeps crashing/,
  ],
  [
    'refuses every WebSocket',
    () => ({
      backend: upgrading("socket.end('HTTP/1.1 500 Internal Server Error\\r\\nconnection: close\\r\\n\\r\\n')"),
    }),
    'release_socket_dead',
    /WebSocket/,
  ],
  [
    'breaks every WebSocket off',
    () => ({ backend: upgrading('socket.destroy()') }),
    'release_socket_dead',
    /WebSocket/,
  ],
  [
    'fails at the set-up',
    () => ({ backend: answering('/api/auth/setup', 500) }),
    'release_data_lost',
    /set-up does not/,
  ],
  [
    'talks nonsense at the set-up',
    () => ({ backend: answering('/api/auth/setup', 200, 'soon') }),
    'release_data_lost',
    /set-up does not/,
  ],
  [
    'fails at the log-in',
    () => ({ backend: answering('/api/auth/login', 500) }),
    'release_log_in_broken',
    /answers 500/,
  ],
  [
    'has lost its accounts',
    () => ({ backend: withProgram("process.env.DATA_DIR = '/tmp';") }),
    'release_data_lost',
    /accounts are gone/,
  ],
  ['has no log-in', () => ({ backend: answering('/api/auth/login', 404) }), 'release_log_in_broken', /answers 404/],
  [
    'hangs at the log-in',
    () => ({ backend: onRequest("request.url.startsWith('/api/auth/login')", 'void response') }),
    'release_log_in_broken',
    /does not answer/,
  ],
  [
    'fails at everything but its health',
    () => ({ backend: onRequest("request.url !== '/api/health'", 'response.writeHead(500).end()') }),
    'release_data_lost',
    /set-up does not/,
  ],
  [
    'has lost its login at the broker',
    () => ({ backend: withProgram("process.env.MQTT_URL = process.env.MQTT_URL.replace(/:[^:@]+@/, ':wrong@');") }),
    'release_unhealthy',
    /mqtt/,
  ],
  ['never ends its migration', () => ({ backend: withProgram(never) }), 'release_unhealthy', /./],
  [
    'crashes after its first answer',
    () => ({ backend: onRequest('true', 'setTimeout(() => process.exit(1), 500); return passOn()') }),
    'release_unhealthy',
    /keeps crashing/,
  ],
  [
    'needs more memory than it may use',
    () => ({ backend: withProgram('globalThis.kept = Array.from({ length: 200 }, () => Buffer.alloc(1e7, 1));') }),
    'release_unhealthy',
    /crashing|answer/,
  ],
];

/** Odd, and good. */
export const moreGoodOfHome: readonly GoodRelease[] = [
  ['changes nothing', () => ({ backend: {}, frontend: {} })],
  ['starts slowly', () => ({ backend: withProgram('await new Promise((done) => setTimeout(done, 8000));') })],
  [
    'needs a second start',
    () => ({
      backend: withProgram(`import { existsSync, writeFileSync } from 'node:fs';
if (!existsSync('/data/started-once')) { writeFileSync('/data/started-once', ''); process.exit(1); }`),
    }),
  ],
  ['refuses a log-in with another status', () => ({ backend: answering('/api/auth/login', 429) })],
  [
    'tells more at the set-up',
    () => ({ backend: answering('/api/auth/setup', 200, '{"needed":false,"stationName":"Home","more":[1]}') }),
  ],
  [
    'writes much to its log',
    () => ({ backend: withProgram("setInterval(() => console.log('x'.repeat(1e5)), 100).unref();") }),
  ],
  [
    'leads from its start page to another',
    async () => ({
      frontend: await changedServer((text) => text.replace('root * /srv', 'root * /srv\n\tredir / /home/ 302')),
    }),
  ],
  [
    'has a page that is only text',
    () => ({ frontend: withContent('index.html', '<!doctype html><title>Home</title><p>Devices: 5') }),
  ],
  [
    'has another script in a page that shows text',
    () => ({ frontend: withContent('index.html', '<p>Home</p><script src="/browser-check.js"></script>') }),
  ],
];
