import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { parseSigningKey } from '@station/protocol/signing-key';
import { createReleaseSigner } from '@station/simulators/releases/release-signer';
import { createReleaseSource, type ReleaseSourceParts } from './release-source.ts';

const signal = new AbortController().signal;
const stackServices = { running: ['backend', 'frontend'], declared: ['backend', 'frontend'] };
const images = { backend: 'registry.test/backend:2.0.0', frontend: 'registry.test/frontend:2.0.0' };

/** A release server with one manifest, which it gives out once to whoever names its ETag. */
function serve(manifest: object, services: ReleaseSourceParts['services']) {
  return createReleaseSource({
    url: new URL('https://releases.test/manifest.json'),
    keys: null,
    fetchFile: async (_, { etag }) =>
      etag === '"1"'
        ? { kind: 'not_modified' }
        : {
            kind: 'ok',
            bytes: new TextEncoder().encode(JSON.stringify(manifest)),
            etag: '"1"',
            url: 'https://releases.test/',
          },
    services,
  });
}

test('a manifest that has not changed is not read again', async () => {
  const source = serve({ version: '2.0.0', images }, async () => stackServices);
  const first = await source.check(null, signal);
  assert.deepEqual([first.kind, first.kind === 'ok' && first.changed], ['ok', true]);
  const second = await source.check(null, signal);
  assert.deepEqual([second.kind, second.kind === 'ok' && second.changed], ['ok', false]);
});

test('a manifest whose services could not be checked is not followed, and is checked as soon as they can be', async () => {
  let isReadable = false;
  const source = serve({ version: '2.0.0', images: { ...images, database: 'a:1' } }, async () => {
    if (isReadable) return stackServices;
    throw new StationError('compose_project_unreadable', 'The compose project cannot be read: line 7');
  });
  assert.deepEqual(await source.check(null, signal), {
    kind: 'unavailable',
    reason: 'its services cannot be checked: The compose project cannot be read: line 7',
  });
  assert.equal(source.latest(), null);
  isReadable = true;
  const answer = await source.check(null, signal);
  assert.match(answer.kind === 'rejected' ? answer.reason : answer.kind, /"database"/);
  assert.equal(source.latest(), null);
});

test('a manifest that is none is rejected also while the services cannot be read', async () => {
  const source = serve({ version: 'latest', images }, () => Promise.reject(new Error('away')));
  assert.equal((await source.check(null, signal)).kind, 'rejected');
});

/** A server with some files, of which only the signed ones have a signature beside them. */
function serveSigned(files: Record<string, { body: object; isSigned: boolean }>) {
  const signer = createReleaseSigner(generateKeyPairSync('ed25519').privateKey);
  const key = parseSigningKey(signer.publicKey);
  assert.ok(key);
  const bytesOf = (path: string): string | null => {
    const signed = path.endsWith('.minisig');
    const file = files[signed ? path.slice(0, -'.minisig'.length) : path];
    if (file === undefined || (signed && !file.isSigned)) return null;
    const content = JSON.stringify(file.body);
    return signed ? signer.sign(Buffer.from(content)) : content;
  };
  return createReleaseSource({
    url: new URL('https://releases.test/stable/manifest.json?token=x'),
    keys: { trusted: async () => [key], learn: () => Promise.reject(new Error('no manifest names a key')) },
    fetchFile: async ({ pathname, href }) => {
      const bytes = bytesOf(pathname);
      if (bytes === null) return { kind: 'unavailable', reason: 'HTTP status 404', missing: true };
      return { kind: 'ok', bytes: Buffer.from(bytes), etag: null, url: href };
    },
    services: async () => stackServices,
  });
}

test('another version is found by its own signed manifest, also an older one', async () => {
  const of = (version: string, isSigned = true) => ({ body: { version, images }, isSigned });
  const source = serveSigned({
    '/stable/manifest.json': of('2.0.0'),
    '/stable/releases/1.9.0.json': of('1.9.0'),
    '/stable/releases/1.8.0.json': of('1.8.0', false),
    '/stable/releases/1.7.0.json': of('1.9.0'),
    '/stable/releases/1.6.0%2Bfix.json': of('1.6.0+fix'),
    '/stable/releases/1.5.0.json': {
      body: { version: '1.5.0', images: { ...images, database: 'a:1' } },
      isSigned: true,
    },
  });
  assert.equal((await source.check('2.0.0', signal)).kind, 'ok');
  for (const [version, expected] of [
    ['1.9.0', '1.9.0'],
    ['1.6.0+fix', '1.6.0+fix'],
    ['1.8.0', 'signature: HTTP status 404'],
    ['1.7.0', 'it is the manifest of 1.9.0'],
    ['1.4.0', 'HTTP status 404'],
  ] as const) {
    const found = await source.find(version, signal);
    assert.equal(found.kind === 'ok' ? found.manifest.version : found.reason, expected, version);
  }
  const strange = await source.find('1.5.0', signal);
  assert.match(strange.kind === 'ok' ? '' : strange.reason, /"database"/);
  assert.equal(source.latest()?.version, '2.0.0');
});

test('only a manifest without a key over http:// from another machine can be forged', () => {
  const isForgeable = (url: string): boolean => {
    const parts = { fetchFile: async () => ({ kind: 'not_modified' as const }), services: async () => stackServices };
    return createReleaseSource({ url: new URL(url), keys: null, ...parts }).isForgeable;
  };
  for (const url of ['http://releases.test/a.json', 'http://192.168.1.2/a.json', 'http://127.0.0.1.example/a.json'])
    assert.ok(isForgeable(url), url);
  for (const url of [
    'https://releases.test/a.json',
    'file:///media/usb/a.json',
    'http://127.0.0.1:8/a.json',
    'http://[::1]/',
  ])
    assert.ok(!isForgeable(url), url);
  assert.ok(!serveSigned({}).isForgeable);
});
