import { dirname, join } from 'node:path';
import { type Clock, isoTime } from '@station/kit/clock';
import {
  makeDirectoryDurable,
  readText,
  removeDurable,
  writeDurable,
  type Disk,
  type Owner,
} from '@station/kit/durable-files';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { EncryptionStatus } from '@station/protocol/agent-api';
import { certificateFile, proxySite, rootsFile, type PublicSite } from './proxy-site-decide.ts';
import {
  certifiedNames,
  decideAuthority,
  decideCertificate,
  endOfAuthorityBefore,
  firstAuthorityEnd,
  homeAddresses,
} from './tls-decide.ts';
import type { CertificateFacts, CertificateMaker, InterfaceAddress, KeyPair } from './tls-ports.ts';

/** The certificates of the station and its own authority (docs/adr/0045). */
export type StationCertificates = {
  /** Makes what is missing or about to expire. Never rejects: what fails is logged and tried again. */
  renew(): Promise<void>;
  /** Renews until the signal aborts; ends with its reason. */
  run(signal: AbortSignal): Promise<void>;
  /** Null: HTTPS=off, or there is no certificate yet. */
  status(): EncryptionStatus | null;
  /** Certificate and key of the authority for a backup. Null: HTTPS=off. @throws the file system's error. */
  readAuthority(): Promise<string | null>;
  /** Takes the authority of a backup, which phones of the household trust. @returns whether it is one. @throws the file system's error. */
  replaceAuthority(pem: string): Promise<boolean>;
};

type Parts = {
  mode: 'own' | 'acme' | 'off';
  /** With `acme`: the public name. `caFile`: certificates by which the server of the directory is trusted. */
  acme: (Omit<PublicSite, 'hasRoots'> & { caFile: string | null }) | null;
  /** Where servers in containers read their certificates (TLS_DIR). */
  folder: string;
  dataDir: string;
  /** Name of the authority, as phones show it. */
  authorityName: string;
  /** Host of STATION_URL. */
  host: string;
  maker: CertificateMaker;
  addresses: () => InterfaceAddress[];
  /** What the machine is called in its network: another name where a second machine has the wished one. Null: not known. */
  mdnsName: () => Promise<string | null>;
  /** Users of the containers, who read the keys. Null: the agent is not root, so all belongs to its own user. */
  owners: Record<Server, Owner> | null;
  /** A server reads its certificate only when it starts. */
  restart: (server: Server, signal: AbortSignal) => Promise<void>;
  disk: Disk;
  clock: Clock;
  /** Null: nobody tells. */
  isClockRight: () => Promise<boolean | null>;
  logger: AgentLogger;
};

const servers = ['https', 'mqtt'] as const;
export type Server = (typeof servers)[number];

const lookMs = 60_000;
const authorityFile = 'authority.pem';
const publicFile = 'ca.crt';
/** For the proxy, which imports it when it is there. */
const proxyFile = 'https.caddy';
/** The proxy keeps there what it got from a public authority. */
const storageFolder = 'acme';
const folderMode = 0o755;
const publicMode = 0o644;

export function createStationCertificates(parts: Parts): StationCertificates {
  const { mode, clock, logger, dataDir, disk } = parts;
  const runner = createExclusiveRunner();
  const changed = new Set<Server>();
  let known: { authority: KeyPair; facts: CertificateFacts } | null = null;
  const settledName = createSettledName(parts.mdnsName);

  const look = async (): Promise<void> => {
    // Also with HTTPS=off: the engine would make it for root, and the proxy has it mounted.
    await disk.makeDirectory(join(parts.folder, storageFolder), 0o700, parts.owners?.https);
    if (mode === 'off') {
      if (await removeSite(parts)) changed.add('https');
      return;
    }
    const clockFacts = { now: clock.now(), isClockRight: await parts.isClockRight() };
    const authority = await renewAuthority(parts, known?.authority ?? (await openAuthority(parts)), clockFacts);
    const names = certifiedNames(parts.host, await settledName());
    const wanted = { names, addresses: homeAddresses(parts.addresses()) };
    for (const server of servers) {
      const { facts, isNew } = await keepCertificate(parts, server, { authority, wanted, clockFacts });
      known = { authority, facts };
      if (isNew) changed.add(server);
    }
  };
  const renew = (): Promise<void> =>
    runner.run(() =>
      look().catch((error: unknown) => {
        known = null;
        logger.event('certificate_failed', { reason: describeError(error) });
      }),
    );
  return {
    renew,
    run: async (signal) => {
      for (;;) {
        await renew();
        for (const server of changed) {
          if (await restart(parts, server, signal)) changed.delete(server);
        }
        await clock.sleep(lookMs, signal);
      }
    },
    status: () =>
      known && {
        names: known.facts.names,
        addresses: known.facts.addresses,
        validUntil: isoTime(known.facts.notAfter),
        fingerprint: parts.maker.fingerprint(known.authority.certificate),
      },
    readAuthority: async () => (mode === 'off' ? null : await readText(disk, join(dataDir, authorityFile))),
    replaceAuthority: (pem) =>
      runner.run(async () => {
        const pair = parts.maker.readPair(pem);
        if (pair === null) return false;
        await writeDurable(disk, join(dataDir, authorityFile), toPem(pair));
        known = null;
        return true;
      }),
  };
}

/** A new name counts at the second look: each costs a restart of the servers, and where names are echoed Avahi takes one after the other. */
function createSettledName(read: () => Promise<string | null>): () => Promise<string | null> {
  let last: string | null = null;
  return async () => {
    const name = await read();
    const isSettled = last === null || last === name;
    last = name ?? last;
    return isSettled ? name : null;
  };
}

/** @returns false: the engine does not answer; the next look tries again. */
async function restart(parts: Parts, server: Server, signal: AbortSignal): Promise<boolean> {
  try {
    await parts.restart(server, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    parts.logger.event('engine_failed', { step: `restart ${server}`, detail: describeError(error) });
    return false;
  }
}

/** For `doctor`. */
export type WebCertificate = CertificateFacts & {
  /** Of the authority, as phones show it. */
  fingerprint: string;
  /** Until when phones trust the station that have the authority before this one; null: there was none before. */
  beforeUntil: number | null;
};

/** The certificate of the web app as it is on disk. Changes nothing. Null: there is none that the authority signed. */
export async function readWebCertificate({
  folder,
  dataDir,
  disk,
  maker,
}: Pick<Parts, 'folder' | 'dataDir' | 'disk' | 'maker'>): Promise<WebCertificate | null> {
  const read = async (path: string): Promise<KeyPair | null> => {
    const text = await readText(disk, path);
    return text === null ? null : maker.readPair(text);
  };
  const authority = await read(join(dataDir, authorityFile));
  const pair = await read(join(folder, 'https', certificateFile));
  const facts = authority && pair && maker.readFacts(pair, authority);
  if (!facts) return null;
  const { certificate } = authority;
  const beforeUntil = endOfAuthorityBefore(maker.readEnd(certificate));
  return { ...facts, fingerprint: maker.fingerprint(certificate), beforeUntil };
}

const toPem = ({ certificate, key }: KeyPair): string => `${certificate}${key}`;

/** The authority on disk, or a new one. One that cannot be read is kept beside it: phones may trust it. */
async function openAuthority({ dataDir, disk, maker, authorityName, logger }: Parts): Promise<KeyPair> {
  const path = join(dataDir, authorityFile);
  const bytes = await disk.read(path);
  const present = bytes && maker.readPair(new TextDecoder().decode(bytes));
  if (present) return present;
  if (bytes) {
    await disk.rename(path, `${path}.damaged`);
    await disk.sync(dataDir);
    logger.event('state_repaired', { file: authorityFile, reason: 'it holds no certificate with its key' });
  }
  const made = await maker.makeAuthority(authorityName, firstAuthorityEnd);
  await writeDurable(disk, path, toPem(made));
  return made;
}

type ClockFacts = { now: number; isClockRight: boolean | null };

/** With its key and another end, in time for every phone to take it. */
async function renewAuthority(
  { dataDir, disk, maker, logger }: Parts,
  authority: KeyPair,
  clockFacts: ClockFacts,
): Promise<KeyPair> {
  const end = decideAuthority(maker.readEnd(authority.certificate), clockFacts);
  if (end === null) return authority;
  const renewed = await maker.renewAuthority(authority, end);
  await writeDurable(disk, join(dataDir, authorityFile), toPem(renewed));
  logger.event('authority_renewed', { validUntil: isoTime(end) });
  return renewed;
}

type Wanted = { names: string[]; addresses: string[] };
type Kept = { facts: CertificateFacts; /** The server has to read its files again. */ isNew: boolean };

async function keepCertificate(
  parts: Parts,
  server: Server,
  { authority, wanted, clockFacts }: { authority: KeyPair; wanted: Wanted; clockFacts: ClockFacts },
): Promise<Kept> {
  const { folder, disk, maker, logger, owners } = parts;
  const path = join(folder, server, certificateFile);
  const text = await readText(disk, path);
  const pair = text === null ? null : maker.readPair(text);
  const present = pair && maker.readFacts(pair, authority);
  const facts = decideCertificate(present, wanted, clockFacts);
  if (facts !== null) {
    await makeDirectoryDurable(disk, dirname(path), folderMode);
    await writeDurable(disk, path, toPem(await maker.issue(authority, facts)), 0o600, owners?.[server]);
    const { names, addresses, notAfter } = facts;
    logger.event('certificate_issued', { server, names: [...names, ...addresses], validUntil: isoTime(notAfter) });
  }
  const isSiteNew = server === 'https' && (await writeSite(parts, authority));
  return { facts: (facts ?? present)!, isNew: facts !== null || isSiteNew };
}

/** What the proxy serves and reads besides the certificate. */
async function writeSite(parts: Parts, authority: KeyPair): Promise<boolean> {
  const { folder, disk, acme } = parts;
  const roots = acme && (await readRoots(parts));
  const isPublic = acme !== null && (acme.caFile === null || roots !== null);
  const contents = {
    [publicFile]: authority.certificate,
    ...(roots === null ? {} : { [rootsFile]: roots }),
    [proxyFile]: proxySite(isPublic ? { ...acme, hasRoots: roots !== null } : null),
  };
  let isNew = false;
  for (const [name, content] of Object.entries(contents)) {
    const path = join(folder, 'https', name);
    if ((await readText(disk, path)) === content) continue;
    await writeDurable(disk, path, content, publicMode);
    isNew = true;
  }
  return isNew;
}

/** The content of ACME_CA_FILE. Null: there is none, or the proxy would not start with it. */
async function readRoots({ acme, disk, maker, logger }: Parts): Promise<string | null> {
  if (!acme?.caFile) return null;
  const text = await readText(disk, acme.caFile).catch(() => null);
  const roots = text === null ? null : maker.readCertificates(text);
  if (roots === null) logger.event('certificate_failed', { reason: `${acme.caFile} holds no certificates as PEM` });
  return roots;
}

/** Without it the proxy serves no HTTPS. The certificate stays: HTTPS may come back. */
async function removeSite({ folder, disk }: Parts): Promise<boolean> {
  const present = await disk.list(join(folder, 'https'));
  const found = [proxyFile, publicFile, rootsFile].filter((name) => present.includes(name));
  for (const name of found) await removeDurable(disk, join(folder, 'https', name));
  return found.length > 0;
}
