import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CheckResult, Health, Status, Version, WifiStatus } from '@station/protocol/agent-api';
import { ErrorBody } from '@station/protocol/errors';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { ListenHttp } from '../core/http-port.ts';
import { call, postJson, startServer, outcomeOf, type Answer } from '../../testing/running-server.ts';

const json = { 'content-type': 'application/json' };
const faults = (answer: Answer): unknown =>
  (answer.json as { details: { faults: { pointer: string }[] } }).details.faults.map(({ pointer }) => pointer);

/** Like the agent's listener, with time limits that a test can wait for. */
const listenBriefly: ListenHttp = async (where) => {
  const server = createServer({ headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 20 });
  server.listen(where);
  await once(server, 'listening');
  return server;
};

describe('answers', () => {
  const schemas: [string, string, TSchema][] = [
    ['GET', '/health', Health],
    ['GET', '/version', Version],
    ['GET', '/status', Status],
    ['GET', '/wifi/status', WifiStatus],
    ['POST', '/check', CheckResult],
  ];
  for (const [method, path, schema] of schemas) {
    it(`of ${method} ${path} have the shape of the contract`, async () => {
      await using running = await startServer();
      const answer = await call(running.tcp, method, path);
      assert.equal(answer.status, 200);
      assert.ok(Value.Check(schema, answer.json), answer.text);
    });
  }

  it('to HEAD are those of GET without a body', async () => {
    await using running = await startServer();
    const answer = await call(running.tcp, 'HEAD', '/status');
    assert.deepEqual([answer.status, answer.text], [200, '']);
  });
});

describe('requests that are wrong', () => {
  const bodies: [string, unknown, string[]][] = [
    ['an unknown key', { version: '1.0.0', force: true }, ['/force']],
    ['an unknown key with odd characters', { 'a/b~c': 1 }, ['/a~1b~0c']],
    ['a wrong type', { version: 2 }, ['/version']],
    ['null for a version', { version: null }, ['/version']],
    ['an empty version', { version: '' }, ['/version']],
    ['a very long version', { version: '1'.repeat(129) }, ['/version']],
    ['several faults', { version: [], x: 1, y: 2 }, ['/x', '/y', '/version']],
    ['a list', [], ['']],
    ['null', null, ['']],
    ['a text', 'latest', ['']],
    ['a prototype', JSON.parse('{"toString":1}'), ['/toString']],
  ];
  for (const [title, body, pointers] of bodies) {
    it(`in the body: ${title}`, async () => {
      await using running = await startServer();
      const answer = await postJson(running.tcp, '/update', body);
      assert.equal(outcomeOf(answer), '400 validation_failed');
      assert.ok(Value.Check(ErrorBody, answer.json));
      assert.deepEqual(faults(answer), pointers);
      assert.deepEqual(running.agent.asked, []);
    });
  }

  const calls: [string, string, string, { headers?: Record<string, string>; body?: string | Uint8Array }, string][] = [
    [
      'a body that is not UTF-8',
      'POST',
      '/update',
      { headers: json, body: Buffer.from('{"version":"\u00e4"}', 'latin1') },
      '400 bad_request',
    ],
    ['JSON that is not JSON', 'POST', '/update', { headers: json, body: '{"version":' }, '400 bad_request'],
    [
      'JSON that reaches for __proto__',
      'POST',
      '/update',
      { headers: json, body: '{"__proto__":{}}' },
      '400 bad_request',
    ],
    [
      'a body where none is known',
      'POST',
      '/rollback',
      { headers: json, body: '{"version":"1"}' },
      '400 validation_failed',
    ],
    ['an unknown query key', 'GET', '/status?verbose=1', {}, '400 validation_failed'],
    ['a wrong query value', 'POST', '/update?wait=no', {}, '400 validation_failed'],
    ['a query key twice', 'POST', '/update?wait=false&wait=true', {}, '400 validation_failed'],
    ['an address that is none', 'GET', '/%E0%A4%A', {}, '400 bad_request'],
    ['an unknown address', 'GET', '/etc/passwd', {}, '404 not_found'],
    ['an address with a slash too many', 'GET', '/health/', {}, '404 not_found'],
    [
      'compressed JSON',
      'POST',
      '/update',
      { headers: { 'content-type': 'application/gzip' }, body: 'x' },
      '415 unsupported_media_type',
    ],
  ];
  for (const [title, method, path, options, expected] of calls) {
    it(`${title}: ${expected}`, async () => {
      await using running = await startServer();
      const answer = await call(running.tcp, method, path, options);
      assert.equal(outcomeOf(answer), expected);
      assert.ok(Value.Check(ErrorBody, answer.json), answer.text);
      assert.equal(answer.json.statusCode, answer.status);
      assert.deepEqual([running.agent.asked, running.events], [[], []]);
    });
  }

  it('with a method the path does not have are answered with the methods it has', async () => {
    await using running = await startServer();
    const answers = [
      await call(running.tcp, 'GET', '/update?wait=false'),
      await call(running.tcp, 'DELETE', '/status'),
      await call(running.tcp, 'OPTIONS', '/rollback'),
      await call(running.tcp, 'HEAD', '/events'),
    ];
    assert.deepEqual(
      answers.map((answer) => [answer.status, answer.headers.allow]),
      [
        [405, 'POST'],
        [405, 'GET, HEAD'],
        [405, 'POST'],
        [405, 'GET'],
      ],
    );
    assert.equal(outcomeOf(answers[0] as Answer), '405 method_not_allowed');
  });

  it('with a body of 10 MB, announced or not, are refused before it is taken in', async () => {
    await using running = await startServer();
    const body = Buffer.alloc(10_000_000, 0x20);
    assert.equal(
      outcomeOf(await call(running.tcp, 'POST', '/update', { headers: json, body })),
      '413 payload_too_large',
    );
    const chunked = { ...json, 'transfer-encoding': 'chunked' };
    assert.equal(
      outcomeOf(await call(running.tcp, 'POST', '/update', { headers: chunked, body })),
      '413 payload_too_large',
    );
    assert.deepEqual(running.agent.asked, []);
    assert.equal(outcomeOf(await call(running.tcp, 'GET', '/health')), '200');
  });

  it('with such a body are answered also to a client that writes all of it before it reads', async () => {
    await using running = await startServer();
    const socket = connect(running.tcp.port, running.tcp.host);
    const head = 'POST /update HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close';
    socket.write(`${head}\r\ncontent-length: 10000000\r\n\r\n`);
    // Rejects when the connection is reset.
    const write = promisify((body: Buffer, done: (error?: Error | null) => void) => socket.write(body, done));
    await write(Buffer.alloc(10_000_000, 0x20));
    assert.match(await text(socket), /^HTTP\/1.1 413 /);
  });

  it('with a body just below the limit are read', async () => {
    await using running = await startServer();
    const body = `{${' '.repeat(4096 - 2)}}`;
    running.agent.answer = { kind: 'already_current', version: '1.0.0' };
    assert.equal(outcomeOf(await call(running.tcp, 'POST', '/update', { headers: json, body })), '200');
    assert.equal(
      outcomeOf(await call(running.tcp, 'POST', '/update', { headers: json, body: ` ${body}` })),
      '413 payload_too_large',
    );
  });

  it('of a backend that wait without an end keep out no program of the machine, and the other way round', async () => {
    await using running = await startServer({ token: 'the-token', socketName: 'agent.sock' });
    const answered = Promise.withResolvers<never>();
    running.agent.check = () => {
      running.agent.asked.push('check');
      return answered.promise;
    };
    const unix = { path: `${running.folder}/agent.sock` };
    const head =
      'POST /check HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer the-token\r\ncontent-length: 0\r\n\r\n';
    for (const [full, other] of [
      [unix, running.tcp],
      [running.tcp, { socketPath: unix.path }],
    ] as const) {
      const held: Socket[] = [];
      let ended = 0;
      const { length } = running.agent.asked;
      // More than the budget has room for; few at once, because the queue of a listener is short.
      while (ended === 0) {
        const socket = connect(full);
        socket.on('error', () => undefined).once('close', () => (ended += 1));
        held.push(socket);
        await once(socket, 'connect');
        socket.write(head);
        if (held.length % 50 === 0) await sleep(20);
      }
      assert.ok(running.agent.asked.length - length > 500, `${running.agent.asked.length - length} wait`);
      assert.equal(outcomeOf(await call(other, 'GET', '/health')), '200');
      for (const socket of held) socket.destroy();
    }
  });

  it('whose bodies never end take 6 MiB in all; the next is refused, and others are answered', async () => {
    await using running = await startServer({ token: 'the-token', socketName: 'agent.sock' });
    const bytes = 2_000_000;
    const permitted = { ...json, authorization: 'Bearer the-token' };
    const half = async () => {
      const socket = connect(running.tcp.port, running.tcp.host);
      await once(socket, 'connect');
      const type = 'host: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer the-token';
      socket.write(`POST /backup/restore HTTP/1.1\r\n${type}\r\ncontent-length: ${bytes}\r\n\r\n`);
      const write = promisify((body: Buffer, done: (error?: Error | null) => void) => socket.write(body, done));
      await write(Buffer.alloc(bytes - 1, 0x20));
      return socket;
    };
    const restore = async (): Promise<string> =>
      outcomeOf(
        await call(running.tcp, 'POST', '/backup/restore', { headers: permitted, body: Buffer.alloc(bytes, 0x20) }),
      );
    const sockets = [await half(), await half(), await half()];
    assert.equal(await restore(), '503 busy');
    assert.equal(outcomeOf(await call({ socketPath: `${running.folder}/agent.sock` }, 'GET', '/health')), '200');
    assert.equal(sockets.filter(({ destroyed }) => destroyed).length, 0);
    for (const socket of sockets) socket.destroy();
    while ((await restore()) === '503 busy') await sleep(10);
    assert.equal(await restore(), '400 bad_request');
  });

  const invalid: [string, string][] = [
    ['that are no HTTP', 'GARBAGE\r\n\r\n'],
    ['with a header that is too long', `GET /health HTTP/1.1\r\nHost: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['whose head does not arrive in time', 'GET /health HTTP/1.1\r\nHost: localhost\r\n'],
    [
      'whose body does not arrive in time',
      'POST /update HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    ],
  ];
  for (const [title, bytes] of invalid) {
    it(`${title} still get an answer, and their connection ends`, async () => {
      await using running = await startServer({ listenHttp: listenBriefly });
      const socket = connect(running.tcp.port, running.tcp.host);
      socket.write(bytes);
      const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 400 /);
      assert.equal((JSON.parse(body) as ErrorBody).code, 'bad_request');
      assert.deepEqual([running.agent.asked, running.events], [[], []]);
    });
  }
});

describe('an unexpected error', () => {
  it('is written to the log, and the caller learns nothing of it', async () => {
    await using running = await startServer();
    running.agent.statusError = new Error('secret path /root/x', { cause: new Error('deeper') });
    const answer = await call(running.tcp, 'GET', '/status');
    assert.equal(outcomeOf(answer), '500 internal');
    assert.ok(!answer.text.includes('/root/x'));
    assert.deepEqual(
      running.events.map((event) => event.event === 'unexpected_error' && [event.where, event.message]),
      [['http GET /status', 'secret path /root/x: deeper']],
    );
  });
});
