import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeDisk } from '@station/kit/files';
import { createDockerEngine } from './docker-engine.ts';

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

async function createStack() {
  const root = await mkdtemp(join(tmpdir(), 'station-docker-engine-'));
  const projectPath = join(root, 'stack');
  await mkdir(projectPath);
  await writeFile(join(root, 'docker'), program, { mode: 0o755 });
  const engine = createDockerEngine({
    disk: nodeDisk,
    program: join(root, 'docker'),
    projectPath,
    composeFile: 'compose.yaml',
    overridePath: join(root, 'override.yml'),
    socketPath: join(root, 'docker.sock'),
    credentials: null,
    env: { PATH: process.env['PATH'] ?? '' },
    now: () => 0,
    onLink: () => undefined,
  });
  return {
    engine,
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

test('an `up` that fails for a project that broke since it was read says nothing of the release', async () => {
  await using stack = await createStack();
  assert.deepEqual(await stack.engine.services(), ['backend']);
  await stack.breakProject();
  await assert.rejects(stack.engine.up(signal), { code: 'compose_project_unreadable' });
});
