import { after, before, describe, test } from 'node:test';
import { changedPage, upgrading, withContent, withProgram } from './faults.ts';
import { createHome, type Home } from './home.ts';
import { assertRolledBack, assertStays, type Changes } from './offered.ts';

// Releases whose health address answers, on the real stack with an owner and devices. What people would miss is the reason.
// More of the same kinds: `more.test.ts`.

type Bad = readonly [name: string, make: () => Changes | Promise<Changes>, code: string, reason: RegExp];

const withoutScript = async (): Promise<Changes> => ({
  frontend: await changedPage((html) => html.replace(/<script async.*<\/script>/, '')),
});
const foreignStation = "process.env.STATION_ID = '00000000-0000-4000-8000-000000000000';";

const bad: readonly Bad[] = [
  ['its page is blank', withoutScript, 'release_page_broken', /page is blank/],
  [
    'its WebSocket hears nothing',
    () => ({ backend: upgrading('socket.resume()') }),
    'release_socket_dead',
    /WebSocket/,
  ],
  ['its devices stay away', () => ({ backend: withProgram(foreignStation) }), 'release_devices_away', /0 of 5 devices/],
];

describe('a release whose health address answers', { timeout: 900_000 }, () => {
  let home: Home;
  before(async () => {
    home = await createHome();
  });
  after(() => home[Symbol.asyncDispose]());

  for (const [name, make, code, reason] of bad) {
    test(`is rolled back when ${name}`, async () => assertRolledBack(home, await make(), { code, reason }));
  }

  test('stays when it is like the one before', () => assertStays(home, { backend: withProgram('') }));

  test('stays when it has another page', () =>
    assertStays(home, { frontend: withContent('index.html', '<h1>Another page</h1>') }));
});
