import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { connectAsync } from 'mqtt';
import { chromium, type BrowserContext } from 'playwright-core';
import type { Status } from '@station/protocol/agent-api';
import { needPackages } from '../../rig/debian.ts';
import { run, waitFor } from '../../rig/program.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { look, timeoutMs } from '../web/browser.ts';
import {
  openInstalled,
  openShared,
  owner,
  patientMs,
  type Shared,
  startInstalled,
  waitUntilHealthy,
} from './shared-station.ts';

/** Names and ports as people have them: the machine has an address of its own. */
describe('encryption of an installed station', () => {
  let shared: Shared;
  let machine: Machine;
  let authority: string;
  const name = 'station.local';

  before(async () => {
    await needPackages(['chromium', 'libnss3-tools']);
    shared = await openShared();
    await shared.site.restore();
    machine = await startInstalled();
    await waitUntilHealthy(machine);
  });
  after(async () => {
    await shared.site.restore();
    await machine[Symbol.asyncDispose]();
  });

  type Answer = { status: number; headers: IncomingMessage['headers']; body: string };
  /** Over HTTPS, as a client that trusts the authority alone. */
  async function ask(path: string, options: { host?: string; body?: object } = {}): Promise<Answer> {
    const { host = name, body } = options;
    const request = httpsRequest({
      host: shared.network.machine,
      path,
      method: body ? 'POST' : 'GET',
      ca: authority,
      agent: false,
      ...(host === name ? { servername: name } : {}),
      headers: { host, ...(body && { 'content-type': 'application/json' }) },
    });
    request.end(body && JSON.stringify(body));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
  }

  test('the installer says the encrypted address', async () => {
    assert.match((await openInstalled()).output, /Encrypted +https:\/\/station\.local .*\/secure/);
  });

  test('the certificate of its authority is there for every phone, in the form that Safari wants', async () => {
    const answer = await fetch(`http://${shared.network.machine}/ca.crt`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/x-x509-ca-cert');
    authority = await answer.text();
    assert.match(authority, /^-----BEGIN CERTIFICATE-----/);
    for (const path of ['/station.pem', '/https.caddy', '/authority.pem']) {
      assert.doesNotMatch(
        await (await fetch(`http://${shared.network.machine}${path}`)).text(),
        /PRIVATE KEY|reverse_proxy/,
      );
    }
  });

  test('who trusts it is answered over HTTPS, by name and by address', async () => {
    assert.equal((await ask('/api/health')).status, 200);
    assert.equal((await ask('/api/health', { host: shared.network.machine })).status, 200);
    assert.equal((await ask('/ca.crt')).body, authority);
    await assert.rejects(fetch(`https://${shared.network.machine}/api/health`), 'nobody else trusts it');
  });

  test('the agent says for whom the certificate is, and until when', async () => {
    const status = JSON.parse(
      await machine.must('curl -sf --unix-socket /run/station-agent/agent.sock http://localhost/status'),
    ) as Status;
    assert.ok(status.encryption);
    assert.deepEqual(status.encryption.names, [name]);
    assert.ok(status.encryption.addresses.includes(shared.network.machine));
    const days = (Date.parse(status.encryption.validUntil) - Date.now()) / 86_400_000;
    assert.ok(days > 300 && days < 397, String(days));
  });

  test('keys are read by nobody but the container that needs them', async () => {
    const modes = await machine.must('cd /var/lib/station-agent && stat -c "%n %a %u" authority.pem tls/*/station.pem');
    assert.deepEqual(modes.trim().split('\n'), [
      'authority.pem 600 0',
      'tls/https/station.pem 600 10001',
      'tls/mqtt/station.pem 600 1883',
    ]);
    const seen = await machine.must(
      'docker exec station-proxy ls /run/tls; docker exec station-mqtt ls /mosquitto/tls',
    );
    assert.deepEqual(seen.trim().split('\n'), ['ca.crt', 'https.caddy', 'station.pem', 'station.pem']);
  });

  test('a session over HTTPS has a cookie that never travels in the open', async () => {
    const code = /Code +(\S+ \S+)/.exec((await openInstalled()).output)?.[1] ?? '';
    const answer = await ask('/api/auth/setup', { body: { ...owner, code } });
    assert.equal(answer.status, 201, answer.body);
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    assert.match(cookie, /; Secure/);
    assert.match(cookie, /; HttpOnly/);
    const plain = await fetch(`http://${shared.network.machine}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: owner.email, password: owner.password }),
    });
    assert.equal(plain.status, 200);
    assert.doesNotMatch(plain.headers.get('set-cookie') ?? '', /Secure/);
  });

  test('devices reach the broker with TLS; without a login it says nothing there either', async () => {
    const socket = connect({ host: shared.network.machine, port: 8883, ca: authority, servername: name });
    await once(socket, 'secureConnect');
    assert.equal(socket.authorized, true);
    socket.destroy();
    const url = `mqtts://${shared.network.machine}:8883`;
    const options = { ca: authority, servername: name, reconnectPeriod: 0, username: 'backend', password: 'wrong' };
    await assert.rejects(connectAsync(url, options, false), /Not authorized/);
    const password = /^MQTT_PASSWORD=(.*)$/m.exec((await machine.readFile('/opt/station/.env')) ?? '')?.[1] ?? '';
    const client = await connectAsync(url, { ...options, password }, false);
    await client.endAsync();
  });

  describe('in a real Chromium', () => {
    let context: BrowserContext;

    /** A person's own computer, with the name of the station as multicast DNS gives it. */
    async function openComputer(home: string): Promise<BrowserContext> {
      return chromium.launchPersistentContext(join(home, 'profile'), {
        executablePath: '/usr/bin/chromium',
        env: { ...process.env, HOME: home },
        args: ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=MAP ${name} ${shared.network.machine}`],
      });
    }
    let home: string;
    before(async () => {
      home = await shared.workspace.subfolder('computer');
      context = await openComputer(home);
    });
    after(() => context.close());

    test('I open the station, and am told that the connection is not encrypted', async () => {
      const page = await context.newPage();
      await page.goto(`http://${name}/`);
      await page.getByRole('link', { name: 'This connection is not encrypted' }).click({ timeout: timeoutMs });
      await page.getByText('Three steps change that').waitFor({ timeout: timeoutMs });
      await look(page, '90-secure-steps');
      await page.getByRole('button', { name: 'Check and open' }).click();
      await page.getByText('This browser does not trust the certificate yet.').waitFor({ timeout: timeoutMs });
      for (const device of ['iPhone or iPad', 'Android', 'Windows', 'Mac', 'Firefox on a computer', 'Linux']) {
        await page.getByLabel('Your device').selectOption(device);
      }
      await look(page, '91-secure-not-yet');
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download' }).click();
      const file = join(home, 'ca.crt');
      await (await download).saveAs(file);
      assert.equal(await (await download).failure(), null);
      await context.close();
      await mkdir(join(home, '.pki/nssdb'), { recursive: true });
      await run('certutil', ['-d', `sql:${home}/.pki/nssdb`, '-N', '--empty-password']);
      await run('certutil', ['-d', `sql:${home}/.pki/nssdb`, '-A', '-t', 'C,,', '-n', 'Station', '-i', file]);
      context = await openComputer(home);
    });

    test('I have installed the certificate: the page opens encrypted, and old links lead there', async () => {
      const page = await context.newPage();
      await page.goto(`http://${name}/secure`);
      await page.getByRole('button', { name: 'Check and open' }).click({ timeout: timeoutMs });
      await page.waitForURL(`https://${name}/`, { timeout: timeoutMs });
      await page.goto(`http://${name}/activity`);
      await page.waitForURL(`https://${name}/activity`, { timeout: timeoutMs });
      await page.goto(`https://${shared.network.machine}/secure`);
      await page.getByText('This connection is encrypted.').waitFor({ timeout: timeoutMs });
      await look(page, '92-secure-on');
    });

    test('I log in there, and live updates come over the encrypted connection', async () => {
      const page = await context.newPage();
      const socket = page.waitForEvent('websocket', { timeout: timeoutMs });
      await page.goto(`https://${name}/`);
      await page.getByLabel('E-mail').fill(owner.email);
      await page.getByLabel('Password', { exact: true }).fill(owner.password);
      await page.getByRole('button', { name: 'Log in', exact: true }).click();
      await page.getByText('Live', { exact: true }).waitFor({ timeout: timeoutMs });
      assert.equal((await socket).url(), `wss://${name}/ws`);
      await page.goto(`http://${name}/settings/about`);
      await page.waitForURL(`https://${name}/settings/about`, { timeout: timeoutMs });
      await page.getByRole('link', { name: /Encrypted connection/ }).waitFor({ timeout: timeoutMs });
    });

    test('a certificate of the same authority for a website is refused', async () => {
      // As somebody would who stole the key of the authority.
      const stolen = await machine.must('cat /var/lib/station-agent/authority.pem');
      const folder = await shared.workspace.subfolder('stolen');
      await writeFile(join(folder, 'authority.pem'), stolen);
      await run('openssl', [
        'req',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-subj',
        '/CN=bank.example',
        '-keyout',
        join(folder, 'key.pem'),
        '-out',
        join(folder, 'request.pem'),
      ]);
      await writeFile(join(folder, 'names'), 'subjectAltName=DNS:bank.example\n');
      await run('openssl', [
        'x509',
        '-req',
        '-in',
        join(folder, 'request.pem'),
        '-CA',
        join(folder, 'authority.pem'),
        '-CAkey',
        join(folder, 'authority.pem'),
        '-days',
        '30',
        '-extfile',
        join(folder, 'names'),
        '-out',
        join(folder, 'bank.pem'),
      ]);
      const server = createServer(
        { cert: await readFile(join(folder, 'bank.pem')), key: await readFile(join(folder, 'key.pem')) },
        (_request, response) => response.end('Your money'),
      ).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      await using browser = await chromium.launchPersistentContext(join(home, 'other-profile'), {
        executablePath: '/usr/bin/chromium',
        env: { ...process.env, HOME: home },
        args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP bank.example 127.0.0.1'],
      });
      const page = await browser.newPage();
      await assert.rejects(
        page.goto(`https://bank.example:${port}/`),
        /ERR_CERT_(AUTHORITY_INVALID|INVALID|NAME_CONSTRAINT_VIOLATION)/,
      );
      server.close();
    });
  });

  test('a restart of the machine keeps the certificate', async () => {
    await machine.must('systemctl restart station-agent');
    await waitUntilHealthy(machine);
    assert.equal((await ask('/ca.crt')).body, authority);
  });

  test('a new address comes into the certificate, and the proxy serves it', async () => {
    const other = shared.network.machine.replace(/\.2$/, '.77');
    await machine.must(`ip address add ${other}/24 dev "$(ip -o -4 route show default | awk '{print $5; exit}')"`);
    const isServed = async (): Promise<boolean> => {
      const socket = connect({ host: shared.network.machine, port: 443, ca: authority, servername: name });
      try {
        await once(socket, 'secureConnect');
        return (socket.getPeerCertificate().subjectaltname ?? '').includes(other);
      } catch {
        return false;
      } finally {
        socket.destroy();
      }
    };
    await waitFor('the new address', isServed, patientMs);
    await waitFor('the station', async () => (await ask('/api/health')).status === 200);
  });

  test('with MQTT_PLAIN=false devices need TLS; with HTTPS=off there is no HTTPS', async () => {
    await machine.must('echo MQTT_PLAIN=false >>/opt/station/.env && cd /opt/station && docker compose up -d');
    await waitUntilHealthy(machine);
    const plain = connectAsync(
      `mqtt://${shared.network.machine}:1883`,
      { reconnectPeriod: 0, connectTimeout: 3000 },
      false,
    );
    await assert.rejects(plain);
    const socket = connect({ host: shared.network.machine, port: 8883, ca: authority, servername: name });
    await once(socket, 'secureConnect');
    socket.destroy();
    await machine.must('echo HTTPS=off >>/opt/station-agent/.env && systemctl restart station-agent');
    await waitFor(
      'HTTPS to be off',
      async () => (await fetch(`http://${shared.network.machine}/ca.crt`)).status === 404,
    );
    const isClosed = (): Promise<boolean> =>
      ask('/api/health').then(
        () => false,
        () => true,
      );
    await waitFor('the proxy to serve no HTTPS', isClosed);
    await waitUntilHealthy(machine);
  });
});
