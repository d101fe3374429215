import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { pathToFileURL } from 'node:url';
import type { DoctorReport } from '@station/protocol/doctor';
import { createAcmeServer, type AcmeServer } from '../rig/acme-server.ts';
import { createAgentProcess, type AgentProcess } from '../rig/agent-process.ts';
import { createDockerEngine, type DockerEngine } from '../rig/docker-engine.ts';
import { waitFor } from '../rig/program.ts';
import { createRealStack, type RealStack } from '../rig/real-stack.ts';
import { createRegistry } from '../rig/registry.ts';
import { startTinyproxy } from '../rig/tinyproxy.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

/** The proxy and the agent that ship, and a real ACME server as a public authority runs it. */
describe('a station with a public name', () => {
  const publicName = 'home.example.test';
  /** Caddy tries again after a minute. */
  const orderMs = 240_000;
  let workspace: Workspace;
  let engine: DockerEngine;
  let stack: RealStack;
  let acme: AcmeServer;
  let agent: AgentProcess;

  before(async () => {
    workspace = await createWorkspace();
    engine = await createDockerEngine(workspace);
    const registry = await createRegistry(workspace);
    stack = await createRealStack(workspace, { engine, registry, versions: ['1.0.0'] });
    await appendFile(join(stack.folder, '.env'), `PUBLIC_NAME=${publicName}\n`);
    await engine.compose(stack.folder, 'up', '-d');
    const gateway = await engine.docker(
      'network',
      'inspect',
      'station_web',
      '--format',
      '{{(index .IPAM.Config 0).Gateway}}',
    );
    const httpPort = Number(new URL(stack.url).port);
    acme = await createAcmeServer(workspace, {
      address: gateway.trim(),
      httpPort,
      httpsPort: stack.httpsPort,
    });
    agent = await createAgentProcess(workspace, {
      ...engine.env,
      STATION_ID: stack.stationId,
      STATION_URL: 'http://station.local/',
      LOG_LEVEL: 'debug',
      PORT: '0',
      COMPOSE_PROJECT_PATH: stack.folder,
      HEALTHCHECK_URL: stack.healthUrl,
      AUTO_UPDATE: 'false',
      UPDATE_SERVER_URL: pathToFileURL(join(workspace.folder, 'no-manifest.json')).href,
      TLS_DIR: stack.tlsFolder,
      HTTPS: 'acme',
      PUBLIC_NAME: publicName,
      ACME_EMAIL: 'owner@example.test',
      ACME_DIRECTORY: acme.directory,
      ACME_CA_FILE: acme.caFile,
    });
    await agent.start();
  });
  after(() => workspace[Symbol.asyncDispose]());

  type Shown = { issuer: string; serial: string; validUntil: number };
  /** The certificate that a browser is shown which asks for `name`. @throws when there is none. */
  async function shownFor(name: string): Promise<Shown> {
    const options = { port: stack.httpsPort, host: '127.0.0.1', servername: name, rejectUnauthorized: false };
    const socket = connect(options);
    try {
      await once(socket, 'secureConnect');
      const { issuer, serialNumber, valid_to: until } = socket.getPeerCertificate();
      return { issuer: String(issuer.CN), serial: serialNumber, validUntil: Date.parse(until) };
    } finally {
      socket.destroy();
    }
  }
  const publicCertificate = (): Promise<Shown> =>
    waitFor(
      'a certificate of the public authority',
      async () => {
        const shown = await shownFor(publicName);
        return shown.issuer.startsWith('Pebble') && shown;
      },
      orderMs,
    );

  /** What a phone in the home gets that trusts the authority of the station. */
  async function askLocally(): Promise<number> {
    const ca = await readFile(join(stack.tlsFolder, 'https/ca.crt'), 'utf8');
    const sent = request({
      host: '127.0.0.1',
      port: stack.httpsPort,
      path: '/api/health',
      servername: 'station.local',
      ca,
      agent: false,
      headers: { host: 'station.local' },
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await text(response);
    return response.statusCode ?? 0;
  }
  async function answersAtHome(): Promise<void> {
    await waitFor('HTTP', async () => (await fetch(stack.healthUrl)).status === 200);
    await waitFor('HTTPS with the own certificate', async () => (await askLocally()) === 200);
  }

  async function checkOfDoctor(): Promise<DoctorReport['checks'][number]> {
    const { body } = await agent.call('GET', '/doctor');
    const check = (body as unknown as DoctorReport).checks.find(({ id }) => id === 'public_certificate');
    assert.ok(check);
    return check;
  }

  const logOfProxy = (): Promise<string> => engine.compose(stack.folder, 'logs', 'proxy');
  const restartProxy = (): Promise<string> => engine.compose(stack.folder, 'restart', 'proxy');

  test('works with HTTP and its own certificate while nobody gives it another, and doctor says why', async () => {
    await answersAtHome();
    await assert.rejects(shownFor(publicName));
    await waitFor('the proxy to have tried', async () => /tls.obtain/.test(await logOfProxy()));
    const check = await checkOfDoctor();
    assert.equal(check.status, 'fault');
    assert.match(JSON.stringify(check), /connection refused/);
    assert.deepEqual(
      check.findings.map(({ code }) => code),
      ['public_certificate_missing'],
    );
  });

  test('gets the certificate when the authority answers, without anybody’s help', async () => {
    await acme.start(90 * 24 * 3600);
    const { validUntil } = await publicCertificate();
    assert.ok(validUntil > Date.now());
    await answersAtHome();
    assert.doesNotMatch((await shownFor('station.local')).issuer, /Pebble/);
    const check = await checkOfDoctor();
    assert.equal(check.status, 'ok', JSON.stringify(check));
  });

  test('answers under its public name, encrypted', async () => {
    const sent = request({
      host: '127.0.0.1',
      port: stack.httpsPort,
      path: '/api/health',
      servername: publicName,
      agent: false,
      headers: { host: publicName },
      rejectUnauthorized: false,
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    response.resume();
  });

  test('keeps the certificate over a restart, also while the authority is away', async () => {
    const { serial } = await publicCertificate();
    await acme.stop();
    await restartProxy();
    await answersAtHome();
    assert.equal((await publicCertificate()).serial, serial);
    const { uid, mode } = await stat(join(stack.tlsFolder, 'acme'));
    assert.deepEqual([uid, mode & 0o777], [10_001, 0o700]);
  });

  test('renews the certificate before it ends', async () => {
    for (const name of await readdir(join(stack.tlsFolder, 'acme'))) {
      await rm(join(stack.tlsFolder, 'acme', name), { recursive: true });
    }
    await acme.start(60);
    await restartProxy();
    const first = await publicCertificate();
    // In the last third of its time.
    await waitFor('the certificate to be due', () => Date.now() > first.validUntil - 18_000);
    await restartProxy();
    await waitFor('another certificate', async () => (await publicCertificate()).serial !== first.serial);
    await answersAtHome();
  });

  test('gets it through the proxy of a network that has no other way out', async () => {
    const authority = new URL(acme.directory);
    const proxy = await startTinyproxy(workspace, { address: authority.hostname });
    await appendFile(join(stack.folder, '.env'), `HTTP_PROXY=${proxy.url}\nHTTPS_PROXY=${proxy.url}\n`);
    await rm(join(stack.tlsFolder, 'acme'), { recursive: true });
    await agent.stop();
    await agent.start();
    await acme.start(90 * 24 * 3600);
    await engine.compose(stack.folder, 'up', '-d');
    await publicCertificate();
    assert.ok((await proxy.asked()).includes(`CONNECT ${authority.host}`));
    await answersAtHome();
  });

  test('is as it was with HTTPS=own', async () => {
    await agent.stop();
    const env = { ...engine.env, STATION_ID: stack.stationId, PORT: '0', AUTO_UPDATE: 'false' };
    await using plain = await createAgentProcess(workspace, {
      ...env,
      COMPOSE_PROJECT_PATH: stack.folder,
      HEALTHCHECK_URL: stack.healthUrl,
      TLS_DIR: stack.tlsFolder,
      UPDATE_SERVER_URL: pathToFileURL(join(workspace.folder, 'no-manifest.json')).href,
      STATION_URL: 'http://station.local/',
    });
    await plain.start();
    await waitFor('the own certificate for every name', async () => {
      return !(await shownFor(publicName)).issuer.startsWith('Pebble');
    });
    await answersAtHome();
  });
});
