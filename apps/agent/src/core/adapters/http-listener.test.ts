import assert from 'node:assert/strict';
import { get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { listenForApi, listenForPortal } from './http-listener.ts';

const statusFor = (server: Server, headerBytes: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    get({ port, host: '127.0.0.1', headers: { 'x-filler': 'x'.repeat(headerBytes) } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });

for (const [name, listen] of Object.entries({ listenForApi, listenForPortal })) {
  test(`${name} reads a head of up to 8 KiB (contracts, section 15a)`, async (context) => {
    const server = await listen({ port: 0, host: '127.0.0.1' });
    context.after(() => server.close());
    server.on('request', (_, response) => response.end());
    assert.equal(await statusFor(server, 7_900), 200);
    assert.equal(await statusFor(server, 8_300), 431);
  });
}
