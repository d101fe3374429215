import assert from 'node:assert/strict';
import { mkdtempDisposable, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import { type Clock, systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import { certificateMaker as maker } from './adapters/certificates.ts';
import { createStationCertificates, type Server } from './station-certificates.ts';
import { dayMs, firstAuthorityEnd } from './tls-decide.ts';
import type { KeyPair } from './tls-ports.ts';

type World = {
  folder: string;
  mode?: 'own' | 'off';
  caFile?: string | null;
  address?: string;
  at?: number;
  mdnsNames?: string[];
  isClockRight?: boolean;
};

const publicSite = { name: 'home.example.org', directory: 'https://acme.example/directory', email: 'me@example.org' };

/** The certificates as one process of the agent keeps them. */
/** @param world.caFile given: with `HTTPS=acme`. */
function start({ folder, mode = 'own', caFile, address = '192.168.1.7', at = Date.now(), ...world }: World) {
  const { mdnsNames = [], isClockRight = true } = world;
  const restarted: Server[] = [];
  const events: string[] = [];
  const ending = new AbortController();
  const clock: Clock = {
    ...systemClock,
    now: () => at,
    sleep: async () => {
      ending.abort(new Error('one look is enough'));
      ending.signal.throwIfAborted();
    },
  };
  const write = (line: string): void => void events.push((JSON.parse(line) as { event: string }).event);
  const certificates = createStationCertificates({
    mode,
    clock,
    isClockRight: async () => isClockRight,
    maker,
    disk: nodeDisk,
    owners: null,
    acme: caFile === undefined ? null : { ...publicSite, caFile },
    folder: join(folder, 'tls'),
    dataDir: folder,
    authorityName: 'Station-ab12',
    host: 'cabin.local',
    addresses: () => [{ interface: 'eth0', address }],
    mdnsName: async () => mdnsNames.shift() ?? null,
    restart: async (server) => void restarted.push(server),
    logger: createLogger({ catalogue, clock: systemClock, level: 'info', secrets: [], write }),
  });
  const look = async (): Promise<Server[]> => {
    await assert.rejects(certificates.run(ending.signal), /one look/);
    return restarted;
  };
  return { certificates, look, events };
}

const temporary = () => mkdtempDisposable(join(tmpdir(), 'station-tls-'));
const pairIn = async (folder: string, server: Server): Promise<KeyPair> =>
  maker.readPair(await readFile(join(folder, 'tls', server, 'station.pem'), 'utf8'))!;

/** What a client that trusts the authority says of a server with this certificate. */
async function judge(pair: KeyPair, authority: string, servername: string): Promise<string> {
  const server = createServer({ cert: pair.certificate, key: pair.key }).listen(0, '127.0.0.1');
  server.on('tlsClientError', () => undefined);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', servername, ca: authority });
  try {
    await once(client, 'secureConnect');
    return 'trusted';
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Node has no code of its own for a violated name constraint.
    return code === undefined || code === 'UNSPECIFIED' ? message : code;
  } finally {
    client.destroy();
    server.close();
  }
}

describe('certificates of the station', () => {
  it('are made at the first start: clients that trust the authority trust both servers', async () => {
    await using folder = await temporary();
    const { look, certificates } = start({ folder: folder.path });
    assert.deepEqual(await look(), ['https', 'mqtt']);
    const authority = await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8');
    for (const server of ['https', 'mqtt'] as const) {
      const pair = await pairIn(folder.path, server);
      assert.equal(await judge(pair, authority, 'cabin.local'), 'trusted');
      assert.equal(await judge(pair, authority, 'station.local'), 'trusted');
      assert.equal(await judge(pair, authority, 'other.local'), 'ERR_TLS_CERT_ALTNAME_INVALID');
    }
    assert.deepEqual(certificates.status()?.addresses, ['192.168.1.7']);
    assert.equal(certificates.status()?.fingerprint, maker.fingerprint(authority));
  });

  it('have keys that nobody else reads, and the key of the authority is in no folder of a container', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    for (const file of ['authority.pem', 'tls/https/station.pem', 'tls/mqtt/station.pem']) {
      assert.equal((await stat(join(folder.path, file))).mode & 0o777, 0o600, file);
    }
    assert.deepEqual((await readdir(join(folder.path, 'tls/https'))).sort(), ['ca.crt', 'https.caddy', 'station.pem']);
    assert.ok(!(await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8')).includes('PRIVATE'));
  });

  it('stay over a restart, and no server is restarted for them', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const before = await pairIn(folder.path, 'https');
    const again = start({ folder: folder.path });
    assert.deepEqual(await again.look(), []);
    assert.deepEqual(again.events, []);
    assert.deepEqual(await pairIn(folder.path, 'https'), before);
  });

  it('are issued anew for another address and after a year, by the same authority', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const authority = await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8');
    assert.deepEqual(await start({ folder: folder.path, address: '10.0.0.4' }).look(), ['https', 'mqtt']);
    const late = start({ folder: folder.path, address: '10.0.0.4', at: Date.now() + 370 * dayMs });
    assert.deepEqual(await late.look(), ['https', 'mqtt']);
    assert.deepEqual(late.certificates.status()?.addresses, ['10.0.0.4', '192.168.1.7']);
    assert.equal(await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8'), authority);
  });

  it('stay over a start with a clock that is years behind, until it is right', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const before = await pairIn(folder.path, 'https');
    assert.deepEqual(await start({ folder: folder.path, at: 0, isClockRight: false }).look(), []);
    assert.deepEqual(await pairIn(folder.path, 'https'), before);
  });

  it('have the name that the machine really has; another one once it stays', async () => {
    await using folder = await temporary();
    const mdnsNames = ['cabin-2.local', 'cabin-3.local', 'cabin-4.local', 'cabin-4.local'];
    const { certificates } = start({ folder: folder.path, mdnsNames });
    const seen: (readonly string[] | undefined)[] = [];
    for (let looks = 0; looks < 5; looks++) {
      await certificates.renew();
      seen.push(certificates.status()?.names);
    }
    const first = ['cabin.local', 'station.local', 'cabin-2.local'];
    const last = ['cabin.local', 'station.local', 'cabin-4.local'];
    assert.deepEqual(seen, [first, first, first, last, last]);
    const authority = await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8');
    for (const name of ['cabin.local', 'cabin-4.local'])
      assert.equal(await judge(await pairIn(folder.path, 'https'), authority, name), 'trusted');
  });

  it('are made again when a file is damaged; a damaged authority is kept beside the new one', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const file = join(folder.path, 'tls/mqtt/station.pem');
    await writeFile(file, (await readFile(file, 'utf8')).slice(0, 200));
    assert.deepEqual(await start({ folder: folder.path }).look(), ['mqtt']);
    await writeFile(join(folder.path, 'authority.pem'), 'half of a fi');
    const repaired = start({ folder: folder.path });
    assert.deepEqual(await repaired.look(), ['https', 'mqtt']);
    assert.ok(repaired.events.includes('state_repaired'));
    assert.equal(await readFile(join(folder.path, 'authority.pem.damaged'), 'utf8'), 'half of a fi');
    const authority = await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8');
    assert.equal(await judge(await pairIn(folder.path, 'mqtt'), authority, 'cabin.local'), 'trusted');
  });

  it('follow the authority of a backup, so that phones go on trusting the station', async () => {
    await using old = await temporary();
    await using next = await temporary();
    const before = start({ folder: old.path });
    await before.look();
    const authority = await readFile(join(old.path, 'tls/https/ca.crt'), 'utf8');
    const moved = start({ folder: next.path });
    await moved.certificates.renew();
    assert.equal(await moved.certificates.replaceAuthority((await before.certificates.readAuthority())!), true);
    assert.equal(await moved.certificates.replaceAuthority('something else'), false);
    await moved.certificates.renew();
    assert.equal(await judge(await pairIn(next.path, 'https'), authority, 'cabin.local'), 'trusted');
  });

  it('are not served with HTTPS=off, and come back later', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const authority = await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8');
    const off = start({ folder: folder.path, mode: 'off' });
    assert.deepEqual(await off.look(), ['https']);
    assert.equal(off.certificates.status(), null);
    assert.deepEqual(await readdir(join(folder.path, 'tls/https')), ['station.pem']);
    assert.deepEqual(await start({ folder: folder.path, mode: 'off' }).look(), []);
    assert.deepEqual(await start({ folder: folder.path }).look(), ['https']);
    assert.equal(await readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8'), authority);
  });

  it('that cannot be written are reported, and tried again', async () => {
    await using folder = await temporary();
    await writeFile(join(folder.path, 'tls'), 'not a folder');
    const { look, events, certificates } = start({ folder: folder.path });
    assert.deepEqual(await look(), []);
    assert.deepEqual(events, ['certificate_failed']);
    assert.equal(certificates.status(), null);
  });
});

describe('the authority of the station', () => {
  const issue = async (authority: KeyPair, names: string[], addresses: string[] = []): Promise<KeyPair> =>
    maker.issue(authority, { names, addresses, notBefore: Date.now() - dayMs, notAfter: Date.now() + dayMs });

  it('cannot vouch for a name of the internet: a stolen key is of no use there', async () => {
    const authority = await maker.makeAuthority('Station-ab12', firstAuthorityEnd);
    for (const name of ['bank.example', 'local.example', 'notlocal']) {
      const verdict = await judge(await issue(authority, [name]), authority.certificate, name);
      assert.equal(verdict, 'permitted subtree violation', name);
    }
    const pair = await issue(authority, ['cabin.local'], ['8.8.8.8']);
    assert.equal(await judge(pair, authority.certificate, 'cabin.local'), 'permitted subtree violation');
    const ipv6 = await issue(authority, ['cabin.local'], ['2001:db8::1']);
    assert.match(await judge(ipv6, authority.certificate, 'cabin.local'), /subtree violation$/);
    assert.equal(
      await judge(await issue(authority, ['hut.local'], ['192.168.1.7']), authority.certificate, 'hut.local'),
      'trusted',
    );
  });

  it('is made again with its key before it ends: clients trust the station with either', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const read = (): Promise<string> => readFile(join(folder.path, 'tls/https/ca.crt'), 'utf8');
    const first = await read();
    const late = start({ folder: folder.path, at: Date.UTC(2047, 0, 1) });
    assert.deepEqual(await late.look(), ['https', 'mqtt']);
    assert.ok(late.events.includes('authority_renewed'));
    const next = await read();
    assert.notEqual(next, first);
    assert.equal(new X509Certificate(next).validToDate.getUTCFullYear(), 2079);
    const pair = await issue(maker.readPair(await readFile(join(folder.path, 'authority.pem'), 'utf8'))!, [
      'cabin.local',
    ]);
    for (const authority of [first, next]) assert.equal(await judge(pair, authority, 'cabin.local'), 'trusted');
    const foreign = await issue(maker.readPair(await readFile(join(folder.path, 'authority.pem'), 'utf8'))!, [
      'bank.example',
    ]);
    assert.equal(await judge(foreign, next, 'bank.example'), 'permitted subtree violation');
    assert.deepEqual(await start({ folder: folder.path, at: Date.UTC(2047, 0, 2) }).look(), []);
  });

  it('is another one on each station', async () => {
    const own = await maker.makeAuthority('Station-ab12', firstAuthorityEnd);
    const other = await maker.makeAuthority('Station-ab12', firstAuthorityEnd);
    const pair = await issue(own, ['cabin.local']);
    assert.equal(maker.readFacts(pair, other), null);
    assert.notEqual(await judge(pair, other.certificate, 'cabin.local'), 'trusted');
  });

  it('leave the public name to the proxy: its site names the authority, and the own certificate stays', async () => {
    await using folder = await temporary();
    await start({ folder: folder.path }).look();
    const own = await readFile(join(folder.path, 'tls/https/https.caddy'), 'utf8');
    assert.deepEqual(await start({ folder: folder.path, caFile: null }).look(), ['https'], 'the proxy reads it again');
    const site = await readFile(join(folder.path, 'tls/https/https.caddy'), 'utf8');
    assert.ok(site.startsWith(own));
    assert.match(site, /^https:\/\/home\.example\.org:8443 \{$/m);
    assert.match(site, /^\s+dir https:\/\/acme\.example\/directory\n\s+email me@example\.org\n\s+\}$/m);
    assert.equal((await stat(join(folder.path, 'tls/acme'))).mode & 0o777, 0o700);
    assert.deepEqual(await start({ folder: folder.path }).look(), ['https'], 'and back');
    assert.equal(await readFile(join(folder.path, 'tls/https/https.caddy'), 'utf8'), own);
  });

  it('serve the public name only when the proxy can read the file of an authority of one’s own', async () => {
    await using folder = await temporary();
    const caFile = join(folder.path, 'roots.pem');
    const site = join(folder.path, 'tls/https/https.caddy');
    for (const wrong of [null, 'nothing', '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n']) {
      if (wrong !== null) await writeFile(caFile, wrong);
      const world = start({ folder: folder.path, caFile });
      await world.look();
      assert.ok(world.events.includes('certificate_failed'), wrong ?? 'no file');
      assert.doesNotMatch(await readFile(site, 'utf8'), /acme/);
    }
    const { certificate } = await maker.makeAuthority('Somebody', firstAuthorityEnd);
    await writeFile(caFile, `a comment\n${certificate}`);
    assert.deepEqual(await start({ folder: folder.path, caFile }).look(), ['https']);
    assert.match(await readFile(site, 'utf8'), /trusted_roots \/run\/tls\/acme-ca\.pem/);
    assert.equal(await readFile(join(folder.path, 'tls/https/acme-ca.pem'), 'utf8'), certificate);
  });
});
