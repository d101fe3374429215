import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { findFreePort } from '@station/kit/free-port';
import { compression } from '../core/adapters/zstd.ts';
import { envToConfig } from '../config.ts';
import { runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';
import { examineBackend } from './doctor.ts';

/** Examines with this environment; checks by id → codes of their findings. */
async function examine(env: Record<string, string>, now: () => number = Date.now): Promise<Record<string, string[]>> {
  const reading = envToConfig({ PORT: '0', MQTT_PORT: '0', ...env });
  assert.ok(reading.ok);
  const parts = { config: reading.config, clock: { ...systemClock, now }, disk: nodeDisk, mostBytes: Infinity };
  const { checks } = await examineBackend(parts);
  return Object.fromEntries(checks.map(({ id, findings }) => [id, findings.map(({ code }) => code)]));
}

/** A data folder that a backend has used. */
async function usedFolder() {
  const folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  await (await runBackend({ dataDir }))[Symbol.asyncDispose]();
  return { dataDir, database: join(dataDir, 'station.sqlite'), [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

/** Names, sizes and contents of everything in a folder. */
async function fingerprint(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).sort();
  return Promise.all(
    names.map(async (name) => {
      const isFile = (await stat(join(folder, name))).isFile();
      return isFile ? `${name} ${hash('sha256', await readFile(join(folder, name)))}` : name;
    }),
  );
}

testOnSqlite('finds nothing beside a running backend, and changes nothing after it has stopped', async () => {
  await using used = await usedFolder();
  const ports = { PORT: String(await findFreePort()), MQTT_PORT: String(await findFreePort()) };
  {
    await using _running = await runBackend({ dataDir: used.dataDir, env: ports });
    const found = await examine({ DATA_DIR: used.dataDir, ...ports });
    assert.deepEqual(Object.values(found).flat(), []);
    for (const id of ['database', 'broker', 'web_server', 'files']) assert.ok(id in found, id);
  }
  const before = await fingerprint(used.dataDir);
  const { web_server: server, ...others } = await examine({ DATA_DIR: used.dataDir, ...ports });
  assert.deepEqual([server, Object.values(others).flat()], [['backend_stopped'], []]);
  assert.deepEqual(await fingerprint(used.dataDir), before);
});

testOnSqlite('finds a truncated database and leaves it as it is', async () => {
  await using used = await usedFolder();
  await truncate(used.database, 20_000);
  const before = await fingerprint(used.dataDir);
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }))['database'], ['database_damaged']);
  assert.deepEqual(await fingerprint(used.dataDir), before);
});

testOnSqlite('reads a database with a log that a killed backend left, and leaves both', async () => {
  await using used = await usedFolder();
  await using other = await temporaryFolder();
  const copy = join(other.path, 'station.sqlite');
  {
    await using _running = await runBackend({ dataDir: used.dataDir });
    for (const suffix of ['', '-wal'])
      await writeFile(copy + suffix, await readFile(used.database + suffix), { mode: 0o600 });
  }
  const sums = () => Promise.all(['', '-wal'].map(async (suffix) => hash('sha256', await readFile(copy + suffix))));
  const before = await sums();
  assert.deepEqual((await examine({ DATA_DIR: other.path }))['database'], []);
  assert.deepEqual(await sums(), before);
});

testOnSqlite('finds what a damage and its repair left behind, and a missing database', async () => {
  await using used = await usedFolder();
  await rename(used.database, `${used.database}.damaged-20260101T000000000Z`);
  await writeFile(`${used.database}.replacing`, 'x', { mode: 0o600 });
  await writeFile(`${used.database}.suspected`, 'a page is wrong\n', { mode: 0o600 });
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }))['database'], [
    'database_missing',
    'database_suspected',
    'database_replacement_unfinished',
    'database_was_damaged',
  ]);
});

testOnSqlite('finds old and damaged copies, and that there is none', async () => {
  await using used = await usedFolder();
  const inDays = (days: number) => () => Date.now() + days * 24 * 60 * 60 * 1000;
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }, inDays(2)))['database_copies'], ['copies_missing']);
  const copies = join(used.dataDir, 'station-copies');
  await mkdir(copies, { mode: 0o700 });
  const name = `station-${new Date().toISOString().replaceAll(/[-:.]/g, '')}-daily.sqlite.zst`;
  const content = zstdCompressSync(await readFile(used.database), compression);
  await writeFile(join(copies, name), content, { mode: 0o600 });
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }, inDays(2)))['database_copies'], []);
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }, inDays(4)))['database_copies'], ['copies_old']);
  await truncate(join(copies, name), 9_000);
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }))['database_copies'], ['copy_damaged']);
});

testOnSqlite('finds secrets that others can read, files of another user, and damaged keys', async () => {
  await using used = await usedFolder();
  await chmod(join(used.dataDir, 'jwt-secret'), 0o644);
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }))['files'], ['open_to_others']);
  await chmod(join(used.dataDir, 'jwt-secret'), 0o600);
  await writeFile(join(used.dataDir, 'settings-key'), 'half a ke');
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }))['files'], ['key_damaged']);
  if (process.getuid?.() !== 0) return;
  await chown(used.database, 12_345, 12_345);
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }))['files'], ['owner_differs', 'key_damaged']);
});

testOnSqlite('finds a clock that is behind what was written', async () => {
  await using used = await usedFolder();
  assert.deepEqual((await examine({ DATA_DIR: used.dataDir }, () => 1000))['clock'], ['clock_wrong']);
});

test('finds ports that another program uses', async () => {
  await using folder = await temporaryFolder();
  await using web = createServer((socket) =>
    socket.resume().end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
  ).listen(0, '127.0.0.1');
  await using broker = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await Promise.all([once(web, 'listening'), once(broker, 'listening')]);
  const portOf = (server: typeof web): string => String((server.address() as AddressInfo).port);
  const found = await examine({ DATA_DIR: folder.path, PORT: portOf(web), MQTT_PORT: portOf(broker) });
  assert.deepEqual([found['web_server'], found['broker']], [['port_taken'], ['port_taken']]);
});

test('finds a broker that refuses the login, and one that does not answer', async () => {
  await using folder = await temporaryFolder();
  await using running = await runBackend();
  const url = running.backend.mqttAddress;
  assert.ok(url);
  const login = { MQTT_URL: url, MQTT_USERNAME: 'backend', MQTT_PASSWORD: 'not-the-password' };
  assert.deepEqual((await examine({ DATA_DIR: folder.path, ...login }))['broker'], ['broker_refuses']);
  const silent = { MQTT_URL: `mqtt://127.0.0.1:${await findFreePort()}` };
  assert.deepEqual((await examine({ DATA_DIR: folder.path, ...silent }))['broker'], ['broker_unreachable']);
});

test('finds an agent that refuses the token, and one that does not answer', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'agent.sock');
  const ask = async () =>
    (await examine({ DATA_DIR: folder.path, AGENT_SOCKET: path, AGENT_TOKEN: 'of-the-agent' }))['agent'];
  assert.deepEqual(await ask(), ['agent_unreachable']);
  await using agent = await simulateAgent(path);
  agent.answer('/version', 401, {});
  assert.deepEqual(await ask(), ['agent_refuses']);
  agent.answer('/version', 200, {});
  assert.deepEqual(await ask(), []);
  assert.equal('agent' in (await examine({ DATA_DIR: folder.path })), false);
});

test('finds what is missing of the web app, and configured files that are of no use', async () => {
  await using folder = await temporaryFolder();
  const file = (name: string): string => join(folder.path, name);
  await writeFile(file('index.html'), '<script src="/app.js"></script><link href="/style.css">');
  await writeFile(file('app.js'), '');
  await writeFile(file('no-certificate.pem'), 'none');
  const found = await examine({
    DATA_DIR: join(folder.path, 'data'),
    WEB_DIR: folder.path,
    DEVICES_FILE: file('absent.json'),
    MQTT_URL: 'mqtts://127.0.0.1:1',
    MQTT_CA_FILE: file('no-certificate.pem'),
  });
  assert.deepEqual(found['web_app'], ['web_app_incomplete']);
  assert.deepEqual(found['configuration'], ['config_file_unusable', 'config_file_unusable']);
  assert.deepEqual(found['data_folder'], ['data_folder_missing']);
});

test('finds a name that cannot be resolved', async () => {
  await using folder = await temporaryFolder();
  const found = await examine({ DATA_DIR: folder.path, CLOUD_HOST: 'cloud.invalid' });
  assert.deepEqual(found['names'], ['name_unresolved']);
});
