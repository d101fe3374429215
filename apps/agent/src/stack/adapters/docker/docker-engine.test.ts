import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createDockerEngine, type DockerParts } from './docker-engine.ts';

// A `docker` whose `compose up` fails; one that works is shown on a real engine (e2e update).
const program = `#!/bin/sh
case "$2" in
  version) ;;
  config)
    if [ -e broken ]; then echo "yaml: line 4: mapping values are not allowed" >&2; exit 15; fi
    echo '{"name":"station","services":{"backend":{}}}' ;;
  *) echo "address already in use" >&2; exit 1 ;;
esac
`;
const { signal } = new AbortController();

async function createStack(script = program, credentials: DockerParts['credentials'] = null) {
  const root = await mkdtemp(join(tmpdir(), 'station-docker-engine-'));
  const projectPath = join(root, 'stack');
  await mkdir(projectPath);
  await writeFile(join(root, 'docker'), script, { mode: 0o755 });
  const engine = createDockerEngine({
    disk: nodeDisk,
    program: join(root, 'docker'),
    projectPath,
    composeFile: 'compose.yaml',
    overridePath: join(root, 'override.yml'),
    socketPath: join(root, 'docker.sock'),
    containerNames: {},
    credentials,
    env: { PATH: process.env['PATH'] ?? '' },
    clock: systemClock,
    alive: () => undefined,
    onLink: () => undefined,
    onRestart: () => undefined,
    onRemoved: () => undefined,
    onRepaired: () => undefined,
    archivePath: join(root, 'rebuilding.tar'),
  });
  return {
    engine,
    socketPath: join(root, 'docker.sock'),
    /** Pins a release. */
    writeOverride: () => writeFile(join(root, 'override.yml'), 'services: {}\n'),
    /** Breaks what no modification time tells: a file that the project includes, say. */
    breakProject: () => writeFile(join(projectPath, 'broken'), ''),
    [Symbol.asyncDispose]: async () => {
      engine[Symbol.dispose]();
      await rm(root, { recursive: true });
    },
  };
}

test('an `up` that fails is a failure of the engine while Compose can read the project', async () => {
  await using stack = await createStack();
  const answer = await stack.engine.up(signal);
  assert.ok(answer.kind === 'failed' && answer.hung !== true);
  assert.equal(answer.detail, 'address already in use');
});

test('an `up` that fails for a project that broke since it was read is no failure of the release', async () => {
  await using stack = await createStack();
  assert.deepEqual((await stack.engine.services()).running, ['backend']);
  await stack.breakProject();
  await assert.rejects(stack.engine.up(signal), { code: 'compose_project_unreadable' });
});

const gone = 'registry.test/station/backend:1.0.0';
const held = `sha256:${'b'.repeat(64)}`;
// The stack's own file names the release that the station came with; the override pins the one that is installed.
const pinningProgram = `#!/bin/sh
case "$2" in
  config)
    image=${gone}
    case "$COMPOSE_FILE" in *override.yml) image=${held} ;; esac
    echo '{"name":"station","services":{"backend":{"image":"'$image'"}}}' ;;
esac
`;

test('`up` asks no registry for a release that the override has replaced since the project was read', async () => {
  await using stack = await createStack(pinningProgram, { registry: 'registry.test', username: 'u', password: 'p' });
  assert.deepEqual((await stack.engine.services()).running, ['backend']);
  await stack.writeOverride();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = decodeURIComponent(request.url ?? '').replace(/^\/v[\d.]+/, '');
    if (url === '/version') {
      response.end('{"ApiVersion":"1.51"}');
      return;
    }
    asked.push(`${request.method} ${url.replace(/\?.*/, '')}`);
    // It has no image, and cannot fetch any.
    response.writeHead(url.startsWith('/events') ? 200 : 404).end('{}');
  });
  await using _ = { [Symbol.asyncDispose]: async () => void server.close() };
  await once(server.listen(stack.socketPath), 'listening');
  assert.deepEqual(await stack.engine.up(signal), { kind: 'ok', stoppedAtMs: null });
  assert.deepEqual(asked, ['GET /events']);
});
