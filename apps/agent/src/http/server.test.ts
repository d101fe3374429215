import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { once } from 'node:events';
import { lstat, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { listenForApi } from '../core/adapters/http-listener.ts';
import { socketFiles } from './adapters/unix-socket.ts';
import { createHttpServer } from './server.ts';
import { call, startServer, outcomeOf, type RunningServer } from '../../testing/running-server.ts';

const socketOf = ({ folder }: RunningServer, name = 'agent.sock'): string => join(folder, name);

/** Another API on the same socket path. */
const another = (running: RunningServer, socketPath: string) =>
  createHttpServer({
    listenHttp: listenForApi,
    socketFiles,
    port: running.agent,
    logger: running.logger,
    clock: systemClock,
    config: { host: '127.0.0.1', port: 0, socketPath, token: null },
    agentVersion: '0.2.0',
    random: () => 0.5,
  });

const versionAt = async (socketPath: string): Promise<unknown> =>
  ((await call({ socketPath }, 'GET', '/health')).json as { version: string }).version;

describe('the Unix socket', () => {
  it('serves the same API, to owner and group only, in a folder made for it', async () => {
    await using running = await startServer({ socketName: 'run/deep/agent.sock' });
    const socketPath = socketOf(running, 'run/deep/agent.sock');
    assert.deepEqual(running.server.addresses(), [`http://127.0.0.1:${running.tcp.port}`, `unix:${socketPath}`]);
    assert.equal(outcomeOf(await call({ socketPath }, 'GET', '/status')), '200');
    const found = await lstat(socketPath);
    assert.ok(found.isSocket());
    assert.equal(found.mode & 0o777, 0o660);
  });

  it('is removed when the agent has ended', async () => {
    const running = await startServer({ socketName: 'agent.sock' });
    await running.server[Symbol.asyncDispose]();
    await assert.rejects(lstat(socketOf(running)), { code: 'ENOENT' });
    await running[Symbol.asyncDispose]();
  });

  it('that a killed agent left behind is replaced', async () => {
    await using running = await startServer();
    const socketPath = socketOf(running);
    const script = `require('node:net').createServer().listen(${JSON.stringify(socketPath)}, () => console.log('up'))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok((await lstat(socketPath)).isSocket());
    await using _second = await another(running, socketPath);
    assert.equal(await versionAt(socketPath), '0.2.0');
  });

  it('that another process serves is not taken, and the log shows it', async () => {
    await using running = await startServer({ socketName: 'agent.sock' });
    await using second = await another(running, socketOf(running));
    assert.deepEqual(
      second.addresses().map((address) => address.split(':')[0]),
      ['http'],
    );
    assert.equal(await versionAt(socketOf(running)), '0.1.0');
    assert.deepEqual(
      running.events.map((event) => event.event === 'api_unavailable' && [event.reason, event.retryInMs]),
      [['another process listens on the socket', 1000]],
    );
  });

  it('never takes the place of a file', async () => {
    await using running = await startServer();
    const path = socketOf(running, 'precious');
    await writeFile(path, 'content');
    await using second = await another(running, path);
    assert.equal(second.addresses().length, 1);
    assert.equal(await readFile(path, 'utf8'), 'content');
  });
});

describe('the TCP port', () => {
  it('in use by another program is taken as soon as it is free', async () => {
    const squatter = createServer();
    squatter.listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const { port } = squatter.address() as AddressInfo;
    await using running = await startServer({ port, socketName: 'agent.sock' });
    assert.deepEqual(running.server.addresses(), [`unix:${socketOf(running)}`]);
    assert.equal(outcomeOf(await call({ socketPath: socketOf(running) }, 'GET', '/health')), '200');
    squatter.close();
    const available = Promise.withResolvers<string>();
    using _subscription = running.logger.subscribe(
      (event) => event.event === 'api_available' && available.resolve(event.address),
    );
    assert.equal(await available.promise, `http://127.0.0.1:${port}`);
    assert.equal(outcomeOf(await call({ host: '127.0.0.1', port }, 'GET', '/health')), '200');
    assert.deepEqual(
      running.events.map((event) => event.event),
      ['api_unavailable', 'api_available'],
    );
  });

  it('of an address this machine does not have does not keep the agent from starting or ending', async () => {
    // The hotspot of a station has the first of them. Addresses for documentation (RFC 5737).
    const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address));
    const host = ['192.0.2.1', '198.51.100.1', '203.0.113.1'].find((address) => !own.includes(address));
    await using running = await startServer({ host: host ?? 'none is free' });
    assert.deepEqual(running.server.addresses(), []);
    assert.match(running.events[0]?.event === 'api_unavailable' ? running.events[0].reason : '', /EADDRNOTAVAIL/);
  });
});

describe('an end in the middle of everything', () => {
  it('answers waiting requests, ends event streams, and accepts no new ones', async () => {
    const running = await startServer({ socketName: 'agent.sock' });
    const socket = { socketPath: socketOf(running) };
    const waiting = [
      call(running.tcp, 'POST', '/update'),
      call(running.tcp, 'POST', '/rollback'),
      call(socket, 'POST', '/update'),
    ];
    while (running.agent.asked.length < waiting.length) await new Promise(setImmediate);
    const followers = [call(running.tcp, 'GET', '/events'), call(socket, 'GET', '/events')];
    const frozen = connect(running.tcp.port, running.tcp.host);
    frozen.on('error', () => undefined);
    frozen.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(frozen, 'data');
    frozen.pause();
    const half = connect(running.tcp.port, running.tcp.host);
    half.on('error', () => undefined);
    half.write(
      'POST /update HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    );
    await once(half, 'connect');
    running.logger.event('config_warning', { problem: 'the last event' });

    await running.server[Symbol.asyncDispose]();
    for (const answer of await Promise.all(waiting)) {
      assert.equal(outcomeOf(answer), '503 shutting_down');
      assert.equal(answer.headers.connection, 'close');
    }
    for (const answer of await Promise.all(followers)) assert.match(answer.text, /the last event/);
    await assert.rejects(call(running.tcp, 'GET', '/health'), { code: 'ECONNREFUSED' });
    await assert.rejects(call(socket, 'GET', '/health'), { code: 'ENOENT' });
    half.destroy();
    frozen.destroy();
    await running[Symbol.asyncDispose]();
  });

  it('also ends answers that the agent is slow to send', async () => {
    const running = await startServer();
    running.agent.status = () => new Promise(() => undefined);
    const waiting = [call(running.tcp, 'GET', '/status'), call(running.tcp, 'GET', '/metrics')];
    await call(running.tcp, 'GET', '/health');
    await running.server[Symbol.asyncDispose]();
    for (const answer of await Promise.all(waiting)) assert.equal(outcomeOf(answer), '503 shutting_down');
    await running[Symbol.asyncDispose]();
  });
});
