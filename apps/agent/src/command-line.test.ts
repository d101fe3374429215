import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { DoctorReport } from '@station/protocol/doctor';
import { runCommandLine } from './command-line.ts';
import { agentVersion } from './version.ts';

type Answer = { exitCode: number; stdout: string; stderr: string };

/** Runs with an environment file, and with a `docker` program of this script. */
async function runWith(t: TestContext, args: string[], lines: string[] = [], docker = 'exit 1'): Promise<Answer> {
  const folder = await mkdtemp(join(tmpdir(), 'station-command-line-'));
  t.after(() => rm(folder, { recursive: true }));
  const program = join(folder, 'docker');
  await writeFile(program, `#!/bin/sh\n${docker}\n`);
  await chmod(program, 0o755);
  const file = [`DOCKER_PROGRAM=${program}`, ...lines].join('\n');
  await writeFile(join(folder, '.env'), `${file}\n`);
  let stdout = '';
  let stderr = '';
  t.mock.method(process.stdout, 'write', (text: string) => void (stdout += text));
  t.mock.method(process.stderr, 'write', (text: string) => void (stderr += text));
  const exitCode = await runCommandLine(args, folder);
  t.mock.restoreAll();
  return { exitCode, stdout, stderr };
}
type TestContext = Parameters<NonNullable<Parameters<typeof test>[0]>>[0];

const station = [
  'STATION_ID=0b7c2d2e-8a7f-4e7b-9b1e-0d4f1f2a9c3d',
  'UPDATE_SERVER_URL=https://updates.example/manifest.json',
];

test('prints its version and its help', async (t) => {
  assert.deepEqual(await runWith(t, ['--version']), { exitCode: 0, stdout: `${agentVersion}\n`, stderr: '' });
  for (const name of ['--help', '-h']) {
    const { exitCode, stdout } = await runWith(t, [name]);
    assert.equal(exitCode, 0);
    for (const command of ['code', '--version', '--help']) assert.match(stdout, new RegExp(`^  ${command} `, 'm'));
  }
});

test('refuses unknown arguments with exit code 64', async (t) => {
  for (const args of [['start'], ['--verbose'], ['code', 'now'], ['--version', '--help'], ['']]) {
    const { exitCode, stdout, stderr } = await runWith(t, args, station);
    assert.equal(exitCode, 64, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /^station-agent: unknown arguments: .*\n\nUsage:/);
  }
});

test('prints the code and the hotspot of the environment file', async (t) => {
  const lines = [...station, 'STATION_CODE=ABCDE-23456', 'HOTSPOT_PASSWORD=open sesame'];
  const answer = await runWith(t, ['code'], lines);
  assert.deepEqual(answer, {
    exitCode: 0,
    stdout: 'Hotspot:  Station-9c3d\nPassword: open sesame\nCode:     ABCDE-23456\n',
    stderr: '',
  });
});

test('without STATION_CODE it prints the code that the backend keeps', async (t) => {
  const docker = '[ "$*" = "exec station-backend cat /data/setup-code" ] && echo BCDF-2345-GHJK';
  const { exitCode, stdout } = await runWith(t, ['code'], station, docker);
  assert.equal(exitCode, 0);
  assert.equal(stdout, 'Hotspot:  Station-9c3d (open, without a password)\nCode:     BCDF-2345-GHJK\n');
});

test('without STATION_CODE it prints the code that the agent made for the page of an open hotspot', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'station-code-'));
  t.after(() => rm(dataDir, { recursive: true }));
  await writeFile(join(dataDir, 'station-code'), 'BCDF-2345-GHJK\n');
  const { exitCode, stdout } = await runWith(t, ['code'], [...station, `DATA_DIR=${dataDir}`]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Code of the Wi-Fi setup page: BCDF-2345-GHJK$/m);
  const closed = await runWith(t, ['code'], [...station, `DATA_DIR=${dataDir}`, 'HOTSPOT_PASSWORD=open sesame']);
  assert.doesNotMatch(closed.stdout, /BCDF/, 'an encrypted hotspot asks for none');
});

test('says that there is no code when the backend has none', async (t) => {
  const { exitCode, stderr } = await runWith(t, ['code'], station);
  assert.equal(exitCode, 1);
  assert.match(stderr, /STATION_CODE is not set, and the backend has no set-up code/);
});

test('names what is wrong with the environment file, without a secret', async (t) => {
  const { exitCode, stderr } = await runWith(t, ['code'], [...station, 'STATION_CODE=short!']);
  assert.equal(exitCode, 78);
  assert.match(stderr, /STATION_CODE must be 10 to 32 letters and digits/);
  assert.doesNotMatch(stderr, /short!/);
});

test('the doctor finds what is broken, and asks the backend in its container', async (t) => {
  const report = { program: 'backend', version: '9', at: '', status: 'warning', checks: [] };
  const docker = `case "$1" in
exec) echo '${JSON.stringify(report)}'; exit 1;;
compose) echo 'no configuration file provided: not found' >&2; exit 14;;
esac`;
  const broken = [
    ...station.slice(0, 1),
    'DATA_DIR=/nowhere',
    'DOCKER_HOST=/nowhere/docker.sock',
    'WIFI_WATCHDOG=false',
  ];
  const closed = [
    'UPDATE_SERVER_URL=http://127.0.0.1:1/manifest.json',
    'HEALTHCHECK_URL=http://127.0.0.1:1/api/health',
  ];
  const lines = [...broken, ...closed, 'TYPO_IN_A_NAME=1'];
  const { exitCode, stdout } = await runWith(t, ['doctor', '--json'], lines, docker);
  assert.equal(exitCode, 2);
  const { agent, backend } = JSON.parse(stdout);
  assert.deepEqual(backend, report);
  const found: Record<string, string[]> = Object.fromEntries(
    agent.checks.map((check: { id: string; findings: { code: string }[] }) => [
      check.id,
      check.findings.map(({ code }) => code),
    ]),
  );
  assert.deepEqual(found['configuration'], ['config_doubtful', 'environment_open_to_others']);
  assert.deepEqual(found['state'], ['state_missing']);
  assert.deepEqual(found['engine'], ['engine_unreachable']);
  assert.deepEqual(found['release_server'], ['release_server_silent']);
  assert.deepEqual(found['backend'], ['follows'], 'without Docker it cannot answer');
});

test('a Docker that accepts and never answers hides nothing else from the doctor, and holds it up for seconds', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'station-hanging-'));
  t.after(() => rm(folder, { recursive: true }));
  const socket = join(folder, 'docker.sock');
  const sockets = new Set<Socket>();
  const engine = createServer((connection) => void sockets.add(connection)).listen(socket);
  t.after(() => {
    for (const connection of sockets) connection.destroy();
    engine.close();
  });
  const closed = [
    'UPDATE_SERVER_URL=http://127.0.0.1:1/manifest.json',
    'HEALTHCHECK_URL=http://127.0.0.1:1/api/health',
  ];
  const lines = [...station.slice(0, 1), ...closed, `DATA_DIR=${folder}`, `DOCKER_HOST=${socket}`];
  const startedMs = performance.now();
  const { exitCode, stdout } = await runWith(t, ['doctor', '--json'], lines, 'exec sleep 600');
  assert.ok(performance.now() - startedMs < 30_000);
  assert.equal(exitCode, 2);
  const { checks } = JSON.parse(stdout).agent as DoctorReport;
  const findings = (id: string): string[] =>
    checks.filter((check) => check.id === id).flatMap((check) => check.findings.map(({ code }) => code));
  assert.deepEqual(findings('engine'), ['engine_unreachable']);
  for (const id of ['disk_space', 'disk_health']) assert.doesNotMatch(findings(id).join(), /check_failed/, id);
});

test('the doctor prints words, and why the backend could not be asked', async (t) => {
  const { stdout } = await runWith(t, ['doctor'], [...station, 'DOCKER_HOST=/nowhere/docker.sock'], 'exit 64');
  assert.match(stdout, /^FAULT {4}Docker and Compose$/m);
  assert.match(stdout, /Docker does not answer/);
  assert.match(stdout, /The backend could not be asked: its release has no doctor\n/);
  assert.match(stdout, /reset-owner\n$/);
});
