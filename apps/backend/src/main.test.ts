import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { runCommand } from '@station/kit/command';
import { findFreePort } from '@station/kit/free-port';
import type { LoggedEvent } from '../testing/recorded-log.ts';
import type { BackendHealth } from '@station/protocol/rest';
import { runProgram } from '../testing/running-program.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';

test('bad configuration: exit 78 and one line that lists every problem', async () => {
  await using program = runProgram({ PORT: 'eighty', JWT_SECRET: 'short', DATABASE_URL: 'ftp://x' });
  assert.equal(await program.exit, 78);
  assert.equal(program.lines.length, 1);
  const [line] = program.lines;
  assert.equal(line?.event, 'config_invalid');
  assert.equal((line?.['problems'] as string[]).length, 4);
});

test('runs, answers, and exits with 0 on SIGTERM while a request is under way, which is still answered', async () => {
  await using folder = await temporaryFolder();
  await using program = runProgram({ PORT: '0', DATA_DIR: join(folder.path, 'data') });
  const started = (): LoggedEvent | undefined => program.lines.find(({ event }) => event === 'backend_started');
  await until('the program has started', () => started() !== undefined);
  const address = String(started()?.['address']);
  assert.equal((await fetch(`${address}/api/health`)).status, 200);
  const code = (await readFile(join(join(folder.path, 'data'), 'setup-code'), 'utf8')).trim();
  const body = JSON.stringify({ code, email: 'a@example.org', password: 'long enough to do', name: 'A' });
  const request = fetch(`${address}/api/auth/setup`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  });
  // The password's hash takes some hundredths of a second; the signal comes within.
  await until('the connection is made', async () => (await fetch(`${address}/api/health`)).ok);
  program.child.kill('SIGTERM');
  assert.equal((await request).status, 201);
  assert.equal(await program.exit, 0);
  assert.ok(
    program.lines.some(({ event, ...fields }) => event === 'backend_stopping' && fields['signal'] === 'SIGTERM'),
  );
});

test('the agent asks for a restart: 202, then exit 0, so that the supervisor starts it again', async () => {
  await using folder = await temporaryFolder();
  const env = { PORT: '0', DATA_DIR: join(folder.path, 'data'), AGENT_TOKEN: 'the-token-of-the-agent' };
  await using program = runProgram(env);
  const started = (): LoggedEvent | undefined => program.lines.find(({ event }) => event === 'backend_started');
  await until('the program has started', () => started() !== undefined);
  const url = `${String(started()?.['address'])}/api/agent/restart`;
  assert.equal((await fetch(url, { method: 'POST' })).status, 401);
  const headers = { authorization: `Bearer ${env.AGENT_TOKEN}` };
  assert.equal((await fetch(url, { method: 'POST', headers })).status, 202);
  assert.equal(await program.exit, 0);
});

test('a database that cannot be opened: exit 1 and a line that says why', async () => {
  await using program = runProgram({ PORT: '0', DATA_DIR: '/dev/null/station' });
  assert.equal(await program.exit, 1);
  assert.equal(program.lines.at(-1)?.event, 'backend_start_failed');
});

test('another program has locked the database at the start: the reason is answered until it lets go', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const env = { PORT: String(await findFreePort()), MQTT_PORT: '0', DATA_DIR: dataDir };
  const url = `http://127.0.0.1:${env.PORT}`;
  const hasStarted = ({ lines }: ReturnType<typeof runProgram>): boolean =>
    lines.some(({ event }) => event === 'backend_started');
  {
    await using before = runProgram(env);
    await until('the program has started', () => hasStarted(before));
  }
  using other = new DatabaseSync(join(dataDir, 'station.sqlite'));
  other.exec('begin immediate');
  await using program = runProgram(env);
  const asked = async (path: string) => fetch(`${url}${path}`).catch(() => null);
  await until('it answers', async () => (await asked('/api/health')) !== null);
  const health = await asked('/api/health');
  assert.deepEqual(
    [health?.status, ((await health?.json()) as BackendHealth).reasons],
    [503, { database: 'locked', mqtt: 'not connected' }],
  );
  const setUp = await asked('/api/auth/setup');
  assert.deepEqual([setUp?.status, ((await setUp?.json()) as { code: string }).code], [503, 'storage_locked']);
  assert.deepEqual([program.child.exitCode, hasStarted(program)], [null, false]);
  other.exec('rollback');
  await until('the program has started', () => hasStarted(program));
  assert.equal((await asked('/api/health'))?.status, 200);
});

test('a port for devices that is taken: exit 1 and a line that says so', async () => {
  await using folder = await temporaryFolder();
  await using taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  await using program = runProgram({ PORT: '0', MQTT_PORT: String(port), DATA_DIR: join(folder.path, 'data') });
  assert.equal(await program.exit, 1);
  const last = program.lines.at(-1);
  assert.equal(last?.event, 'backend_start_failed');
  assert.match(String(last?.['message']), /EADDRINUSE/);
});

test('what nobody expected ends the process, and the log tells what it was', async () => {
  await using folder = await temporaryFolder();
  const isRunning = 'process.listenerCount("uncaughtExceptionMonitor") > 0';
  const fault = `setInterval(() => ${isRunning} && Promise.reject(new Error("nobody expected this")), 20)`;
  const env = {
    PORT: '0',
    DATA_DIR: folder.path,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}`,
  };
  await using program = runProgram(env);
  assert.equal(await program.exit, 1);
  const told = program.lines.find(({ event }) => event === 'unexpected_error');
  assert.deepEqual([told?.['where'], told?.['message']], ['unhandledRejection', 'nobody expected this']);
});

test('the JSON of the doctor means the same, without characters that a terminal obeys', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'a\u009b31mb');
  const program = join(import.meta.dirname, 'main.ts');
  const { stdout } = await runCommand(process.execPath, [program, 'doctor', '--json'], {
    env: { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir },
  });
  assert.doesNotMatch(stdout, /\u009b/);
  assert.ok(JSON.stringify(JSON.parse(stdout)).includes(dataDir), stdout);
});
