import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressGuard, createGuardedHttp, homeNetworks, NotPublicError } from './guarded-http.ts';

const guardFor = (address: string) =>
  createAddressGuard({
    allow: homeNetworks,
    resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
  });

test('servers that an admin enters may be at home, but never this machine or a link-local address', async () => {
  for (const address of ['192.168.1.5', '10.0.0.2', '172.20.0.3', '100.64.0.1', 'fd00::5', '1.1.1.1'])
    assert.deepEqual((await guardFor(address).addressesOf('mail.home'))[0]?.address, address);
  for (const address of [
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '::1',
    'fe80::1',
    '::ffff:127.0.0.1',
    '224.0.0.1',
  ]) {
    await assert.rejects(guardFor(address).addressesOf('mail.home'), NotPublicError, address);
    await assert.rejects(guardFor('1.1.1.1').addressesOf(address), NotPublicError, address);
  }
});

test('a request to an address that is not allowed is never made, and says so', async () => {
  await using http = createGuardedHttp({ allow: [] });
  const request = { method: 'POST', headers: {}, body: 'x', signal: new AbortController().signal } as const;
  for (const url of ['http://127.0.0.1:1/a', 'http://192.168.1.1/', 'https://[::1]/', 'ftp://example.org/'])
    assert.partialDeepStrictEqual(await http.send({ ...request, url }), { kind: 'failed', cause: 'not_allowed' }, url);
});
