import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { createEngineApi } from './engine-api.ts';

// Versions of the API that no engine of this machine speaks; the calls themselves are shown on a real engine (e2e update).
type Engine = AsyncDisposable & { socketPath: string; paths: string[]; version: string };

async function speak(version: string, answer: RequestListener, onVersion?: RequestListener): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), 'station-engine-api-'));
  const engine = { socketPath: join(folder, 'docker.sock'), paths: [] as string[], version };
  const tellVersion: RequestListener =
    onVersion ?? ((_, response) => response.end(JSON.stringify({ ApiVersion: engine.version })));
  const server = createServer((request, response) => {
    if (request.url === '/version') {
      tellVersion(request, response);
      return;
    }
    engine.paths.push(request.url ?? '');
    answer(request, response);
  });
  server.listen(engine.socketPath);
  await once(server, 'listening');
  return Object.assign(engine, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await rm(folder, { recursive: true });
    },
  });
}

const isUnavailable = (error: unknown): boolean => error instanceof StationError && error.code === 'unavailable';

for (const [offered, spoken] of [
  ['1.24', '1.24'],
  ['1.41', '1.41'],
  ['1.51', '1.51'],
  ['1.99', '1.51'],
  ['2.0', '1.51'],
] as const) {
  test(`uses ${spoken} with an engine that offers ${offered}`, async () => {
    await using engine = await speak(offered, (_, response) => response.end('{}'));
    using api = createEngineApi(engine.socketPath);
    await api.call('GET', '/info');
    await api.call('GET', '/info');
    assert.deepEqual(engine.paths, [`/v${spoken}/info`, `/v${spoken}/info`]);
  });
}

test('asks again when an upgraded engine no longer takes the version', async () => {
  await using engine = await speak('1.41', (request, response) => {
    const taken = request.url?.startsWith(`/v${engine.version}/`) ?? false;
    response.writeHead(taken ? 200 : 400).end(JSON.stringify(taken ? { ok: true } : { message: 'too old' }));
  });
  using api = createEngineApi(engine.socketPath);
  assert.equal((await api.call('GET', '/info')).status, 200);
  engine.version = '1.48';
  assert.deepEqual(await api.call('GET', '/info'), { status: 200, body: { ok: true } });
});

test('a bad request stays one, and is sent once', async () => {
  await using engine = await speak('1.41', (_, response) => response.writeHead(400).end('{"message":"no"}'));
  using api = createEngineApi(engine.socketPath);
  assert.deepEqual(await api.call('GET', '/x'), { status: 400, body: { message: 'no' } });
  assert.equal(engine.paths.length, 1);
});

test('passes on lines as they come, and reports an answer that broke off', async () => {
  await using engine = await speak('1.41', (request, response) => {
    response.write('{"n":1}\n\n{"n":2}\n');
    if (request.url?.endsWith('/whole')) response.end('{"n":3}');
    else setTimeout(() => response.destroy(), 20);
  });
  using api = createEngineApi(engine.socketPath);
  const lines: unknown[] = [];
  await api.lines('GET', '/whole', (line) => lines.push(line));
  assert.deepEqual(lines, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  await assert.rejects(
    api.lines('GET', '/broken', () => undefined),
    isUnavailable,
  );
  const bytesOf = async (path: string): Promise<string> => {
    const { status, content } = await api.stream(path, new AbortController().signal);
    assert.equal(status, 200);
    const pieces: Buffer[] = [];
    for await (const piece of content) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };
  assert.equal(await bytesOf('/whole'), '{"n":1}\n\n{"n":2}\n{"n":3}');
  await assert.rejects(bytesOf('/broken'));
});

test('an engine that does not run is reported as unavailable', async () => {
  using api = createEngineApi(join(tmpdir(), 'station-no-such-engine.sock'));
  await assert.rejects(api.call('GET', '/info'), isUnavailable);
});

test('a version that broke off is asked for again', async () => {
  let asked = 0;
  await using engine = await speak(
    '1.41',
    (_, response) => response.end('{}'),
    (_, response) => {
      asked += 1;
      if (asked === 2) {
        response.end('{"ApiVersion":"1.41"}');
        return;
      }
      // The head comes, the rest never does.
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"Api', () => response.destroy());
    },
  );
  using api = createEngineApi(engine.socketPath);
  await assert.rejects(api.call('GET', '/info'), isUnavailable);
  assert.equal((await api.call('GET', '/info')).status, 200);
  assert.equal(asked, 2);
});

test('an engine that accepts and never answers is reported as unavailable, for each kind of call', async () => {
  const silent = (): undefined => undefined;
  const begun: RequestListener = (_, response) => void response.write('{"n":');
  await using dumb = await speak('1.41', silent, silent);
  await using engine = await speak('1.41', (request, response) =>
    request.url?.endsWith('/begun') ? begun(request, response) : silent(),
  );
  using mute = createEngineApi(dumb.socketPath, { timeoutMs: 50 });
  using api = createEngineApi(engine.socketPath, { timeoutMs: 50 });
  for (const call of [
    () => mute.call('GET', '/info'),
    () => api.call('GET', '/info'),
    () => api.call('GET', '/begun'),
    () => api.lines('GET', '/begun', () => undefined),
  ]) {
    await assert.rejects(call, isUnavailable);
  }
});

test('a call that its caller ends is no fault of the engine', async () => {
  await using engine = await speak('1.41', () => undefined);
  using api = createEngineApi(engine.socketPath);
  const stopping = new AbortController();
  const reason = new Error('stop');
  const call = api.call('GET', '/info', { signal: stopping.signal });
  stopping.abort(reason);
  await assert.rejects(call, (error) => error === reason);
});

test('a stream that is to be sent is closed also when the engine is not there', async () => {
  using api = createEngineApi('/nonexistent/docker.sock');
  const archive = createReadStream(import.meta.filename);
  await assert.rejects(api.call('POST', '/images/load', { archive }), isUnavailable);
  assert.equal(archive.destroyed, true);
});
