import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { archiveOf, firstFile } from './archive.ts';
import { createBrokerFile } from './broker-file.ts';
import { createEngineApi } from './engine-api.ts';

/** The calls of the Engine API that the file needs, at one container of the broker (API reference 1.51). */
async function engine(options: { service?: string; putStatus?: number } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'station-broker-file-'));
  const state = {
    content: Buffer.from('{"clients":[]}'),
    owner: { uid: 1883, gid: 1883 },
    running: true,
    log: [] as string[],
  };
  const labels = { 'com.docker.compose.project': 'station', 'com.docker.compose.service': options.service ?? 'mqtt' };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').replace(/^\/v[\d.]+/, '').split('?')[0] ?? '';
    const json = (body: unknown, status = 200) => response.writeHead(status).end(JSON.stringify(body));
    const body = await buffer(request);
    if (path === '/version') return json({ ApiVersion: '1.51' });
    if (path === '/containers/json') return json([{ Id: 'one', ImageID: 'sha256:1', Names: ['/m'], Labels: labels }]);
    if (path.endsWith('/json'))
      return json({
        Id: 'one',
        Image: 'sha256:1',
        RestartCount: 0,
        Config: { Image: 'm' },
        State: { Status: 'running', ExitCode: 0 },
      });
    state.log.push(`${request.method} ${path}${state.running ? '' : ' (stopped)'}`);
    if (path.endsWith('/stop') || path.endsWith('/start')) {
      state.running = path.endsWith('/start');
      return response.writeHead(204).end();
    }
    if (request.method === 'GET') {
      if (state.content.length === 0) return json({ message: 'no such file' }, 404);
      return response.end(
        archiveOf({ name: 'dynamic-security.json', mode: 0o600, ...state.owner, content: state.content }),
      );
    }
    if (options.putStatus !== undefined) return json({ message: 'said' }, options.putStatus);
    const file = await firstFile(body);
    assert.ok(file);
    state.content = Buffer.from(file.content);
    state.owner = { uid: file.uid, gid: file.gid };
    return response.end();
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(join(folder, 'docker.sock'));
  await once(server, 'listening');
  const api = createEngineApi(join(folder, 'docker.sock'));
  return {
    state,
    file: createBrokerFile(api, async () => 'station'),
    [Symbol.asyncDispose]: async () => {
      api[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await rm(folder, { recursive: true });
    },
  };
}

test('the logins are replaced while the broker is stopped, and it is started again', async () => {
  await using running = await engine();
  const { state, file } = running;
  assert.deepEqual(await file.read(), { kind: 'ok', logins: { clients: [] } });
  await file.replace({ clients: [{ username: 'lamp' }] });
  assert.deepEqual(await file.read(), { kind: 'ok', logins: { clients: [{ username: 'lamp' }] } });
  assert.deepEqual(state.owner, { uid: 1883, gid: 1883 });
  assert.deepEqual(state.log.slice(2, 5), [
    'POST /containers/one/stop',
    'PUT /containers/one/archive (stopped)',
    'POST /containers/one/start (stopped)',
  ]);
});

test('a broker whose file is not accepted is started again', async () => {
  await using running = await engine({ putStatus: 403 });
  await assert.rejects(running.file.replace({ clients: [] }), StationError);
  assert.equal(running.state.running, true);
});

test('without the service, without the file, and with another content there are no logins', async () => {
  await using other = await engine({ service: 'postgres' });
  assert.deepEqual(await other.file.read(), { kind: 'absent' });
  await using running = await engine();
  for (const [content, kind] of [
    ['', 'absent'],
    ['{"clients":', 'not_valid'],
    ['{}', 'not_valid'],
    [`{"clients":[],"more":"${'x'.repeat(4 * 1024 * 1024)}"}`, 'too_large'],
  ] as const) {
    running.state.content = Buffer.from(content);
    assert.deepEqual(await running.file.read(), { kind });
  }
});
