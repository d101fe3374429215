import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseImageReference } from './image-reference.ts';
import { imagesAtVersion, readReleaseManifest } from './release-manifest.ts';

const digest = `sha256:${'ab'.repeat(32)}`;
const bytes = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const good = {
  version: '1.2.3',
  images: { backend: 'ghcr.example/station/backend:1.2.3', frontend: 'frontend:1.2.3' },
};

const services = { running: ['backend', 'frontend', 'proxy'], declared: ['backend', 'frontend', 'proxy', 'cache'] };

for (const [name, images] of Object.entries({
  'the backend alone': { backend: 'a:1' },
  'the frontend alone': { frontend: 'a:1' },
  'a service of its own': { proxy: 'a:1' },
  'a service that is switched off here': { ...good.images, cache: 'a:1' },
  'a service of the product that the owner has removed': { ...good.images, postgres: 'a:1' },
})) {
  test(`accepts a manifest that names ${name}`, () => {
    const reading = readReleaseManifest(bytes({ ...good, images }), services);
    assert.deepEqual(reading.kind === 'ok' && reading.manifest.images, images);
  });
}

test('reads a manifest and ignores unknown keys', () => {
  const reading = readReleaseManifest(bytes({ ...good, version: 'v1.2.3', later: true }), services);
  assert.deepEqual(reading, {
    kind: 'ok',
    manifest: { ...good, notes: null, releasedAt: null, minAgentVersion: null, rollout: 100, nextPublicKey: null },
  });
});

test('a key whose value is null counts as absent', () => {
  const optional = { notes: null, releasedAt: null, minAgentVersion: null, rollout: null, nextPublicKey: null };
  const reading = readReleaseManifest(bytes({ ...good, ...optional }), services);
  assert.deepEqual(reading, readReleaseManifest(bytes(good), services));
  assert.equal(readReleaseManifest(bytes({ ...good, version: null }), services).kind, 'rejected');
  assert.equal(readReleaseManifest(bytes({ ...good, images: { backend: null } }), services).kind, 'rejected');
});

for (const [name, body] of Object.entries({
  'text that is not JSON': '{"version":',
  'an array': [],
  'a version that is not SemVer': { ...good, version: '1.2' },
  'no images': { ...good, images: {} },
  'only a service that is switched off here': { ...good, images: { cache: 'a:1' } },
  'only a service that the owner has removed': { ...good, images: { postgres: 'a:1' } },
  'an unknown service': { ...good, images: { ...good.images, extra: 'a:1' } },
  'an option in place of a reference': { ...good, images: { ...good.images, backend: '--privileged' } },
  'a path in place of a reference': { ...good, images: { ...good.images, backend: '../x' } },
  'a reference without tag or digest': { ...good, images: { ...good.images, backend: 'backend' } },
  'a service name with a line break': { ...good, images: { ...good.images, 'a\nb': 'a:1' } },
  'a rollout over 100': { ...good, rollout: 101 },
  'more than 1 MiB': { ...good, padding: 'x'.repeat(1024 * 1024) },
})) {
  test(`rejects a manifest with ${name}`, () => {
    assert.equal(readReleaseManifest(bytes(body), services).kind, 'rejected');
  });
}

test('reads the next public key, and rejects a malformed one by name', () => {
  const key = Buffer.concat([Buffer.from('Ed'), Buffer.alloc(40, 7)]).toString('base64');
  const read = (nextPublicKey: unknown) => readReleaseManifest(bytes({ ...good, nextPublicKey }), null);
  const reading = read(key);
  assert.equal(reading.kind === 'ok' && reading.manifest.nextPublicKey, key);
  const malformed = [
    '',
    'RWQ',
    key.slice(1),
    `${key}=`,
    `${key}\n`,
    `untrusted comment: x\n${key}`,
    `${key},${key}`,
    key.replace('RW', 'RX'),
    'x'.repeat(10_000),
    7,
    [key],
  ];
  for (const text of malformed) {
    const answer = read(text);
    assert.match(answer.kind === 'rejected' ? answer.reason : '', /nextPublicKey/, JSON.stringify(text));
  }
});

test('reads references with host, port, tag and digest', () => {
  assert.deepEqual(parseImageReference(`127.0.0.1:5000/a/b:1.0@${digest}`), {
    text: `127.0.0.1:5000/a/b:1.0@${digest}`,
    registry: '127.0.0.1:5000',
    repository: 'a/b',
    name: '127.0.0.1:5000/a/b',
    tag: '1.0',
    digest,
  });
  assert.equal(parseImageReference('postgres:15')?.repository, 'library/postgres');
  for (const text of ['someone/thing:2', 'docker.io/someone/thing:2', 'index.docker.io/someone/thing:2'])
    assert.equal(parseImageReference(text)?.registry, 'docker.io', text);
  for (const text of ['-x:1', 'A/b:1', 'a:1 ', 'a::1', 'a:1@sha256:12', 'http://a/b:1', 'a/../b:1', 'a:1\n']) {
    assert.equal(parseImageReference(text), null, text);
  }
});

test('says which digest it does not take', () => {
  const read = (backend: string) => readReleaseManifest(bytes({ version: '1.0.0', images: { backend } }), null);
  const reason = 'the image reference of "backend" has a digest that is not sha256';
  for (const other of [`sha512:${'ab'.repeat(64)}`, `blake3:${'ab'.repeat(32)}`])
    assert.deepEqual(read(`a/b:1@${other}`), { kind: 'rejected', reason });
  assert.equal(read(`a/b@${digest}`).kind, 'ok');
});

test('derives the images of another version, unless one is pinned by digest only', () => {
  const reading = readReleaseManifest(bytes(good), null);
  assert.equal(reading.kind, 'ok');
  if (reading.kind !== 'ok') return;
  assert.deepEqual(imagesAtVersion(reading.manifest, '1.0.0'), {
    backend: 'ghcr.example/station/backend:1.0.0',
    frontend: 'frontend:1.0.0',
  });
  const pinned = { ...reading.manifest, images: { ...reading.manifest.images, backend: `backend@${digest}` } };
  assert.equal(imagesAtVersion(pinned, '1.0.0'), null);
});
