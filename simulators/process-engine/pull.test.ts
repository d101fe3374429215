import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findFreePort } from '@station/kit/free-port';
import { createTestBench, type TestBench } from './test-bench.ts';
import type { PullProgress } from './engine-port.ts';

const never = new AbortController().signal;
const ignore = (): void => undefined;
const megabyte = Buffer.alloc(1024 * 1024, 'x');

/** Serves the registry over http, in pieces. `answer` handles a request itself when it returns true. */
async function serve(bench: TestBench, answer: (...args: Parameters<RequestListener>) => boolean = () => false) {
  const server = createServer((request, response) => {
    if (answer(request, response)) return;
    readFile(join(bench.registryFolder, decodeURIComponent(request.url ?? ''))).then(
      (bytes) => response.writeHead(200, { 'content-length': bytes.length }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a pull', () => {
  it('counts the fetched bytes and returns the id of the content', async () => {
    await using bench = await createTestBench();
    await using server = await serve(bench);
    const engine = await bench.openEngine(server.url);
    const id = await bench.publish('web:1.0.0', { files: { 'main.mjs': '', 'padding.bin': megabyte } });
    const layers = await engine.layers('web:1.0.0', never);
    assert.deepEqual(layers.kind === 'ok' && Object.values(layers.layers), [0, megabyte.length]);
    const seen: PullProgress[] = [];
    const answer = await engine.pull('web:1.0.0', (progress) => seen.push({ ...progress }), never);
    assert.deepEqual(answer, { kind: 'ok', imageId: id, digest: `web@${id}` });
    const done = seen.map(({ doneBytes }) => doneBytes);
    assert.deepEqual([done[0], done.at(-1)], [0, megabyte.length]);
    assert.deepEqual(
      done.toSorted((a, b) => a - b),
      done,
    );
    assert.ok(seen.length > 3 && seen.every(({ totalBytes }) => totalBytes === megabyte.length));
    assert.equal((await engine.checkImages([id], { signal: never })).get(id), 'whole');
  });

  it('by digest gets exactly that image, also when the tag has moved', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const old = await bench.publish('web:1.0.0', { files: { 'main.mjs': 'old' } });
    await bench.publish('web:1.0.0', { files: { 'main.mjs': 'new' } });
    const answer = await engine.pull(`web@${old}`, ignore, never);
    assert.equal(answer.kind === 'ok' && answer.imageId, old);
  });

  it('fetches no file that exists locally, unless it is damaged', async () => {
    await using bench = await createTestBench();
    const asked: string[] = [];
    await using server = await serve(bench, ({ url }) => {
      asked.push(url ?? '');
      return false;
    });
    const engine = await bench.openEngine(server.url);
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) {
      await bench.publish(`web:${version}`, { env: { version }, files: { 'main.mjs': 'same' } });
    }
    const first = await engine.pull('web:1.0.0', ignore, never);
    const fetched = (): number => asked.filter((url) => url.startsWith('/blobs/')).length;
    assert.equal(fetched(), 1);
    await engine.pull('web:2.0.0', ignore, never);
    assert.equal(fetched(), 1);
    assert.ok(first.kind === 'ok');
    for (const image of await readdir(join(bench.folder, 'store', 'images'))) {
      await writeFile(join(bench.folder, 'store', 'images', image, 'files', 'main.mjs'), 'lame');
    }
    const third = await engine.pull('web:3.0.0', ignore, never);
    assert.equal(fetched(), 2);
    assert.ok(
      third.kind === 'ok' &&
        (await engine.checkImages([third.imageId], { signal: never })).get(third.imageId) === 'whole',
    );
  });

  it('that is interrupted leaves nothing and can be repeated', async () => {
    await using bench = await createTestBench();
    let cut = true;
    await using server = await serve(bench, (request, response) => {
      if (!cut || !request.url?.startsWith('/blobs/')) return false;
      response.writeHead(200, { 'content-length': megabyte.length });
      response.write(megabyte.subarray(0, 100_000), () => response.destroy());
      return true;
    });
    const engine = await bench.openEngine(server.url);
    await bench.publish('web:1.0.0', { files: { 'padding.bin': megabyte } });
    const answer = await engine.pull('web:1.0.0', ignore, never);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_unavailable' && answer.transient);
    assert.deepEqual(await readdir(join(bench.folder, 'store', 'images')), []);
    assert.deepEqual(await readdir(join(bench.folder, 'store', 'incoming')), []);
    cut = false;
    assert.equal((await engine.pull('web:1.0.0', ignore, never)).kind, 'ok');
  });

  it('ends with the reason of its signal', async () => {
    await using bench = await createTestBench();
    await using server = await serve(bench, (request, response) => {
      if (!request.url?.startsWith('/blobs/')) return false;
      response.writeHead(200, { 'content-length': megabyte.length }).write(megabyte.subarray(0, 1000));
      return true;
    });
    const engine = await bench.openEngine(server.url);
    await bench.publish('web:1.0.0', { files: { 'padding.bin': megabyte } });
    const stopping = new AbortController();
    const reason = new Error('enough');
    const onProgress = ({ doneBytes }: PullProgress): void => void (doneBytes > 0 && stopping.abort(reason));
    await assert.rejects(engine.pull('web:1.0.0', onProgress, stopping.signal), (error) => error === reason);
    assert.deepEqual(await readdir(join(bench.folder, 'store', 'incoming')), []);
  });
});

describe('a failed pull reports the reason', () => {
  const codes = async (bench: TestBench, registry: URL | undefined, reference: string) => {
    const engine = await bench.openEngine(registry);
    const answers = [await engine.layers(reference, never), await engine.pull(reference, ignore, never)];
    return answers.map((answer) => (answer.kind === 'failed' ? `${answer.code} ${answer.transient}` : answer.kind));
  };

  it('a missing image, in a folder and over http', async () => {
    await using bench = await createTestBench();
    await using server = await serve(bench);
    const expected = ['image_missing false', 'image_missing false'];
    assert.deepEqual(await codes(bench, undefined, 'web:9.9.9'), expected);
    assert.deepEqual(await codes(bench, server.url, 'web:9.9.9'), expected);
  });

  it('a server that does not listen, or fails', async () => {
    await using bench = await createTestBench();
    const nobody = new URL(`http://127.0.0.1:${await findFreePort()}/`);
    const expected = ['registry_unavailable true', 'registry_unavailable true'];
    assert.deepEqual(await codes(bench, nobody, 'web:1.0.0'), expected);
    await using server = await serve(bench, (_, response) => Boolean(response.writeHead(503).end()));
    assert.deepEqual(await codes(bench, server.url, 'web:1.0.0'), expected);
  });

  it('a registry that requires credentials', async () => {
    await using bench = await createTestBench();
    await using server = await serve(bench, (_, response) => Boolean(response.writeHead(401).end()));
    const expected = ['registry_auth_failed false', 'registry_auth_failed false'];
    assert.deepEqual(await codes(bench, server.url, 'web:1.0.0'), expected);
  });

  it('a description that is not an image', async () => {
    await using bench = await createTestBench();
    await bench.publish('web:1.0.0', { files: { 'main.mjs': '' } });
    const expected = ['engine_failed false', 'engine_failed false'];
    for (const content of ['', '{}', '{"command":"sh","args":[],"env":{},"files":[]}', 'x'.repeat(300_000)]) {
      await writeFile(join(bench.registryFolder, 'web', '1.0.0.json'), content);
      assert.deepEqual(await codes(bench, undefined, 'web:1.0.0'), expected, content.slice(0, 80));
    }
  });

  it('a file that does not match its digest', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    await bench.publish('web:1.0.0', { files: { 'padding.bin': megabyte } });
    for (const name of await readdir(join(bench.registryFolder, 'blobs'))) {
      const path = join(bench.registryFolder, 'blobs', name);
      if ((await readFile(path)).length === megabyte.length) await truncate(path, 1000);
    }
    const answer = await engine.pull('web:1.0.0', ignore, never);
    assert.equal(answer.kind === 'failed' && answer.code, 'registry_unavailable');
    assert.deepEqual(await readdir(join(bench.folder, 'store', 'images')), []);
  });
});
