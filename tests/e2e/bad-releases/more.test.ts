import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  answering,
  changedServer,
  onRequest,
  upgrading,
  withContent,
  withoutFile,
  withProgram,
  withStored,
} from './faults.ts';
import { waitFor } from '../../rig/program.ts';
import { createHome, type Home } from './home.ts';
import { assertRolledBack, assertStays, type Changes } from './offered.ts';

// More releases of the kinds of `people.test.ts` on the real stack, and odd ones that are good.

type Make = () => Changes | Promise<Changes>;
type Bad = readonly [name: string, make: Make, code: string, reason: RegExp];

const start = 'assets/start-*.js';
const later = 'assets/automations-page-*.js';
const page = 'release_page_broken';
const never = 'setInterval(() => undefined, 1e6); await new Promise(() => undefined);';

const bad: readonly Bad[] = [
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
    /automations-page.* cannot start/,
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
    /automations-page.* is missing/,
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

const good: readonly (readonly [string, Make])[] = [
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

describe('on the stack of a home, a release that', { timeout: 3_000_000 }, () => {
  let home: Home;
  before(async () => {
    home = await createHome();
  });
  after(() => home[Symbol.asyncDispose]());

  for (const [name, make, code, reason] of bad) {
    test(`${name} is rolled back`, async () => assertRolledBack(home, await make(), { code, reason }));
  }

  test('is installed while one of five devices is switched off stays', () =>
    assertStays(home, { backend: withProgram('// Installed while a device is switched off.') }, async () => {
      await home.agent.event('docker_restart', { after: home.agent.events.length });
      await home.fleet.devices[0]?.[Symbol.asyncDispose]();
    }));

  for (const [name, make] of good) test(`${name} stays`, async () => assertStays(home, await make()));

  test('is installed while all devices lose their network is rolled back, and not quarantined', async () => {
    const { agent, fleet, offer } = home;
    const { currentVersion } = await agent.status();
    await offer({ backend: withProgram('// Installed while the devices lose their network.') });
    const seen = agent.events.length;
    const [{ body }] = await Promise.all([
      agent.call('POST', '/update'),
      agent.event('docker_restart', { after: seen }).then(() => fleet[Symbol.asyncDispose]()),
    ]);
    const status = await agent.idle();
    assert.equal(status.history[0]?.code, 'release_devices_away', JSON.stringify(body));
    assert.equal(status.currentVersion, currentVersion);
    assert.notEqual(status.quarantined[0]?.version, status.history[0]?.to);
  });

  test('is installed after the devices were switched off stays', async () => {
    await waitFor('the devices to be shown as offline', async () => (await home.heard()).length === 0, 300_000);
    await assertStays(home, { backend: withProgram('// Installed after the devices were switched off.') });
  });
});
