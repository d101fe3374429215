import assert from 'node:assert/strict';
import { lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { StationError } from '@station/kit/station-error';
import { createCompose, type Compose } from './compose.ts';

// What needs Compose itself is shown on a real engine (e2e update); here are the files that it reads.
type Project = AsyncDisposable & { folder: string; env: string; override: string; compose: Compose };

async function createProject(program = 'docker'): Promise<Project> {
  const root = await mkdtemp(join(tmpdir(), 'station-compose-'));
  const folder = join(root, 'stack');
  await mkdir(folder);
  const override = join(root, 'override.yml');
  const env = { PATH: process.env['PATH'] ?? '' };
  const parts = { disk: nodeDisk, program, projectPath: folder, composeFile: 'docker-compose.yml', env };
  return {
    folder,
    env: join(folder, '.env'),
    override,
    compose: createCompose({ ...parts, overridePath: override }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

const codeOf = (error: unknown): string => (error instanceof StationError ? error.code : String(error));

test('an environment file in any encoding keeps every byte when the override is linked', async () => {
  await using project = await createProject();
  const before = Buffer.from('# caf\u00e9 \u00a0\nMQTT_PASSWORD=s\u00e9cret\u00ff\n', 'latin1');
  await writeFile(project.env, before, { mode: 0o640 });
  assert.equal(await project.compose.link(), true);
  const line = `COMPOSE_FILE=docker-compose.yml:${project.override}\n`;
  assert.deepEqual(await readFile(project.env), Buffer.concat([before, Buffer.from(line)]));
  assert.equal((await stat(project.env)).mode & 0o777, 0o640);
  assert.equal(await project.compose.link(), true);
  assert.equal((await readFile(project.env)).length, before.length + line.length);
});

test('compose files that an operator named count in an environment file that is not UTF-8', async () => {
  await using project = await createProject();
  await writeFile(project.env, Buffer.from('# caf\u00e9\nCOMPOSE_FILE=own.yml\n', 'latin1'));
  assert.match(await project.compose.version(), /\/own\.yml absent/);
});

test('an environment file behind a symbolic link is written where it is', async () => {
  await using project = await createProject();
  const real = join(project.folder, '../station.env');
  await writeFile(real, 'A=1\n', { mode: 0o600 });
  await symlink('../station.env', project.env);
  assert.equal(await project.compose.link(), true);
  assert.equal(await readlink(project.env), '../station.env');
  assert.match(await readFile(real, 'utf8'), /^A=1\nCOMPOSE_FILE=/);
});

test('a symbolic link to nowhere is left alone, and that is told', async () => {
  await using project = await createProject();
  await symlink('nowhere/station.env', project.env);
  assert.equal(await project.compose.link(), false);
  assert.ok((await lstat(project.env)).isSymbolicLink());
});

test('a program or folder that is not there is a project that cannot be read, and no absent engine', async () => {
  await using project = await createProject('station-no-such-docker');
  await assert.rejects(project.compose.describe(new AbortController().signal), (error: unknown) => {
    assert.equal(codeOf(error), 'compose_project_unreadable');
    assert.match((error as Error).message, /cannot be started in its folder \(ENOENT\)$/);
    return true;
  });
});

test('an environment file that cannot be read is told so', async () => {
  await using project = await createProject();
  await mkdir(project.env);
  assert.equal(await project.compose.link(), false);
  await assert.rejects(project.compose.version(), (error) => codeOf(error) === 'compose_project_unreadable');
});
