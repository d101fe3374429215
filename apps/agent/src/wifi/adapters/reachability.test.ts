import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { makeCertificate } from '@station/simulators/notifications/receivers';
import { trust } from '../../../testing/trust.ts';
import { createReachability } from './reachability.ts';

const host = '127.0.0.1';
/** The kernel opens no connection to a group of hosts (RFC 1112): nobody answers, wherever this runs. */
const silent = '224.0.0.7';
const unanswered = '224.0.0.8';
const absent = '224.0.0.9';
const signal = new AbortController().signal;

let folder = '';
let arpFile = '';
describe('reachability', () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'station-reachability-'));
    arpFile = join(folder, 'arp');
    const lines = [
      'IP address       HW type     Flags       HW address            Mask     Device',
      `${silent}      0x1         0x2         02:00:00:00:00:01     *        wlan0`,
      `${unanswered}      0x1         0x0         00:00:00:00:00:00     *        wlan0`,
    ];
    await writeFile(arpFile, `${lines.join('\n')}\n`);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function listen(open: boolean): Promise<{ port: number; [Symbol.asyncDispose]: () => Promise<void> }> {
    const server = createServer((socket) => socket.destroy()).listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    if (!open) await new Promise((resolve) => server.close(resolve));
    return { port, [Symbol.asyncDispose]: async () => void (open && server.close()) };
  }

  async function startWeb(status: number, location?: string) {
    const server = createHttpServer((_request, response) => {
      response.writeHead(status, location === undefined ? {} : { location }).end('here');
    }).listen(0, host);
    await once(server, 'listening');
    const internetUrl = new URL(`http://${host}:${(server.address() as AddressInfo).port}/`);
    return {
      internetUrl,
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  describe('a gateway', () => {
    for (const open of [true, false]) {
      test(`that ${open ? 'accepts' : 'refuses'} a connection is alive`, async () => {
        await using gateway = await listen(open);
        const { probe } = createReachability({ internetUrl: null, arpFile: '/nowhere', ports: [gateway.port] });
        assert.equal(await probe(host, signal), 'local');
      });
    }

    test('that answers nothing but questions for its hardware address is alive', async () => {
      const { probe } = createReachability({ internetUrl: null, arpFile, ports: [80], gatewayMs: 200 });
      assert.equal(await probe(silent, signal), 'local');
    });

    test('that never answers is not, nor is one whose address is not found', async () => {
      const { probe } = createReachability({ internetUrl: null, arpFile, ports: [80], gatewayMs: 200 });
      assert.equal(await probe(absent, signal), 'none');
      assert.equal(await probe(unanswered, signal), 'none');
      assert.equal(await probe(null, signal), 'none');
    });
  });

  describe('the internet', () => {
    for (const [status, location, expected] of [
      [200, undefined, 'full'],
      [404, undefined, 'full'],
      [301, '/elsewhere', 'full'],
      [302, 'http://login.example/', 'portal'],
      [511, undefined, 'portal'],
    ] as const) {
      test(`is ${expected} by ${status}${location === undefined ? '' : ` to ${location}`}`, async () => {
        await using web = await startWeb(status, location);
        const { probe } = createReachability({ ...web, arpFile, ports: [80], gatewayMs: 200 });
        assert.equal(await probe(silent, signal), expected);
      });
    }

    test('is full by https whatever the answer: no portal has the certificate', async () => {
      const certificate = await makeCertificate();
      using _trusted = trust(certificate.cert);
      for (const status of [302, 511]) {
        const server = createHttpsServer(certificate, (_request, response) => {
          response.writeHead(status, { location: 'https://www.release.example/' }).end();
        }).listen(0, host);
        await once(server, 'listening');
        const internetUrl = new URL(`https://localhost:${(server.address() as AddressInfo).port}/`);
        const { probe } = createReachability({ internetUrl, arpFile, ports: [80], gatewayMs: 200 });
        assert.equal(await probe(silent, signal), 'full', String(status));
        server.closeAllConnections();
        server.close();
      }
    });

    test('makes no statement about one gateway of several', async () => {
      await using web = await startWeb(200);
      const { probe } = createReachability({ ...web, arpFile, ports: [80], gatewayMs: 200 });
      assert.equal(await probe(absent, signal, { isOnly: false }), 'none');
      assert.equal(await probe(silent, signal, { isOnly: false }), 'local');
      assert.equal(await probe(absent, signal, { isOnly: true }), 'full');
    });

    test('that does not answer leaves a living gateway', async () => {
      await using gateway = await listen(false);
      const { port } = gateway;
      const { probe } = createReachability({ internetUrl: new URL(`http://${host}:${port}/`), arpFile, ports: [port] });
      assert.equal(await probe(host, signal), 'local');
    });
  });

  test('ends with the reason of its signal', async () => {
    const stopping = new AbortController();
    const { probe } = createReachability({ internetUrl: null, arpFile, ports: [80] });
    const probing = probe(silent, stopping.signal);
    stopping.abort(new Error('enough'));
    await assert.rejects(probing, /enough/);
  });
});
