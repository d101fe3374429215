import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPostgres } from '../../rig/postgres.ts';
import { startDaemon, tryRun, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { findFreePort } from '@station/kit/free-port';

const root = join(import.meta.dirname, '../../..');
const source = join(root, 'apps/backend/src');

/** What `npm test` tells of SQLite. */
const stories = [
  'store/migrate.test.ts',
  'http/access.test.ts',
  'auth/password-race.test.ts',
  'http/routes/auth.test.ts',
  'http/routes/station.test.ts',
  'http/routes/health.test.ts',
  'socket/socket.test.ts',
  'http/routes/devices.test.ts',
  'devices/reports.test.ts',
  'devices/report-writer.test.ts',
  'devices/history-store.test.ts',
  'devices/devices-file.test.ts',
  'mqtt/broker.test.ts',
  'cloud/outbox-store.test.ts',
  'cloud/status.test.ts',
  'http/routes/cloud.test.ts',
  'cloud/identity.test.ts',
  'cloud/remembered-commands.test.ts',
  'automations/run-crashes.test.ts',
  'automations/run-modes.test.ts',
  'http/routes/automations.test.ts',
];

test('the backend’s stories hold on PostgreSQL as they do on SQLite', async () => {
  await using workspace = await createWorkspace();
  const { url } = await createPostgres(workspace);
  const files = stories.map((story) => join(source, story));
  const args = ['--test', '--test-concurrency=2', '--test-reporter=tap', ...files];
  const result = await tryRun(process.execPath, args, { cwd: root, env: { STATION_TEST_POSTGRES: url } });
  assert.equal(result.exitCode, 0, failuresOf(result.stdout));
  assert.match(result.stdout, /^# pass ([3-9]\d|\d{3})$/m);
  assert.match(result.stdout, /^# skipped 0$/m);
});

test('a database that goes away fails the health check, and is found again by itself', async () => {
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
  await waitFor('the backend to be well', async () => (await health()) === '200 true');
  await postgres.stop();
  assert.equal(await health(), '503 false');
  await postgres.start();
  await waitFor('the backend to be well again', async () => (await health()) === '200 true');
  assert.ok(backend.running(), await backend.logTail());
  assert.match(await readFile(logFile, 'utf8'), /"where":"database connection"/, 'the lost connections were noticed');
});

/** The parts of a TAP report that tell of failures. */
function failuresOf(report: string): string {
  const parts = report.split(/^(?=# Subtest|not ok|ok )/m);
  return parts
    .filter((part) => part.startsWith('not ok'))
    .join('')
    .slice(0, 20_000);
}
