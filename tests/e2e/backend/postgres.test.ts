import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { isSweep } from '../../rig/extent.ts';
import { createPostgres } from '../../rig/postgres.ts';
import { startDaemon, tryRun, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { findFreePort } from '@station/kit/free-port';

const root = join(import.meta.dirname, '../../..');
const backend = join(root, 'apps/backend');
const source = join(backend, 'src');

/** The tests of a short run: those that use the database directly or depend most on its kind. */
const closest = /^(store|replicas|devices)\//;

/** The variable that makes tests use PostgreSQL. */
const origin = join(backend, 'testing/test-postgres.ts');

/** Tests with a database that do not run here, each with its reason. */
const exceptions: Record<string, string> = {
  'devices/device-commands.test.ts':
    'waits for turns of the event loop, within which SQLite has answered and PostgreSQL has not',
  'mqtt/restart.test.ts': 'its database is dropped with the first of its two backends',
};

/** The tests that `npm test` runs on SQLite: every test that opens a database, directly or through its imports. */
async function findStories(): Promise<string[]> {
  const names = (await readdir(backend, { recursive: true })).filter((name) => /^(src|testing)\/.*\.ts$/.test(name));
  const importers = new Map<string, string[]>();
  for (const file of names.map((name) => join(backend, name))) {
    for (const [, imported = ''] of (await readFile(file, 'utf8')).matchAll(/ from '(\.[^']+)';$/gm)) {
      const target = resolve(dirname(file), imported);
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  const reached = new Set([origin]);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached]
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => relative(source, file))
    .sort();
}

test('the unit tests of the backend pass on PostgreSQL', async () => {
  await using workspace = await createWorkspace();
  const { url } = await createPostgres(workspace);
  const stories = await findStories();
  assert.ok(stories.length > 30, `only ${stories.length} stories were found`);
  for (const name of Object.keys(exceptions)) assert.ok(stories.includes(name), `${name} is no longer an exception`);
  const chosen = stories.filter((story) => !Object.hasOwn(exceptions, story) && (isSweep || closest.test(story)));
  const files = chosen.map((story) => join(source, story));
  const args = ['--test', '--test-isolation=none', '--test-reporter=tap', ...files];
  const result = await tryRun(process.execPath, args, { cwd: root, env: { STATION_TEST_POSTGRES: url } });
  assert.equal(result.exitCode, 0, failuresOf(result.stdout));
  assert.match(result.stdout, /^# pass ([3-9]\d|\d{3})$/m);
  assert.match(result.stdout, /^# skipped 0$/m);
});

test('a lost database fails the health check, and the backend reconnects automatically', async () => {
  await using workspace = await createWorkspace();
  const postgres = await createPostgres(workspace);
  const port = await findFreePort();
  const env = {
    PORT: String(port),
    MQTT_PORT: '0',
    DATA_DIR: join(workspace.folder, 'data'),
    DATABASE_URL: postgres.url,
  };
  const logFile = join(workspace.folder, 'backend.log');
  await using backend = await startDaemon(process.execPath, [join(source, 'main.ts')], { logFile, env });
  const health = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/health`);
    return `${response.status} ${((await response.json()) as { checks: { database: boolean } }).checks.database}`;
  };
  await waitFor('the backend to be healthy', async () => (await health()) === '200 true');
  await postgres.stop();
  assert.equal(await health(), '503 false');
  await postgres.start();
  await waitFor('the backend to be healthy again', async () => (await health()) === '200 true');
  assert.ok(backend.running(), await backend.logTail());
  assert.match(await readFile(logFile, 'utf8'), /"where":"database connection"/, 'the lost connections were logged');
});

/** The failures in a TAP report. */
function failuresOf(report: string): string {
  const parts = report.split(/^(?=# Subtest|not ok|ok )/m);
  return parts
    .filter((part) => part.startsWith('not ok'))
    .join('')
    .slice(0, 20_000);
}
