import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { runBackend } from '../../testing/running-backend.ts';
import { createIsOwnHost } from './host-guard.ts';

test('the station answers under its addresses and names only', () => {
  const isOwn = createIsOwnHost({
    publicUrl: 'https://home.example.org:8443/station',
    publicName: 'cabin.example.net',
  });
  const own = [
    '127.0.0.1:3000',
    'localhost',
    '[::1]:80',
    '192.168.1.20',
    '[fe80::1]',
    '192.0.2.1:8080',
    'station.local',
    'STATION.local.',
    'station.local:8080',
    'station-2.local',
    'home.example.org',
    'home.example.org:8443',
    'backend:3000',
    'station',
    'cabin.example.net',
    'CABIN.example.net:443',
  ];
  for (const host of own) assert.equal(isOwn(host), true, host);
  const foreign = [
    '',
    ' ',
    'evil.example',
    'evil.example:80',
    'station.local.evil.example',
    'evil.station.local',
    '127.0.0.1.evil.example',
    '192-168-1-20.evil.example',
    'home.example.org.evil.example',
    'other.local',
    'station.local@evil.example',
    'evil.example/station.local',
    'evil.example#station.local',
    'station-x.local',
    'home-2.example.org',
    'xhome.example.org',
    'example.net',
    'a.cabin.example.net',
  ];
  assert.equal(isOwn(undefined), false);
  for (const host of foreign) assert.equal(isOwn(host), false, host);
});

test('the number that mDNS appends to a name may come, go and change, and a dot at the end of PUBLIC_URL does not count', () => {
  for (const [publicUrl, host] of [
    ['http://cabin-2.local', 'cabin.local'],
    ['http://cabin-2.local', 'cabin-3.local'],
    ['http://cabin.local:8080', 'cabin-2.local:8080'],
    ['http://cabin.lan.', 'cabin.lan'],
  ] as const)
    assert.equal(createIsOwnHost({ publicUrl, publicName: null })(host), true, `${publicUrl} ${host}`);
  const isOwn = createIsOwnHost({ publicUrl: 'http://cabin-2.lan', publicName: null });
  for (const host of ['cabin.lan', 'cabin-3.lan', 'cabin.local']) assert.equal(isOwn(host), false, host);
});

test('a rebound name gets 421 on every path, also for unknown paths and public routes', async () => {
  await using running = await runBackend();
  for (const url of ['/api/health', '/api/auth/status', '/metrics', '/nothing', '/ws', '/api/devices']) {
    for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS'] as const) {
      const answer = await running.http.inject({ method, url, headers: { host: 'evil.example' } });
      assert.equal(answer.statusCode, 421, `${method} ${url}`);
      if (method === 'HEAD') continue;
      const { statusCode, error, code } = answer.json();
      assert.deepEqual(
        { statusCode, error, code },
        { statusCode: 421, error: 'Misdirected Request', code: 'host_unknown' },
      );
    }
  }
});

test('the refusal says where the station is found', async () => {
  const env = { PUBLIC_URL: 'http://hallway.local:8080', PUBLIC_NAME: 'home.example.org' };
  await using running = await runBackend({ env });
  const answer = await running.http.inject({ url: '/api/auth/setup', headers: { host: 'hallway.lan' } });
  assert.deepEqual(answer.json<{ details: unknown }>().details, {
    addresses: ['http://hallway.local:8080', 'https://home.example.org'],
  });
});

test('a proxy may name the host of the browser only in Host', async () => {
  await using running = await runBackend({ env: { PUBLIC_URL: 'http://hallway.local' } });
  const get = async (headers: Record<string, string>) =>
    (await running.http.inject({ url: '/api/health', headers })).statusCode;
  assert.notEqual(await get({ host: 'hallway.local' }), 421);
  assert.equal(await get({ host: 'evil.example', 'x-forwarded-host': 'hallway.local' }), 421);
});

for (const headers of [{ host: 'evil.example' }, { origin: 'http://evil.example' }]) {
  test(`an upgrade with a foreign ${Object.keys(headers)[0]} is refused and its connection ends`, async () => {
    await using running = await runBackend();
    const { port } = running.http.server.address() as AddressInfo;
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const asked = request({ host: '127.0.0.1', port, path: '/ws', headers: { ...upgrade, ...key, ...headers } });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    assert.equal(answer.statusCode, 'host' in headers ? 421 : 403);
    // Without an end of the connection the body would not end, and the backend would not stop.
    const { code } = JSON.parse(await text(answer));
    assert.equal(code, 'host' in headers ? 'host_unknown' : 'origin_not_allowed');
  });
}
