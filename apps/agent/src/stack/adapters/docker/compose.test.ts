import assert from 'node:assert/strict';
import { lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { StationError } from '@station/kit/station-error';
import { type Compose, createCompose, createProjectReader, describeFault } from './compose.ts';

// What needs Compose itself is shown on a real engine (e2e update); here are the files that it reads.
type Project = AsyncDisposable & {
  folder: string;
  env: string;
  override: string;
  compose: Compose;
  changed: (changes: Changes) => Compose;
};
type Changes = { composeFile?: string; overridePath?: string };

const note = '# The station agent writes the next line, from COMPOSE_FILE and DATA_DIR in its own .env.';

async function createProject(program = 'docker'): Promise<Project> {
  const root = await mkdtemp(join(tmpdir(), 'station-compose-'));
  const folder = join(root, 'stack');
  await mkdir(folder);
  const override = join(root, 'compose.update.override.yml');
  const env = { PATH: process.env['PATH'] ?? '' };
  const parts = { disk: nodeDisk, program, projectPath: folder, composeFile: 'docker-compose.yml', env };
  return {
    folder,
    env: join(folder, '.env'),
    override,
    compose: createCompose({ ...parts, overridePath: override }),
    changed: (changes) => createCompose({ ...parts, overridePath: override, ...changes }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

const codeOf = (error: unknown): string => (error instanceof StationError ? error.code : String(error));

test('an environment file in any encoding keeps every byte when the override is linked', async () => {
  await using project = await createProject();
  const before = Buffer.from('# caf\u00e9 \u00a0\nMQTT_PASSWORD=s\u00e9cret\u00ff\n', 'latin1');
  await writeFile(project.env, before, { mode: 0o640 });
  assert.equal(await project.compose.link(), true);
  const line = `${note}\nCOMPOSE_FILE=docker-compose.yml:${project.override}\n`;
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
  assert.match(await readFile(real, 'utf8'), /^A=1\n# The station agent .*\nCOMPOSE_FILE=/);
});

test('the line that the agent wrote follows a changed DATA_DIR and COMPOSE_FILE', async () => {
  await using project = await createProject();
  await writeFile(project.env, 'A=1\n');
  assert.equal(await project.compose.link(), true);
  const overridePath = '/new/compose.update.override.yml';
  assert.equal(await project.changed({ overridePath }).link(), true);
  assert.equal(await readFile(project.env, 'utf8'), `A=1\n${note}\nCOMPOSE_FILE=docker-compose.yml:${overridePath}\n`);
  assert.equal(await project.changed({ overridePath, composeFile: 'prod.yml' }).link(), true);
  assert.equal(await readFile(project.env, 'utf8'), `A=1\n${note}\nCOMPOSE_FILE=prod.yml:${overridePath}\n`);
});

test('files that an operator named stay when DATA_DIR changes', async () => {
  await using project = await createProject();
  await writeFile(project.env, 'COMPOSE_FILE=prod.yml:local.yml:/old/compose.update.override.yml\n');
  assert.equal(await project.compose.link(), true);
  assert.equal(await readFile(project.env, 'utf8'), `COMPOSE_FILE=prod.yml:local.yml:${project.override}\n`);
});

test('a line of an earlier release of the agent follows as well', async () => {
  await using project = await createProject();
  await writeFile(project.env, `COMPOSE_FILE=docker-compose.yml:${project.override}\n`);
  assert.equal(await project.compose.link(), true);
  assert.equal(await project.changed({ overridePath: '/new/compose.update.override.yml' }).link(), true);
  assert.match(await readFile(project.env, 'utf8'), /\nCOMPOSE_FILE=docker-compose.yml:\/new\/[^:]+\n$/);
});

test('a dangling symbolic link is not changed, and that is reported', async () => {
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

test('an environment file that cannot be read is reported', async () => {
  await using project = await createProject();
  await mkdir(project.env);
  assert.equal(await project.compose.link(), false);
  await assert.rejects(project.compose.version(), (error) => codeOf(error) === 'compose_project_unreadable');
});

function createWorld() {
  const world = { nowMs: 0, version: '1', isBroken: true, asked: 0 };
  const describe = async () => {
    world.asked += 1;
    await Promise.resolve();
    if (world.isBroken) throw new StationError('compose_project_unreadable', 'broken');
    return { name: 'stack', running: [`v${world.version}`], declared: [], images: [] };
  };
  const read = createProjectReader({ describe, version: async () => world.version }, () => world.nowMs);
  return { world, read };
}
const isBroken = { code: 'compose_project_unreadable' };

test('a broken project is asked for once in a while, and at once when its files change', async () => {
  const { world, read } = createWorld();
  await Promise.all([1, 2, 3].map(() => assert.rejects(read({ evenIfOld: false }), isBroken)));
  await assert.rejects(read({ evenIfOld: true }), isBroken);
  assert.equal(world.asked, 1);
  world.nowMs = 60_000;
  await assert.rejects(read({ evenIfOld: true }), isBroken);
  assert.equal(world.asked, 2);
  Object.assign(world, { isBroken: false, version: '2' });
  assert.deepEqual((await read({ evenIfOld: false })).running, ['v2']);
  assert.deepEqual((await read({ evenIfOld: false })).running, ['v2']);
  assert.equal(world.asked, 3);
});

test('a project that broke later keeps its name, and its services are no longer listed', async () => {
  const { world, read } = createWorld();
  world.isBroken = false;
  await read({ evenIfOld: false });
  Object.assign(world, { isBroken: true, version: '2' });
  await assert.rejects(read({ evenIfOld: false }), isBroken);
  assert.equal((await read({ evenIfOld: true })).name, 'stack');
});

const env = 'A=1\nMQTT_PASSWORD="s3cret-value"\nOTHER=gr\u00c3\u00b6\u00c3\u009fer\n';

// Said by Compose 2.26 of projects with these faults.
for (const [said, told] of [
  [
    'error while interpolating services.a.environment.PW: required variable MQTT_PASSWORD is missing a value: set it in .env',
    'error while interpolating services.a.environment.PW: required variable MQTT_PASSWORD is missing a value: set it in .env',
  ],
  ["yaml: line 4: could not find expected ':'", "yaml: line 4: could not find expected '…'"],
  [
    'time="2026-01-01T00:00:00Z" level=warning msg="The \\"X\\" variable is not set."\nservice "a" has neither an image nor a build context specified: invalid compose project\n',
    'service "a" has neither an image nor a build context specified: invalid compose project',
  ],
  [
    'invalid interpolation format for services.a.environment.PW.\nYou may need to escape any $ with another $.\ns3$cret',
    'invalid interpolation format for services.a.environment.PW.',
  ],
  ['Invalid containerPort: s3cret-value', 'Invalid containerPort: …'],
  ['Invalid containerPort: größer', 'Invalid containerPort: …'],
  [
    'failed to read /srv/station/.env: line 2: unterminated quoted value "s3cr',
    'failed to read .env: line 2: unterminated quoted value "…"',
  ],
  [
    'failed to read /srv/station/.env: line 2: unexpected character "\\"" in variable name "s3c\\"ret"',
    'failed to read .env: line 2: unexpected character "…" in variable name "…"',
  ],
  [
    'yaml: unmarshal errors:\n  line 3: cannot unmarshal !!str `s3cret` into int',
    'yaml: unmarshal errors: line 3: cannot unmarshal !!str `…` into int',
  ],
  [
    'validating /srv/station/compose.yaml: services.a Additional property foo is not allowed',
    'validating compose.yaml: services.a Additional property foo is not allowed',
  ],
  ['stat /srv/station/a.yml: no such file or directory', 'stat a.yml: no such file or directory'],
  ['', 'Compose gave no reason'],
] as const) {
  test(`tells "${told}"`, () => assert.equal(describeFault(said, env), told));
}
