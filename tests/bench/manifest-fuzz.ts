// npm run bench -- manifest-fuzz [--count N] [--seed N]
// Tries mutated manifests, signature files, environment files, state files and API bodies. None may throw or have an
// effect: no call that changes the stack, and no operation started by an invalid body.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { parseArgs } from 'node:util';
import { mergeEnvironment, envToConfig } from '@station/agent/config';
import { parseEnvFile } from '@station/kit/env-file';
import type { StackEngine } from '@station/agent/stack/stack-ports';
import { overrideFile, readOverride, stateFiles } from '@station/agent/stack/state-files';
import { createJournalKeeper } from '@station/agent/stack/journal-keeper';
import { startServer } from '@station/agent/testing/running-server';
import { verifyMinisign } from '@station/agent/core/signature';
import { emptyJournal, writeJournal } from '@station/agent/stack/journal';
import { systemClock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import { parseImageReference } from '@station/protocol/image-reference';
import { readReleaseManifest } from '@station/protocol/release-manifest';
import { parseVersion } from '@station/protocol/version';
import { createRandom } from '../faults/choice.ts';
import { mutateDocument, mutateText, toBytes } from '../faults/mutate.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } },
});
const count = Number(values.count);
const random = createRandom(Number(values.seed));

const digest = `sha256:${'ab'.repeat(32)}`;
const manifest = {
  version: '1.2.3',
  images: { backend: `registry.example:5000/station/backend:1.2.3@${digest}`, frontend: 'station/frontend:1.2.3' },
  notes: 'Better.',
  releasedAt: '2026-01-01T00:00:00.000Z',
  minAgentVersion: '0.1.0',
  rollout: 50,
};

/** What is wrong with the handling of an input; null when it was correct. */
type Trial = () => Promise<string | null> | string | null;
type Kind = { name: string; share: number; trial: Trial };

const services = { running: ['backend', 'frontend'], declared: ['backend', 'frontend', 'proxy'] };
const faults: string[] = [];
let done = 0;
const perKind: Record<string, number> = {};
await using api = await openApi();
const kinds: Kind[] = [
  { name: 'release manifests', share: 0.6, trial: tryManifest },
  { name: 'signature files', share: 0.03, trial: createSignatureTrial() },
  { name: 'environment files', share: 0.15, trial: tryEnvironment },
  { name: 'state files', share: 0.17, trial: tryState },
  { name: 'API bodies', share: 0.05, trial: api.trial },
];
for (const kind of kinds) await runKind(kind);

const ok = faults.length === 0 && done >= count;
for (const fault of faults.slice(0, 20)) process.stderr.write(`${fault}\n`);
process.stdout.write(
  `${JSON.stringify({ bench: 'manifest-fuzz', value: done, unit: 'inputs', ratio: faults.length / done, goal: 0, ok, perKind })}\n`,
);
process.exitCode = ok ? 0 : 1;

async function runKind({ name, share, trial }: Kind): Promise<void> {
  const wanted = Math.ceil(count * share);
  const started = performance.now();
  for (let index = 1; index <= wanted; index += 1) {
    try {
      const fault = await trial();
      if (fault !== null) faults.push(`${name}: ${fault}`);
    } catch (error) {
      faults.push(`${name}: threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
    if (index % 50_000 === 0) process.stderr.write(`${name}: ${index} of ${wanted}\n`);
  }
  done += wanted;
  perKind[name] = wanted;
  process.stderr.write(`${name}: ${wanted} in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}

function tryManifest(): string | null {
  const text = mutateDocument(manifest, random);
  const reading = readReleaseManifest(toBytes(text, random), services);
  if (reading.kind === 'rejected')
    return reading.reason.length > 0 && reading.reason.length < 500 ? null : 'a useless reason';
  const { version, images } = reading.manifest;
  if (!parseVersion(version)) return `accepted the version of ${text}`;
  const good = Object.entries(images).every(
    ([service, image]) =>
      ['backend', 'frontend', 'mqtt', 'postgres', 'proxy'].includes(service) &&
      parseImageReference(image) !== null &&
      !/[\s-]/.test(image[0] ?? ' '),
  );
  return good ? null : `accepted the images of ${text}`;
}

function createSignatureTrial(): Trial {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = { keyId: randomBytes(8), publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32) };
  const content = new TextEncoder().encode(JSON.stringify(manifest));
  const signature = sign(null, content, privateKey);
  const comment = 'timestamp:1767225600';
  const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), privateKey);
  const line = Buffer.concat([Buffer.from('Ed'), key.keyId, signature]).toString('base64');
  const good = `untrusted comment: signature\n${line}\ntrusted comment: ${comment}\n${global.toString('base64')}\n`;
  if (!verifyMinisign(content, good, key)) throw new Error('the unchanged signature does not verify');
  return () => {
    const changed = mutateText(good, random);
    const other = mutateText(JSON.stringify(manifest), random);
    if (other !== JSON.stringify(manifest) && verifyMinisign(new TextEncoder().encode(other), good, key))
      return `verified ${other}`;
    if (!verifyMinisign(content, changed, key)) return null;
    return sameSignature(good, changed) ? null : `verified with ${JSON.stringify(changed)}`;
  };
}

/** Base64 and comments can be written in several ways with the same meaning. */
function sameSignature(good: string, changed: string): boolean {
  const parts = (file: string): string[] => {
    const [, signature = '', trusted = '', global = ''] = file.split('\n').map((line) => line.replace(/\r$/, ''));
    const decode = (text: string): string => Buffer.from(text, 'base64').toString('hex');
    return [decode(signature), trusted, decode(global)];
  };
  return parts(good).join() === parts(changed).join();
}

function tryEnvironment(): string | null {
  const seed = [
    '# station',
    'STATION_ID="7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01"',
    "UPDATE_SERVER_URL='https://releases.example/manifest.json'",
    'AGENT_TOKEN=very-secret-token-0123456789',
    'CHECK_INTERVAL_MINUTES=60',
    'MAINTENANCE_WINDOW=02:00-05:00',
    'PORT=3001',
    'DATA_DIR=/var/lib/station',
    'export AUTO_UPDATE=true',
    '',
  ].join('\n');
  const file = parseEnvFile(mutateText(seed, random));
  const reading = envToConfig(mergeEnvironment(file.values, {}), {
    homeDirectory: '/root',
    hostname: 'station',
    pid: 1,
  });
  const texts = [...file.warnings, ...reading.warnings, ...(reading.kind === 'invalid' ? reading.problems : [])];
  if (texts.some((text) => text.includes('very-secret-token'))) return 'shows a secret';
  return reading.kind === 'invalid' && reading.problems.length === 0 ? 'refused without a reason' : null;
}

async function tryState(): Promise<string | null> {
  const files = new Map<string, Uint8Array>();
  const disk = memoryDisk(files);
  const release = {
    version: '1.1.0',
    images: { backend: 'b:1', frontend: 'f:1' },
    imageIds: { backend: digest, frontend: digest },
    digests: {},
    layers: {},
  };
  await writeJournal(disk, '/data', {
    ...emptyJournal,
    installed: release,
    kept: [{ release, at: '2026-01-01T00:00:00.000Z' }],
  });
  const seeds: Record<string, string> = {
    'journal.json': new TextDecoder().decode(files.get('/data/journal.json')),
    [stateFiles.currentVersion]: '1.1.0\n',
    [stateFiles.rollback]: JSON.stringify({
      version: '1.0.0',
      images: { backend: 'b:1' },
      imageIds: { backend: digest },
      createdAt: '',
    }),
    [stateFiles.updateOverride]: random() < 0.5 ? overrideFile(release) : 'services:\n  backend:\n    image: "b:1"\n',
    [stateFiles.rollbackOverride]: overrideFile(release),
  };
  for (const [name, text] of Object.entries(seeds)) {
    files.delete(`/data/${name}`);
    if (random() < 0.8) files.set(`/data/${name}`, toBytes(random() < 0.7 ? mutateText(text, random) : text, random));
  }
  const textOf = (name: string): string => new TextDecoder().decode(files.get(`/data/${name}`));
  const current = textOf(stateFiles.currentVersion);
  const pinned = textOf(stateFiles.updateOverride);
  const changes: string[] = [];
  const keeper = createJournalKeeper({
    engine: watchedEngine(changes),
    disk,
    dataDir: '/data',
    clock: systemClock,
    logger: {
      event: () => undefined,
      failed: () => undefined,
      subscribe: () => ({ [Symbol.dispose]: () => undefined }),
      keepSecret: () => undefined,
    },
    bootId: 'boot',
    keepReleases: 1,
    probationMs: 0,
    stabilizationMs: 0,
    newId: () => 'id',
  });
  await keeper.load();
  const { installed, operation } = keeper.journal();
  if (changes.length > 0) return `called ${changes.join(', ')}`;
  if (operation !== null) return 'invented an operation';
  // An interrupted first install leaves a pinned release without a version.
  const isFirstInstall = parseVersion(current.trim()) === null && Object.keys(readOverride(pinned)).length > 0;
  if (installed === null) return isFirstInstall ? null : 'does not know the running release';
  return installed.imageIds['backend'] === digest ? null : 'names another release than the running one';
}

function memoryDisk(files: Map<string, Uint8Array>): Disk {
  return {
    read: async (path) => files.get(path) ?? null,
    list: async () => [...files.keys()],
    makeDirectory: async () => undefined,
    write: async (path, bytes) => void files.set(path, bytes),
    sync: async () => undefined,
    rename: async (from, to) => {
      files.set(to, files.get(from) ?? new Uint8Array());
      files.delete(from);
    },
    remove: async (path) => void files.delete(path),
  };
}

/** An engine with a running stack that records every call that would change something. */
function watchedEngine(changes: string[]): StackEngine {
  const container = { image: 'b:1', imageId: digest, state: 'running', health: 'none', restartCount: 0, exitCode: 0 };
  const reading: Partial<StackEngine> = {
    services: async () => ({ running: ['backend', 'frontend'], declared: ['backend', 'frontend'] }),
    containers: async () => ['backend', 'frontend'].map((service) => ({ ...container, id: service, service })),
    imageId: async () => digest,
    pinnedImages: async () => [],
    freeBytes: async () => null,
  };
  return new Proxy(reading as StackEngine, {
    get: (target, name: keyof StackEngine) =>
      target[name] ??
      (async () => {
        changes.push(name);
      }),
  });
}

async function openApi(): Promise<AsyncDisposable & { trial: Trial }> {
  const running = await startServer();
  const { host, port } = running.tcp;
  const trial = async (): Promise<string | null> => {
    const text = mutateDocument({ version: '1.2.3' }, random);
    const before = running.agent.asked.length;
    running.agent.answer = { kind: 'already_current', version: '1.2.3' };
    const response = await fetch(`http://${host}:${port}/update`, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json' },
    });
    const body = (await response.json()) as { code?: unknown };
    const asked = running.agent.asked.length - before;
    if (isGoodBody(text)) return asked === 1 ? null : `did not accept ${text}`;
    if (asked > 0) return `executed ${text}`;
    return response.status >= 400 && response.status < 500 && typeof body.code === 'string'
      ? null
      : `answered ${response.status} to ${text}`;
  };
  return { trial, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

/**
 * A valid body of POST /update (contracts, section 4): nothing, or an object with at most a version of 1 to 128
 * characters.
 */
function isGoodBody(given: string): boolean {
  if (given === '') return true;
  // A parser may ignore a byte order mark (RFC 8259, section 8.1); the server's parser does.
  const text = given.replace(/^\ufeff/, '');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  const keys = Object.keys(body);
  if (keys.some((key) => key !== 'version')) return false;
  const version = (body as { version?: unknown }).version;
  return keys.length === 0 || (typeof version === 'string' && version.length >= 1 && [...version].length <= 128);
}
