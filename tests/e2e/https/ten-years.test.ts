import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { certificateMaker } from '@station/agent/tls/adapters/certificates';
import { readWebCertificate, type Server } from '@station/agent/tls/station-certificates';
import { findFreePort } from '@station/kit/free-port';
import { nodeDisk } from '@station/kit/durable-files';
import { type Caddy, createCaddy } from '../../rig/caddy.ts';
import { needPackages } from '../../rig/debian.ts';
import { tryRun } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { createStackBroker, type StackBroker } from './stack-broker.ts';
import { createStationLife, type StationLife, type Surroundings } from './station-life.ts';

const dayMs = 24 * 3600_000;
const name = 'station.local';
const begin = Date.UTC(2026, 10, 27, 12);
const servers: readonly Server[] = ['https', 'mqtt'];
/** The real servers are asked so often, and after each new certificate; what they hold is compared with the clock every day. */
const askedEveryDays = 28;

/** Caddy and Mosquitto serve what the agent writes; `openssl s_client` asks them as somebody in that year. */
describe('the certificates of a station over the years', { timeout: 1_800_000 }, () => {
  let workspace: Workspace;
  let life: StationLife;
  let around: Surroundings;
  let caddy: Caddy;
  let broker: StackBroker;
  let ports: Record<Server, number>;
  let backendUrl: string;
  /** As the server read it at its last start. */
  let held: Record<Server, X509Certificate>;
  /** What the first phone of the household installed. */
  let phone: string;
  let isOn = false;
  let asked = 0;

  before(async () => {
    await needPackages(['openssl', 'caddy', 'mosquitto']);
    const backend = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
    await once(backend, 'listening');
    backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
    after(() => void backend.close());
  });
  beforeEach(async () => {
    workspace = await createWorkspace();
    phone = '';
    isOn = false;
    const folder = await workspace.subfolder('agent');
    around = { now: begin, isClockRight: true, addresses: ['192.168.1.7'], mdnsName: name };
    life = createStationLife(folder, around, restart);
    broker = await createStackBroker(workspace, join(folder, 'tls/mqtt'));
    ports = { https: await findFreePort(), mqtt: broker.tlsPort };
  });

  afterEach(() => workspace[Symbol.asyncDispose]());

  const pem = (server: Server): string => join(life.folder, 'tls', server, 'station.pem');
  async function hold(server: Server): Promise<void> {
    held = { ...held, [server]: new X509Certificate(await readFile(pem(server), 'utf8')) };
  }
  async function startServers(): Promise<void> {
    const https = { port: ports.https, certificate: pem('https'), key: pem('https') };
    caddy = await createCaddy(workspace, {
      port: await findFreePort(),
      backendUrl,
      firmwareFolder: life.folder,
      https,
    });
    await broker.start();
    for (const server of servers) await hold(server);
    isOn = true;
  }
  async function stopServers(): Promise<void> {
    isOn = false;
    await caddy.stop();
    await broker.stop();
  }
  async function restart(server: Server): Promise<void> {
    if (!isOn) return;
    const one = server === 'https' ? caddy : broker;
    await one.stop();
    await one.start();
    await hold(server);
  }

  /** What a client says that trusts `authority`, in the year of the station's people: null when all is well. */
  async function judge(
    server: Server,
    { authority = phone, at = around.now, as = name }: { authority?: string; at?: number; as?: string } = {},
  ): Promise<string | null> {
    const file = join(workspace.folder, 'phone.crt');
    await writeFile(file, authority);
    const check = /^[\d.]+$/.test(as) ? '-verify_ip' : '-verify_hostname';
    const time = String(Math.floor(at / 1000));
    const trust = ['-CAfile', file, '-no-CApath', '-no-CAstore', '-attime', time, check, as, '-verify_return_error'];
    const args = ['s_client', '-connect', `127.0.0.1:${ports[server]}`, '-servername', name, ...trust];
    const { exitCode, stdout, stderr } = await tryRun('openssl', args, { input: '' });
    asked += 1;
    if (exitCode === 0 && stdout.includes('Verify return code: 0 (ok)')) return null;
    return /verify error:num=\d+:(.*)/.exec(stderr + stdout)?.[1] ?? `exit code ${exitCode}: ${stderr}`;
  }
  async function allTrust(as: readonly string[] = [name]): Promise<void> {
    for (const server of servers)
      for (const one of as) assert.equal(await judge(server, { as: one }), null, `${server} ${one} ${day()}`);
  }
  const day = (): string => new Date(around.now).toISOString().slice(0, 10);

  /** Until the next look, a day later, the certificate of each server holds. */
  function holdsForADay(): void {
    for (const server of servers) {
      const { validFromDate: from, validToDate: until } = held[server];
      assert.ok(around.now >= from.getTime() && around.now + dayMs < until.getTime(), `${server} on ${day()}`);
    }
  }
  /** The station runs until then; things may happen on a day. */
  async function live(until: number, happens: Readonly<Record<string, () => void>> = {}): Promise<void> {
    let days = 0;
    let seen = '';
    await life.run({
      started: async () => {
        await startServers();
        phone ||= await life.authority();
      },
      looked: async () => {
        holdsForADay();
        const serials = servers.map((server) => held[server].serialNumber).join();
        if (serials !== seen || days % askedEveryDays === 0) await allTrust();
        seen = serials;
        days += 1;
        around.now += dayMs;
        happens[day()]?.();
        return around.now < until;
      },
    });
    await stopServers();
  }

  it('for ten years nobody does anything, and every client is content on every day', async () => {
    phone = '';
    const serials = new Set<string>();
    const note = (): void => void serials.add(held.https.serialNumber);
    await live(Date.UTC(2029, 5, 1), { '2028-01-01': note, '2029-01-01': note });
    // Another router, and another name in the network.
    await live(Date.UTC(2031, 5, 1), {
      '2030-02-03': () => (around.addresses = ['10.0.0.23']),
      '2030-08-09': () => (around.mdnsName = 'station-2.local'),
      '2031-05-01': note,
    });
    await live(Date.UTC(2036, 10, 28), { '2033-01-01': note, '2035-01-01': note });
    assert.equal(serials.size, 5, 'it was renewed in between');
    await life.run({ started: startServers, looked: async () => false });
    await allTrust([name, 'station-2.local', '10.0.0.23', '192.168.1.7']);
    assert.equal(await judge('https', { as: 'bank.example' }), 'hostname mismatch');
    assert.equal(await life.authority(), phone, 'no phone had to do anything');
    assert.ok(asked > 250, `asked ${asked} times`);
    assert.ok(!life.events.includes('certificate_failed'));
  });

  it('a new address or name is in the certificate from the next look on; a new name from the one after it', async () => {
    await live(begin + 3 * dayMs);
    around.addresses = ['192.168.1.99'];
    around.mdnsName = 'station-3.local';
    await live(begin + 6 * dayMs);
    await life.run({ started: startServers, looked: async () => false });
    await allTrust([name, 'station-3.local', '192.168.1.99', '192.168.1.7']);
    assert.equal(await judge('mqtt', { as: '192.168.1.98' }), 'IP address mismatch');
  });

  it('after two years without power the first client is content', async () => {
    await live(begin + 10 * dayMs);
    around.now += 730 * dayMs;
    await life.run({
      started: async () => {
        await startServers();
        await allTrust();
      },
      looked: async () => false,
    });
  });

  it('a board that starts in 1970 keeps its certificate until it knows the time', async () => {
    await live(begin + 10 * dayMs);
    const people = around.now;
    const before = held.https.serialNumber;
    around.isClockRight = false;
    around.now = 0;
    let looks = 0;
    await life.run({
      started: startServers,
      looked: async () => {
        for (const server of servers) assert.equal(await judge(server, { at: people }), null, `look ${looks}`);
        assert.equal(held.https.serialNumber, before);
        looks += 1;
        if (looks === 3) Object.assign(around, { now: people, isClockRight: true });
        return looks < 5;
      },
    });
  });

  for (const wrong of [0, Date.UTC(2044, 1, 1)]) {
    it(`what was issued in ${new Date(wrong).getUTCFullYear()} is issued again at the first look with the right time`, async () => {
      Object.assign(around, { now: wrong, isClockRight: false });
      let looks = 0;
      await life.run({
        started: startServers,
        looked: async () => {
          phone = await life.authority();
          if (looks === 1) await allTrust();
          else for (const server of servers) assert.notEqual(await judge(server, { at: begin }), null);
          looks += 1;
          Object.assign(around, { now: begin, isClockRight: true });
          return looks < 2;
        },
      });
    });
  }

  it('before the authority ends there is one with its key, and the doctor says until when the old one is good', async () => {
    around.now = Date.UTC(2046, 10, 1);
    await live(Date.UTC(2047, 1, 1));
    const next = await life.authority();
    assert.notEqual(next, phone);
    around.now = Date.UTC(2049, 11, 20);
    await life.run({ started: startServers, looked: async () => false });
    for (const authority of [phone, next])
      for (const server of servers) assert.equal(await judge(server, { authority }), null);
    const parts = { folder: join(life.folder, 'tls'), dataDir: life.folder, disk: nodeDisk, maker: certificateMaker };
    const told = await readWebCertificate(parts);
    assert.equal(new Date(told?.beforeUntil ?? 0).toISOString(), '2049-12-31T23:59:59.000Z');
    const later = Date.UTC(2050, 5, 1);
    for (const server of servers) {
      assert.equal(await judge(server, { authority: next, at: later }), null);
      assert.equal(await judge(server, { authority: phone, at: later }), 'certificate has expired');
    }
  });
});
