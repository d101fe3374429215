import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { ownValue } from '@station/protocol/own-value';
import { createEngineApi } from './engine-api.ts';
import { planRebuild } from './image-rebuild.ts';

const id = `sha256:${'a'.repeat(64)}`;
const answers: Readonly<Record<string, unknown>> = {
  '/version': { ApiVersion: '1.51' },
  '/v1.51/containers/json?all=true': [],
  '/v1.51/images/json': [{ Id: id }],
  [`/v1.51/images/${encodeURIComponent(id)}/json`]: { Size: 1, RepoTags: ['web:1'], RootFS: { Layers: ['one'] } },
};

test('an archive that cannot be written leaves no answer of the engine unread', async () => {
  const root = await mkdtemp(join(tmpdir(), 'station-rebuild-'));
  const sending = new Set<ServerResponse>();
  let asked = 0;
  const server = createServer((request, response) => {
    const answer = ownValue(answers, request.url ?? '');
    if (answer !== undefined) {
      response.end(JSON.stringify(answer));
      return;
    }
    // The archive of an image, which does not end.
    sending.add(response);
    response.on('close', () => sending.delete(response));
    response.write('archive');
  }).listen(join(root, 'docker.sock'));
  await once(server, 'listening');
  using api = createEngineApi(join(root, 'docker.sock'));
  const archivePath = join(root, 'folder');
  await mkdir(archivePath);
  const { rebuilding } = await planRebuild(
    {
      api,
      project: 'station',
      check: async () => ({ kind: 'damaged', archiveBytes: 1, layer: 0, reason: 'a path differs' }),
      layers: async () => {
        asked += 1;
        return { kind: 'failed', code: 'image_missing', reason: 'gone', transient: false };
      },
      pull: async () => ({ kind: 'broken' }),
      dropLeftovers: async () => undefined,
      sync: async () => undefined,
      archivePath,
      clock: systemClock,
      alive: () => undefined,
    },
    [id],
    { [id]: 'web:1' },
    new AbortController().signal,
  );
  assert.equal(rebuilding, null);
  assert.ok(asked > 0, 'no registry has it, so it was to be saved');
  assert.equal(sending.size, 0);
  server.closeAllConnections();
  server.close();
  await rm(root, { recursive: true });
});
