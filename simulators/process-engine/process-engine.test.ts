import assert from 'node:assert/strict';
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findFreePort } from '@station/kit/free-port';
import type { ProcessEngine } from './process-engine.ts';
import { createTestBench, eventually, httpService, isAlive, type TestBench } from './test-bench.ts';

const never = new AbortController().signal;
const ignore = (): void => undefined;

type Answer = { version: string; pid: number; env: Record<string, string> };

const ask = (port: number): Promise<Answer | null> =>
  fetch(`http://127.0.0.1:${port}/`)
    .then((response) => response.json() as Promise<Answer>)
    .catch(() => null);

/** Publishes `web:VERSION`, pulls it and returns its id. */
async function install(bench: TestBench, engine: ProcessEngine, version: string, code = httpService): Promise<string> {
  await bench.publish(`web:${version}`, { env: { VERSION: version }, files: { 'main.mjs': code } });
  const answer = await engine.pull(`web:${version}`, ignore, never);
  assert.equal(answer.kind, 'ok');
  return answer.imageId;
}

const stateOf = async (engine: ProcessEngine, service: string) =>
  (await engine.containers()).find((container) => container.service === service) ?? assert.fail('no container');

describe('up of the process engine', () => {
  it('starts a stack with the environment of image and compose file only, and reports it', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const port = await findFreePort();
    await bench.writeStack({ web: { environment: { PORT: String(port), NAME: 'hall' } } });
    assert.deepEqual(await engine.services(), { running: ['web'], declared: ['web'] });
    const imageId = await install(bench, engine, '1.0.0');
    await bench.pin({ web: imageId });
    assert.deepEqual(await engine.up(never), { kind: 'ok', stoppedAtMs: null });
    const answer = await eventually('the service', () => ask(port));
    assert.deepEqual(answer.env, { VERSION: '1.0.0', PORT: String(port), NAME: 'hall' });
    const { id, ...fact } = await stateOf(engine, 'web');
    assert.match(id, /^[0-9a-f-]{36}$/);
    const expected = { service: 'web', image: imageId, imageId, health: 'none', restartCount: 0, exitCode: 0 };
    assert.deepEqual(fact, { ...expected, state: 'running' });
  });

  it('replaces only changed services', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const web = await findFreePort();
    const api = await findFreePort();
    await bench.writeStack({
      web: { environment: { PORT: String(web) } },
      api: { environment: { PORT: String(api) } },
    });
    const one = await install(bench, engine, '1.0.0');
    const two = await install(bench, engine, '2.0.0');
    await bench.pin({ web: one, api: one });
    await engine.up(never);
    const before = await eventually('web', () => ask(web));
    const apiBefore = await eventually('api', () => ask(api));
    await bench.pin({ web: two, api: one });
    const answer = await engine.up(never);
    assert.ok(answer.kind === 'ok' && answer.stoppedAtMs !== null);
    const after = await eventually('the new web', () => ask(web));
    assert.equal(after.version, '2.0.0');
    assert.equal(await isAlive(before.pid), false);
    assert.equal((await ask(api))?.pid, apiBefore.pid);
    assert.deepEqual(await engine.up(never), { kind: 'ok', stoppedAtMs: null });
    assert.equal((await ask(web))?.pid, after.pid);
  });

  it('stops a service that the compose file no longer has', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const port = await findFreePort();
    await bench.writeStack({ web: { environment: { PORT: String(port) } } });
    await bench.pin({ web: await install(bench, engine, '1.0.0') });
    await engine.up(never);
    const { pid } = await eventually('the service', () => ask(port));
    await bench.writeStack({});
    await bench.pin({});
    assert.equal((await engine.up(never)).kind, 'ok');
    assert.equal(await isAlive(pid), false);
    assert.deepEqual(await engine.containers(), []);
  });

  it('reports why it cannot start, and changes nothing', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    assert.deepEqual(await engine.up(never), { kind: 'failed', reason: 'there is no compose file' });
    await bench.writeStack({ web: {} });
    assert.deepEqual(await engine.up(never), { kind: 'failed', reason: 'service "web" names no image' });
    await bench.pin({ web: `sha256:${'0'.repeat(64)}` });
    assert.deepEqual(await engine.up(never), { kind: 'failed', reason: 'service "web" has no image here' });
    await writeFile(join(bench.folder, 'override.yml'), 'services: [');
    const answer = await engine.up(never);
    assert.ok(answer.kind === 'failed' && answer.reason.startsWith('the override file cannot be read'));
    assert.deepEqual(await engine.containers(), []);
  });
});

describe('a service that ends', () => {
  it('is restarted with doubling delays, and the restarts are counted', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    await bench.writeStack({ web: {} });
    await bench.pin({ web: await install(bench, engine, '1.0.0', 'console.log(Date.now()); process.exit(3)') });
    await engine.up(never);
    const fact = await eventually('four restarts', async () => {
      const found = await stateOf(engine, 'web');
      return found.restartCount >= 4 ? found : null;
    });
    assert.equal(fact.exitCode, 3);
    assert.equal(fact.state, 'restarting');
    const log = await readFile(join(bench.folder, 'store', 'logs', 'web.log'), 'utf8');
    const starts = log.trim().split('\n').map(Number);
    const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
    assert.ok(
      waits.length >= 3 && waits.every((wait, index) => wait >= 100 * 2 ** index),
      `waits: ${waits.join(', ')}`,
    );
  });

  it('is also restarted after exit code 0, but not when it was stopped during the delay', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    await bench.writeStack({ web: {} });
    await bench.pin({ web: await install(bench, engine, '1.0.0', 'process.exit(0)') });
    await engine.up(never);
    await eventually('a restart', async () => ((await stateOf(engine, 'web')).restartCount > 0 ? true : null));
    await engine[Symbol.asyncDispose]();
    assert.equal((await stateOf(engine, 'web')).state, 'exited');
  });
});

describe('a service that ignores SIGTERM', () => {
  const stubborn = httpService.replace('process.exit(0)', 'undefined');

  it('delays neither an aborted up nor the end of the engine', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const port = await findFreePort();
    await bench.writeStack({ web: { environment: { PORT: String(port) } } });
    await bench.pin({ web: await install(bench, engine, '1.0.0', stubborn) });
    await engine.up(never);
    const { pid } = await eventually('the service', () => ask(port));
    await bench.pin({ web: await install(bench, engine, '2.0.0') });
    const stopping = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => stopping.abort(reason), 100);
    await assert.rejects(engine.up(stopping.signal), (error) => error === reason);
    assert.equal(await isAlive(pid), true);
    await engine[Symbol.asyncDispose]();
    assert.equal(await isAlive(pid), false);
  });
});

describe('one service of a stack', () => {
  it('can be stopped and started repeatedly without effect on others', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const webPort = await findFreePort();
    const apiPort = await findFreePort();
    await bench.writeStack({
      web: { environment: { PORT: String(webPort) } },
      api: { environment: { PORT: String(apiPort) } },
    });
    const image = await install(bench, engine, '1.0.0');
    await bench.pin({ web: image, api: image });
    await engine.setRunning('web', true);
    await engine.up(never);
    const api = await eventually('the other', () => ask(apiPort));
    await eventually('the service', () => ask(webPort));
    const { id } = await stateOf(engine, 'web');
    for (const running of [false, false, true, true]) await engine.setRunning('web', running);
    await eventually('the service', () => ask(webPort));
    assert.deepEqual([(await stateOf(engine, 'web')).id, (await stateOf(engine, 'web')).state], [id, 'running']);
    await engine.setRunning('web', false);
    assert.equal((await stateOf(engine, 'web')).state, 'exited');
    assert.equal(await ask(webPort), null);
    await engine.setRunning('nobody', false);
    assert.equal((await ask(apiPort))?.pid, api.pid);
  });
});

describe('a restarted engine', () => {
  it('finds the ended containers of the previous engine and starts them again', async () => {
    await using bench = await createTestBench();
    const first = await bench.openEngine();
    const port = await findFreePort();
    await bench.writeStack({ web: { environment: { PORT: String(port) } } });
    await bench.pin({ web: await install(bench, first, '1.0.0') });
    await first.up(never);
    const { pid } = await eventually('the service', () => ask(port));
    const { id } = await stateOf(first, 'web');
    await first[Symbol.asyncDispose]();
    assert.equal(await isAlive(pid), false);
    const second = await bench.openEngine();
    const found = await stateOf(second, 'web');
    assert.deepEqual([found.id, found.state, found.exitCode], [id, 'exited', 137]);
    await second.up(never);
    await eventually('the service', () => ask(port));
    assert.deepEqual([(await stateOf(second, 'web')).id, (await stateOf(second, 'web')).state], [id, 'running']);
  });
});

describe('images', () => {
  it('that two services share can be pulled and pinned by both at the same time', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    for (const name of ['web', 'api']) await bench.publish(`${name}:1.0.0`, { files: { 'main.mjs': httpService } });
    const answers = await Promise.all(['web:1.0.0', 'api:1.0.0'].map((name) => engine.pull(name, ignore, never)));
    const ids = answers.map((answer) => (answer.kind === 'ok' ? answer.imageId : assert.fail(answer.kind)));
    assert.equal(ids[0], ids[1]);
    assert.deepEqual(await Promise.all(ids.map((id) => engine.pinImage(id))), ['pinned', 'pinned']);
    assert.deepEqual(await engine.pinnedImages(), [ids[0]]);
    assert.deepEqual([await engine.imageId('web:1.0.0'), await engine.imageId('api:1.0.0')], ids);
  });

  it('are named, pinned, and removed only when nothing needs them', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const port = await findFreePort();
    await bench.writeStack({ web: { environment: { PORT: String(port) } } });
    const one = await install(bench, engine, '1.0.0');
    const two = await install(bench, engine, '2.0.0');
    assert.equal(await engine.imageId('web:1.0.0'), one);
    assert.equal(await engine.imageId('web:3.0.0'), null);
    assert.equal(await engine.pinImage(two), 'pinned');
    assert.equal(await engine.pinImage(`sha256:${'0'.repeat(64)}`), 'absent');
    assert.deepEqual(await engine.pinnedImages(), [two]);
    assert.equal(await engine.removeImage(two, { force: false }), 'in_use');
    await engine.unpinImage(two);
    assert.equal(await engine.removeImage('web:2.0.0', { force: false }), 'removed');
    assert.equal(await engine.removeImage('web:2.0.0', { force: false }), 'absent');
    await bench.pin({ web: one });
    await engine.up(never);
    assert.equal(await engine.removeImage(one, { force: true }), 'in_use');
    await engine.sync();
    assert.equal(await engine.imageId(one), one);
  });

  it('that are damaged are found by size or by verification, and a pull repairs them', async () => {
    await using bench = await createTestBench();
    const engine = await bench.openEngine();
    const id = await install(bench, engine, '1.0.0');
    const file = join(bench.folder, 'store', 'images', id.slice(7), 'files', 'main.mjs');
    assert.equal((await engine.checkImages([id], { signal: never })).get(id), 'whole');
    await writeFile(file, 'X'.repeat((await stat(file)).size));
    assert.equal(await engine.pinImage(id), 'pinned');
    assert.equal((await engine.checkImages([id], { signal: never })).get(id), 'damaged');
    await truncate(file, 0);
    assert.equal(await engine.pinImage(id), 'broken');
    assert.equal((await engine.pull('web:1.0.0', ignore, never)).kind, 'ok');
    assert.equal((await engine.checkImages([id], { signal: never })).get(id), 'whole');
    await writeFile(join(bench.folder, 'store', 'images', id.slice(7), 'image.json'), '');
    assert.equal(await engine.pinImage(id), 'broken');
    assert.equal(await engine.imageId(id), id);
    await rm(join(bench.folder, 'store', 'images', id.slice(7)), { recursive: true });
    assert.equal(await engine.imageId(id), null);
  });
});
