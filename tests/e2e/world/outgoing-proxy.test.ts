import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BackupView } from '@station/protocol/backup-api';
import type { DoctorReport } from '@station/protocol/doctor';
import type { TestResult } from '@station/protocol/notifications';
import type { Session } from '@station/protocol/rest';
import { startReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { systemEnv, tryRun, waitFor } from '../../rig/program.ts';
import { startTinyproxy } from '../../rig/tinyproxy.ts';
import { login, startApacheWebdav, startTlsProxy } from '../../rig/webdav-server.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { makeCertificates } from '../cloud/certificates.ts';
import { claimBy } from '../cloud/living-station.ts';
import { superviseBackend } from '../cloud/supervised.ts';

const agentProgram = join(import.meta.dirname, '../../../apps/agent/src/main.ts');
const passphrase = 'four plain words here';

/** What a webhook and the doctor reach on the internet. */
async function listener() {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { paths, port: (server.address() as AddressInfo).port, [Symbol.dispose]: stop };
}

test('a network whose only way out is an HTTP proxy with a log-in', { timeout: 600_000 }, async (t) => {
  await using workspace = await createWorkspace();
  // The station cannot resolve these names; the proxy can.
  const proxy = await startTinyproxy(workspace, { names: ['cloud.example', 'files.example', 'hook.example'] });
  const certificates = await makeCertificates(workspace.folder);
  const cloud = workspace.own(await startReferenceCloud({ tls: certificates.tls }));
  const cloudHost = `cloud.example:${new URL(`https://${cloud.host}`).port}`;
  const apache = await startApacheWebdav(workspace);
  const files = await startTlsProxy(workspace, apache, 'files.example');
  using hook = await listener();
  const backend = workspace.own(
    await superviseBackend(workspace, {
      CLOUD_HOST: cloudHost,
      CLOUD_CA_FILE: certificates.caFile,
      NODE_EXTRA_CA_CERTS: files.authority,
      HTTP_PROXY: proxy.url,
      https_proxy: proxy.url,
      devices: [],
    }),
  );
  const code = (await readFile(join(backend.dataDir, 'setup-code'), 'utf8')).trim();
  const owner = { code, email: 'olena@example.org', password: 'correct horse battery', name: 'Olena' };
  const { accessToken } = (await backend.post('/api/auth/setup', owner)) as Session;
  const send = async <T>(method: string, path: string, body: unknown): Promise<T> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` };
    const answer = await fetch(`${backend.url}${path}`, { method, headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
    return (answer.status === 202 ? null : await answer.json()) as T;
  };
  const asked = async (line: string): Promise<boolean> => (await proxy.asked()).includes(line);

  await t.test('the link to the cloud', async () => {
    await claimBy(cloud);
    assert.ok(await asked(`CONNECT ${cloudHost}`));
  });

  await t.test('a backup by WebDAV', async () => {
    const usual = { nightly: false, at: '03:00', keep: { daily: 7, weekly: 4 }, folder: false };
    await send('PUT', '/api/backup/settings', { ...usual, passphrase, webdav: { ...login, url: files.url } });
    await send('POST', '/api/backup', { passphrase });
    const view = await waitFor('the backup to end', async () => {
      const now = (await backend.get('/api/backup', accessToken)) as BackupView;
      return !now.isWorking && now;
    });
    assert.equal(view.trouble, null);
    assert.ok(view.backups.some(({ place, verifiedAt }) => place === 'webdav' && verifiedAt !== null));
    assert.equal((await readdir(files.files)).length, 1);
    assert.ok(await asked(`CONNECT ${new URL(files.url).host}`));
  });

  await t.test('a webhook', async () => {
    const url = `http://hook.example:${hook.port}/station?key=1`;
    const rules = { offlineMinutes: null, batteryPercent: null, updates: false, conditions: false };
    const webhook = { topics: [], language: 'en', url };
    await send('PUT', '/api/notifications/station', { rules, mail: null, ntfy: null, webhook });
    const result = await send<TestResult>('POST', '/api/notifications/station/test', { channel: 'webhook' });
    assert.deepEqual(result, { fault: null, detail: null });
    assert.deepEqual(hook.paths, ['POST /station?key=1']);
    assert.ok(await asked(`POST ${url}`));
  });

  await t.test("the agent's doctor", async () => {
    const url = `http://hook.example:${hook.port}/manifest.json`;
    const folder = await workspace.subfolder('agent');
    const env = {
      ...systemEnv,
      STATION_ID: randomUUID(),
      DATA_DIR: folder,
      COMPOSE_PROJECT_PATH: folder,
      UPDATE_SERVER_URL: url,
      HTTP_PROXY: proxy.url,
    };
    const { stdout, stderr } = await tryRun(process.execPath, [agentProgram, 'doctor', '--json'], { env });
    const { agent } = JSON.parse(stdout) as { agent: DoctorReport };
    const checkOf = (id: string) => agent.checks.find((check) => check.id === id);
    assert.deepEqual(checkOf('release_server')?.findings, [], stderr);
    // Only the proxy must be found here, and it has an address.
    assert.equal(checkOf('names'), undefined);
    assert.ok(await asked(`GET ${url}`));
    assert.equal(stdout.includes(new URL(proxy.url).password), false);
  });

  await t.test('and nobody reads its password', async () => {
    const { password } = new URL(proxy.url);
    assert.equal((await backend.log()).includes(password), false);
  });
});
