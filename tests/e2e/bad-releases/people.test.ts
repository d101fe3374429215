import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Variant } from '../../rig/image-variant.ts';
import { answering, changedPage, upgrading, withContent, withoutFile, withProgram } from './faults.ts';
import { createHome, type Home } from './home.ts';

// Releases whose health address answers, on the real stack with an owner and devices. What people would miss is the reason.

type Release = { backend?: Variant; frontend?: Variant };
type Case = readonly [name: string, make: () => Release | Promise<Release>, code: string, reason: RegExp];

const bad: readonly Case[] = [
  [
    'its page is blank',
    async () => ({ frontend: await changedPage((html) => html.replace(/<script async.*<\/script>/, '')) }),
    'release_page_broken',
    /page is blank/,
  ],
  [
    'a later page lacks its chunk',
    () => ({ frontend: withoutFile('assets/activity-page-*.js') }),
    'release_page_broken',
    /activity-page/,
  ],
  [
    'its WebSocket hears nothing',
    () => ({ backend: upgrading('socket.resume()') }),
    'release_socket_dead',
    /WebSocket/,
  ],
  ['its log-in fails', () => ({ backend: answering('/api/auth/login', 500) }), 'release_log_in_broken', /answers 500/],
  [
    'its devices stay away',
    () => ({ backend: withProgram("process.env.STATION_ID = '00000000-0000-4000-8000-000000000000';") }),
    'release_devices_away',
    /0 of 5 devices/,
  ],
  [
    'its accounts are gone',
    () => ({ backend: withProgram("process.env.DATA_DIR = '/tmp';") }),
    'release_data_lost',
    /accounts are gone/,
  ],
];

const good: readonly (readonly [string, () => Release | Promise<Release>])[] = [
  ['is like the one before', () => ({ backend: withProgram('') })],
  ['has another page', () => ({ frontend: withContent('index.html', '<h1>Another page</h1>') })],
];

describe('a release whose health address answers', { timeout: 900_000 }, () => {
  let home: Home;
  before(async () => {
    home = await createHome();
  });
  after(() => home[Symbol.asyncDispose]());

  for (const [name, make, code, reason] of bad) {
    test(`is rolled back when ${name}`, async () => {
      const { agent, offer } = home;
      const { currentVersion } = await agent.status();
      const version = await offer(await make());
      const { status, body } = await agent.call('POST', '/update');
      assert.equal(status, 500, JSON.stringify(body));
      const after = await agent.idle();
      assert.equal(after.currentVersion, currentVersion);
      const entry = after.history[0];
      assert.deepEqual([entry?.to, entry?.result, entry?.code], [version, 'rolled_back', code], entry?.reason ?? '');
      assert.match(entry?.reason ?? '', reason);
      assert.equal(after.quarantined[0]?.version, version);
    });
  }

  for (const [name, make] of good) {
    test(`stays when it ${name}`, async () => {
      const { agent, offer } = home;
      const version = await offer(await make());
      const { body } = await agent.call('POST', '/update');
      assert.deepEqual([body['result'], body['to']], ['updated', version], JSON.stringify(body));
      assert.equal((await agent.idle()).currentVersion, version);
    });
  }
});
