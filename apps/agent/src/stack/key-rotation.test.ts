import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createAgentConditions } from '@station/kit/conditions';
import { nodeDisk, type Disk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import { formatKeyId, parseSigningKey, type SigningKey } from '@station/protocol/signing-key';
import { createReleaseSigner, type ReleaseSigner } from '@station/simulators/releases/release-signer';
import type { FetchFile } from '../core/signature.ts';
import { createUpdateKeys } from '../core/update-keys.ts';
import { createJournalKeeper } from './journal-keeper.ts';
import { emptyJournal, readJournal, writeJournal } from './journal.ts';
import { createReleasePoll } from './release-poll.ts';
import { createReleaseSource, type ReleaseCheck } from './release-source.ts';

const signal = new AbortController().signal;
const images = { backend: 'registry.test/backend:2.0.0', frontend: 'registry.test/frontend:2.0.0' };
const newSigner = (): ReleaseSigner => createReleaseSigner(generateKeyPairSync('ed25519').privateKey);
const a = newSigner();
const b = newSigner();
const c = newSigner();
const other = newSigner();
const naming = ({ publicKey }: ReleaseSigner) => ({ nextPublicKey: publicKey });

const pathOf = (signer: ReleaseSigner): string => `/keys/${formatKeyId(keyOf(signer).keyId)}.json`;

/** A release server: what it has published last, with its signature. */
function createServer() {
  const files = new Map<string, Uint8Array>();
  const put = (path: string, manifest: object, signer: ReleaseSigner): void => {
    const bytes = Buffer.from(JSON.stringify(manifest));
    files.set(path, bytes);
    files.set(`${path}.minisig`, Buffer.from(signer.sign(bytes)));
  };
  const fetchFile: FetchFile = async ({ pathname, href }) => {
    const bytes = files.get(pathname);
    if (!bytes) return { kind: 'unavailable', reason: 'HTTP status 404', missing: true };
    return { kind: 'ok', bytes, etag: null, url: href };
  };
  return {
    fetchFile,
    files,
    publish: (version: string, signer: ReleaseSigner, more: object = {}): void =>
      put('/manifest.json', { version, images, ...more }, signer),
    /** As the site keeps it: the last manifest with which this key has named the next one. */
    keepNaming: (version: string, signer: ReleaseSigner, next: ReleaseSigner, path = pathOf(signer)): void =>
      put(path, { version, images, ...naming(next) }, signer),
    publishByName: (version: string, signer: ReleaseSigner, more: object = {}): void =>
      put(`/releases/${version}.json`, { version, images, ...more }, signer),
  };
}

/** The agent's release check as one process runs it, with its state in `dataDir`. */
async function startStation(
  { fetchFile }: Pick<ReturnType<typeof createServer>, 'fetchFile'>,
  dataDir: string,
  options: { configured?: readonly ReleaseSigner[]; disk?: Disk } = {},
) {
  const { configured = [a], disk = nodeDisk } = options;
  const logger = createLogger({ catalogue, clock: systemClock, level: 'error', secrets: [], write: () => undefined });
  const common = {
    disk,
    dataDir,
    clock: systemClock,
    logger,
    bootId: 'boot',
    keepReleases: 1,
    probationMs: 0,
    stabilizationMs: 0,
    newId: () => 'id',
  };
  if ((await readJournal(nodeDisk, dataDir)).kind === 'missing') await writeJournal(nodeDisk, dataDir, emptyJournal);
  // With a journal on disk the engine is not asked.
  const keeper = createJournalKeeper({ ...common, engine: {} as never });
  await keeper.load();
  const keys = createUpdateKeys({ ...common, configured: configured.map(keyOf) });
  const url = new URL('https://releases.test/manifest.json');
  const source = createReleaseSource({
    url,
    keys,
    fetchFile,
    services: async () => ({ running: Object.keys(images), declared: Object.keys(images) }),
  });
  const poll = createReleasePoll({
    keeper,
    source,
    clock: systemClock,
    logger,
    conditions: createAgentConditions(systemClock, logger),
    isClockRight: async () => null,
    stationId: 'station',
    agentVersion: '1.0.0',
    random: () => 0.5,
    isAutomatic: () => true,
    bootstrapOnStart: true,
    checkIntervalMs: 60_000,
    isMaintenanceTime: () => true,
  });
  /** The version of the accepted manifest, or why there is none. */
  const outcome = (
    answer: Exclude<ReleaseCheck, { kind: 'ok' }> | { kind: 'ok'; manifest: { version: string } },
  ): string => (answer.kind === 'ok' ? answer.manifest.version : answer.reason);
  return {
    check: async () => outcome(await poll.check(signal)),
    find: async (version: string) => outcome(await source.find(version, signal)),
    trusted: async () => (await keys.trusted()).map(({ text }) => text),
    highest: () => keeper.journal().highestSignedVersion,
    /** Milliseconds until the next check. */
    pauseMs: () => poll.dueMs() - systemClock.monotonic(),
  };
}

function keyOf({ publicKey }: ReleaseSigner): SigningKey {
  const key = parseSigningKey(publicKey);
  assert.ok(key);
  return key;
}

type Pair = { manifest: Uint8Array; signature: Uint8Array };
const half = (bytes: Uint8Array): Uint8Array => bytes.subarray(0, bytes.length / 2);

/** What a station meets between the uploads of two files, or behind caches that keep them apart. */
describe('files of a release that do not fit', () => {
  for (const [what, mix] of [
    ['a manifest and an older signature', (old: Pair, next: Pair) => ({ ...next, signature: old.signature })],
    ['half a manifest', (_: Pair, next: Pair) => ({ ...next, manifest: half(next.manifest) })],
    ['half a signature', (_: Pair, next: Pair) => ({ ...next, signature: half(next.signature) })],
  ] as const)
    it(`are not believed, and asked for again soon: ${what}`, async () => {
      await using folder = await openFolder();
      const server = createServer();
      const station = await startStation(server, folder.path);
      const published = (version: string): Pair => {
        server.publish(version, a);
        const manifest = server.files.get('/manifest.json');
        const signature = server.files.get('/manifest.json.minisig');
        assert.ok(manifest && signature);
        return { manifest, signature };
      };
      const old = published('2.0.0');
      assert.equal(await station.check(), '2.0.0');
      assert.ok(station.pauseMs() > 50_000);
      const mixed = mix(old, published('2.1.0'));
      server.files.set('/manifest.json', mixed.manifest).set('/manifest.json.minisig', mixed.signature);
      assert.match(await station.check(), /^(the signature does not verify|not JSON)$/);
      assert.ok(station.pauseMs() <= 15_000);
      // What stays wrong is asked for ever less.
      for (let checks = 0; checks < 4; checks += 1) await station.check();
      assert.ok(station.pauseMs() > 50_000);
      assert.equal(station.highest(), '2.0.0');
      published('2.1.0');
      assert.equal(await station.check(), '2.1.0');
    });
});

const openFolder = () => mkdtempDisposable(join(tmpdir(), 'rotation-'));
const notTrusted = /^signed with the key [0-9A-F]{1,16}, which this station does not trust$/;

describe('several keys', () => {
  it('each verify a manifest; any other key is refused by its id', async () => {
    await using folder = await openFolder();
    const server = createServer();
    const station = await startStation(server, folder.path, { configured: [a, b] });
    for (const [version, signer] of [
      ['2.0.0', a],
      ['2.1.0', b],
      ['2.2.0', a],
    ] as const) {
      server.publish(version, signer);
      assert.equal(await station.check(), version);
    }
    server.publishByName('1.0.0', b);
    assert.equal(await station.find('1.0.0'), '1.0.0');
    server.publish('2.3.0', other);
    assert.match(await station.check(), notTrusted);
    server.publishByName('1.0.0', other);
    assert.match(await station.find('1.0.0'), notTrusted);
  });
});

describe('a key that a signed manifest names', () => {
  it('signs later manifests, old ones by name, and may name the next key', async () => {
    await using folder = await openFolder();
    const server = createServer();
    let station = await startStation(server, folder.path);
    server.publish('2.0.0', b);
    assert.match(await station.check(), notTrusted);
    server.publish('2.0.0', a, naming(b));
    assert.equal(await station.check(), '2.0.0');
    server.publish('2.0.0', b);
    assert.equal(await station.check(), '2.0.0');
    station = await startStation(server, folder.path);
    server.publish('2.1.0', b, naming(c));
    assert.equal(await station.check(), '2.1.0');
    server.publish('2.2.0', c);
    assert.equal(await station.check(), '2.2.0');
    server.publishByName('1.9.0', c);
    assert.equal(await station.find('1.9.0'), '1.9.0');
    server.publish('2.3.0', a);
    assert.equal(await station.check(), '2.3.0');
  });

  it('is not believed in an older manifest, one asked for by name, or one of another key', async () => {
    await using folder = await openFolder();
    const server = createServer();
    const station = await startStation(server, folder.path);
    server.publish('2.1.0', a);
    assert.equal(await station.check(), '2.1.0');
    server.publish('2.0.0', a, naming(b));
    assert.match(await station.check(), /older/);
    server.publishByName('2.0.0', a, naming(b));
    assert.equal(await station.find('2.0.0'), '2.0.0');
    server.publish('2.2.0', other, naming(b));
    assert.match(await station.check(), notTrusted);
    assert.deepEqual(await station.trusted(), [a.publicKey]);
  });

  it('must be a key, or the whole manifest is rejected', async () => {
    await using folder = await openFolder();
    const server = createServer();
    const station = await startStation(server, folder.path);
    server.publish('2.0.0', a, { nextPublicKey: b.publicKey.slice(1) });
    assert.match(await station.check(), /nextPublicKey is not the base64 line of a minisign public key/);
    assert.deepEqual([station.highest(), await station.trusted()], [null, [a.publicKey]]);
  });

  it('is found by a station that was off during the whole rotation, also during several', async () => {
    await using folder = await openFolder();
    const server = createServer();
    const station = await startStation(server, folder.path);
    server.publish('2.0.0', a);
    assert.equal(await station.check(), '2.0.0');
    server.keepNaming('2.1.0', a, b);
    server.keepNaming('2.3.0', b, c);
    server.publish('2.4.0', c);
    assert.equal(await station.check(), '2.4.0');
    assert.deepEqual(await station.trusted(), [a.publicKey, b.publicKey, c.publicKey]);
  });

  it('is not followed from an old manifest, from one of another key, or round in a circle', async () => {
    await using folder = await openFolder();
    const server = createServer();
    const station = await startStation(server, folder.path);
    server.publish('2.2.0', a);
    assert.equal(await station.check(), '2.2.0');
    server.publish('2.3.0', c);
    server.keepNaming('2.1.0', a, c);
    assert.match(await station.check(), notTrusted);
    server.keepNaming('2.3.0', other, c, pathOf(a));
    assert.match(await station.check(), notTrusted);
    assert.deepEqual(await station.trusted(), [a.publicKey]);
    server.keepNaming('2.3.0', a, b);
    server.keepNaming('2.3.0', b, a);
    assert.match(await station.check(), notTrusted);
    assert.deepEqual(await station.trusted(), [a.publicKey, b.publicKey]);
  });

  it('is looked for at no more than eight addresses, and only for a key that is not known', async () => {
    await using folder = await openFolder();
    const server = createServer();
    const asked: string[] = [];
    const fetchFile: FetchFile = (url, options) => {
      if (/^\/keys\/.*json$/.test(url.pathname)) asked.push(url.pathname);
      return server.fetchFile(url, options);
    };
    const station = await startStation({ fetchFile }, folder.path);
    const chain = [a, ...Array.from({ length: 12 }, newSigner)];
    for (const [index, signer] of chain.slice(0, -1).entries()) server.keepNaming('2.0.0', signer, chain[index + 1]!);
    server.publish('2.0.0', chain.at(-1)!);
    assert.match(await station.check(), notTrusted);
    assert.deepEqual(asked, chain.slice(0, 8).map(pathOf));
    server.publish('2.0.0', a);
    assert.equal(await station.check(), '2.0.0');
    assert.equal(asked.length, 8);
  });

  it('is forgotten when UPDATE_PUBLIC_KEY changes', async () => {
    await using folder = await openFolder();
    const server = createServer();
    server.publish('2.0.0', a, naming(b));
    assert.equal(await (await startStation(server, folder.path)).check(), '2.0.0');
    const changed = await startStation(server, folder.path, { configured: [c] });
    server.publish('2.1.0', b);
    assert.match(await changed.check(), notTrusted);
    server.publish('2.1.0', c);
    assert.equal(await changed.check(), '2.1.0');
  });

  it('is on disk before the manifest counts as seen, wherever the process ends', async () => {
    const server = createServer();
    server.publish('2.0.0', a, naming(b));
    let isDone = false;
    for (let operations = 0; !isDone; operations += 1) {
      await using folder = await openFolder();
      const { disk, stop } = limited(operations);
      isDone = await startStation(server, folder.path, { disk })
        .then(({ check }) => check())
        .then(
          () => !stop.aborted,
          () => false,
        );
      const next = await startStation(server, folder.path);
      const isKnown = (await next.trusted()).includes(b.publicKey);
      assert.ok(next.highest() === null || isKnown, `after ${operations} operations`);
      assert.ok(operations < 100);
      assert.equal(await next.check(), '2.0.0');
      assert.deepEqual([next.highest(), await next.trusted()], ['2.0.0', [a.publicKey, b.publicKey]]);
    }
  });
});

/** A disk that carries out so many operations; then the process is dead. */
function limited(operations: number): { disk: Disk; stop: AbortSignal } {
  const stop = new AbortController();
  let left = operations;
  const limit =
    <A extends unknown[], R>(operate: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (left === 0) stop.abort(new Error('the process is dead'));
      stop.signal.throwIfAborted();
      left -= 1;
      return operate(...args);
    };
  const { read, list, makeDirectory, write, sync, rename, remove } = nodeDisk;
  const disk: Disk = {
    read: limit(read),
    list: limit(list),
    makeDirectory: limit(makeDirectory),
    write: limit(write),
    sync: limit(sync),
    rename: limit(rename),
    remove: limit(remove),
  };
  return { disk, stop: stop.signal };
}
