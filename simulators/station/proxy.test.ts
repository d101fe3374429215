import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import { findFreePort } from '@station/kit/free-port';
import { startProxy } from './proxy.ts';

/** A service that answers with its name, the path and the body of the request. */
async function serve(name: string, port: number): Promise<AsyncDisposable & { server: Server }> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { host, 'x-forwarded-for': forwardedFor } = request.headers;
      const body = Buffer.concat(parts).toString();
      response.end(JSON.stringify({ name, path: request.url, host, forwardedFor, body }));
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function withProxy(work: (ports: { url: string; backendPort: number; frontendPort: number }) => Promise<void>) {
  const backendPort = await findFreePort();
  const frontendPort = await findFreePort();
  await using proxy = await startProxy({
    port: 0,
    backendPort,
    frontendPort,
    firmwareFolder: null,
    operationFile: null,
  });
  await work({ url: proxy.url, backendPort, frontendPort });
}

describe('the reverse proxy of npm start', () => {
  it('forwards each request to its service with the original host name', () =>
    withProxy(async ({ url, backendPort, frontendPort }) => {
      await using _backend = await serve('backend', backendPort);
      await using _frontend = await serve('frontend', frontendPort);
      const nameAt = async (path: string) => ((await (await fetch(url + path)).json()) as { name: string }).name;
      for (const path of ['/api', '/api/health', '/ws?x=1', '/provisioning/add']) {
        assert.equal(await nameAt(path), 'backend', path);
      }
      for (const path of ['/', '/station', '/apis', '/assets/index.js'])
        assert.equal(await nameAt(path), 'frontend', path);
      const answer = (await (await fetch(`${url}/api`)).json()) as Record<string, string>;
      assert.deepEqual([answer['host'], answer['forwardedFor']], [new URL(url).host, '127.0.0.1']);
    }));

  it('holds requests while the service does not listen, and loses none', () =>
    withProxy(async ({ url, backendPort }) => {
      const asked = Array.from({ length: 20 }, (_, index) =>
        fetch(`${url}/api/${index}`, { method: 'POST', body: `body ${index}` }),
      );
      await delay(500);
      await using _backend = await serve('backend', backendPort);
      for (const [index, answer] of (await Promise.all(asked)).entries()) {
        assert.equal(answer.status, 200);
        const { path, body } = (await answer.json()) as { path: string; body: string };
        assert.deepEqual([path, body], [`/api/${index}`, `body ${index}`]);
      }
    }));

  it('repeats read requests when the connection breaks, and answers others with an error', () =>
    withProxy(async ({ url, backendPort }) => {
      await using backend = await serve('backend', backendPort);
      const [answer] = backend.server.listeners('request') as RequestListener[];
      assert.ok(answer);
      let asked = 0;
      backend.server.removeAllListeners('request').on('request', (request, response) => {
        if (request.method === 'POST' || ++asked < 3) request.socket.destroy();
        else answer(request, response);
      });
      const read = await fetch(`${url}/api`);
      assert.equal(read.status, 200);
      assert.equal(((await read.json()) as { forwardedFor: string }).forwardedFor, '127.0.0.1');
      assert.equal(asked, 3);
      assert.equal((await fetch(`${url}/api`, { method: 'POST', body: 'once' })).status, 503);
    }));

  it('forwards a WebSocket, also one that is opened while the service restarts', () =>
    withProxy(async ({ url, backendPort }) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
      await delay(300);
      await using backend = await serve('backend', backendPort);
      const sockets = new WebSocketServer({ server: backend.server });
      sockets.on('connection', (peer) => peer.on('message', (data: Buffer) => peer.send(`echo ${data.toString()}`)));
      await once(socket, 'open');
      socket.send('hello');
      const [data] = (await once(socket, 'message')) as [Buffer];
      assert.equal(data.toString(), 'echo hello');
      socket.close();
      await once(socket, 'close');
    }));

  it('ends immediately, also with held requests and open connections', async () => {
    const backendPort = await findFreePort();
    const frontendPort = await findFreePort();
    const proxy = await startProxy({ port: 0, backendPort, frontendPort, firmwareFolder: null, operationFile: null });
    const held = assert.rejects(fetch(`${proxy.url}/api`));
    await delay(100);
    await proxy[Symbol.asyncDispose]();
    await held;
  });
});
