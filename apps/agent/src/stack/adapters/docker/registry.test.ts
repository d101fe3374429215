import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { makeCertificate } from '@station/simulators/notifications/receivers';
import { trust } from '../../../../testing/trust.ts';
import { readLayers, type RegistryParts } from './registry.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const manifest = { config: { digest, size: 1 }, layers: [{ digest, size: 7 }] };
const { signal } = new AbortController();

async function serve(listener: RequestListener): Promise<AsyncDisposable & { address: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const partsFor = (registry: string): RegistryParts => ({
  credentials: { registry, username: 'somebody', password: 'secret' },
  isInsecure: async () => true,
  platform: async () => ({ os: 'linux', architecture: 'arm64' }),
});

const readFrom = (address: string) => readLayers(`${address}/station/web:1.0.0`, partsFor(address), signal);

const idOf = (body: object): string => `sha256:${createHash('sha256').update(JSON.stringify(body)).digest('hex')}`;

test('a registry that redirects to its storage is followed, without the credentials', async () => {
  const seen: (string | undefined)[] = [];
  await using storage = await serve((request, response) => {
    seen.push(request.headers.authorization);
    response.end(JSON.stringify(manifest));
  });
  await using registry = await serve((request, response) => {
    if (request.headers.authorization === undefined) {
      return response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    }
    response.writeHead(307, { location: `http://${storage.address}/manifest` }).end();
  });
  assert.deepEqual(await readFrom(registry.address), {
    kind: 'ok',
    layers: { [digest]: 7 },
    imageIds: [idOf(manifest), digest],
  });
  assert.deepEqual(seen, [undefined]);
});

test('a server that a registry redirects to gets no password, whatever it asks for', async () => {
  for (const way of ['Basic realm="x"', 'Bearer realm="http://HOST/token",service="s"']) {
    const seen: string[] = [];
    await using other = await serve((request, response) => {
      seen.push(`${request.url} ${request.headers.authorization ?? 'nothing'}`);
      if (request.url?.startsWith('/token')) return response.end(JSON.stringify({ token: 't' }));
      const challenge = way.replace('HOST', request.headers.host ?? '');
      response.writeHead(401, { ...inJson, 'www-authenticate': challenge }).end('{}');
    });
    await using registry = await serve((_, response) =>
      response.writeHead(307, { location: `http://${other.address}/manifest` }).end(),
    );
    const answer = await readFrom(registry.address);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_auth_failed');
    assert.deepEqual(seen, ['/manifest nothing'], way);
  }
});

test('the password of an encrypted registry is sent to no server of tokens in plain text', async () => {
  const asked: string[] = [];
  await using tokens = await serve((request, response) => {
    asked.push(request.headers.authorization ?? 'nothing');
    response.end(JSON.stringify({ token: 't' }));
  });
  const certificate = await makeCertificate();
  using _trusted = trust(certificate.cert);
  const challenge = `Bearer realm="http://${tokens.address}/token",service="s"`;
  const registry = createSecureServer(certificate, (_, response) =>
    response.writeHead(401, { ...inJson, 'www-authenticate': challenge }).end('{}'),
  );
  await once(registry.listen(0, 'localhost'), 'listening');
  try {
    const answer = await readFrom(`localhost:${(registry.address() as AddressInfo).port}`);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_auth_failed');
    assert.deepEqual(asked, []);
  } finally {
    registry.closeAllConnections();
    registry.close();
  }
});

test('a long challenge without a meaning takes no time', async () => {
  await using registry = await serve((_, response) =>
    response.writeHead(401, { ...inJson, 'www-authenticate': `Bearer ${'a'.repeat(15_000)}` }).end('{}'),
  );
  const before = process.cpuUsage();
  assert.deepEqual(await readFrom(registry.address), { kind: 'unknown' });
  const { user } = process.cpuUsage(before);
  assert.ok(user < 200_000, `${user} µs`);
});

test('a registry that asks for a token gets one from its realm, for the platform of the machine', async () => {
  const asked: string[] = [];
  await using registry = await serve((request, response) => {
    const { authorization } = request.headers;
    asked.push(`${request.url} ${authorization ?? ''}`);
    if (request.url?.startsWith('/token')) return response.end(JSON.stringify({ token: 't' }));
    if (authorization !== 'Bearer t') {
      const challenge = `Bearer realm="http://${request.headers.host}/token",service=s,scope="repository:a:pull"`;
      return response.writeHead(401, { 'www-authenticate': challenge }).end('no');
    }
    const platform = { os: 'linux', architecture: 'arm64' };
    const isIndex = request.url?.endsWith('1.0.0');
    response.end(JSON.stringify(isIndex ? { manifests: [{ digest, platform }] } : manifest));
  });
  // Docker's id of it is one of these: that of the index in containerd's store, that of the configuration in the other.
  assert.deepEqual(await readFrom(registry.address), {
    kind: 'ok',
    layers: { [digest]: 7 },
    imageIds: [
      idOf({ manifests: [{ digest, platform: { os: 'linux', architecture: 'arm64' } }] }),
      idOf(manifest),
      digest,
    ],
  });
  const basic = `Basic ${Buffer.from('somebody:secret').toString('base64')}`;
  assert.equal(asked[1], `/token?service=s&scope=repository%3Aa%3Apull ${basic}`);
});

test('a registry that cannot be reached or understood says nothing about the image', async () => {
  for (const answer of ['no JSON', '{}', '[]', 'x'.repeat(5 * 1024 * 1024)]) {
    await using registry = await serve((_, response) => response.end(answer));
    assert.deepEqual(await readFrom(registry.address), { kind: 'unknown' });
  }
  assert.deepEqual(await readFrom('127.0.0.1:1'), { kind: 'unknown' });
});

test('an index that names no platform says nothing about this machine; one that names others does', async () => {
  const other = { os: 'linux', architecture: 's390x' };
  for (const [manifests, kind] of [
    [[{ digest }], 'unknown'],
    [[{ digest, platform: other }, { digest }], 'unknown'],
    [[{ digest, platform: other }], 'failed'],
  ] as const) {
    await using registry = await serve((_, response) => response.end(JSON.stringify({ manifests })));
    assert.equal((await readFrom(registry.address)).kind, kind, JSON.stringify(manifests));
  }
});

test('a stop ends the question with its reason', async () => {
  const stopping = new AbortController();
  await using registry = await serve(() => stopping.abort(new Error('enough')));
  const answer = readLayers(`${registry.address}/web:1`, partsFor(registry.address), stopping.signal);
  await assert.rejects(answer, /enough/);
});

for (const [name, status, expected] of [
  ['refuses', 401, { code: 'registry_auth_failed', transient: false }],
  ['limits requests', 429, { code: 'registry_busy', transient: true, retryAfterMs: 120_000 }],
  ['is out of order', 503, null],
  ['is not there', 404, null],
] as const) {
  test(`a server of tokens that ${name} is told as that`, async () => {
    await using registry = await serve((request, response) => {
      if (request.url?.startsWith('/token')) return response.writeHead(status, { 'retry-after': '120' }).end('no');
      const challenge = `Bearer realm="http://${request.headers.host}/token",service="s",scope="repository:a:pull"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end('no');
    });
    const { kind, ...answer } = (await readFrom(registry.address)) as { kind: string; reason?: string };
    assert.equal(kind, expected === null ? 'unknown' : 'failed');
    if (expected === null) return;
    const { reason, ...facts } = answer;
    assert.deepEqual(facts, expected);
    assert.match(reason ?? '', status === 429 ? /the server of tokens 127\.0\.0\.1:\d+ limits requests/ : /refused/);
  });
}

const inJson = { 'content-type': 'application/json; charset=utf-8' };
for (const [who, status, headers, expected] of [
  ['a registry', 403, inJson, 'registry_auth_failed'],
  ['a registry', 404, inJson, 'image_missing'],
  ['a registry that names no type', 404, {}, 'image_missing'],
  ['a proxy on the way', 403, { 'content-type': 'text/html; charset=UTF-8' }, null],
  ['a proxy on the way', 404, { 'content-type': 'Text/HTML' }, null],
  ['a proxy with nothing behind it', 404, { 'content-type': 'text/plain; charset=utf-8' }, null],
] as const) {
  test(`${status} of ${who} is told as ${expected ?? 'nothing about the image'}`, async () => {
    await using registry = await serve((_, response) => response.writeHead(status, headers).end('no'));
    const answer = await readFrom(registry.address);
    assert.equal(answer.kind === 'failed' ? answer.code : null, expected);
    await using blocked = await serve((request, response) => {
      if (request.url?.startsWith('/token')) return response.writeHead(403, headers).end('no');
      const challenge = `Bearer realm="http://${request.headers.host}/token",service="s",scope="repository:a:pull"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end('no');
    });
    const token = await readFrom(blocked.address);
    assert.equal(token.kind === 'failed' ? token.code : null, expected === null ? null : 'registry_auth_failed');
  });
}

test('a registry that offers several ways gets a token, in whatever order it names them', async () => {
  for (const [before, behind] of [
    ['Basic realm="x, y", ', ''],
    ['', ', Basic realm="Artifactory Realm"'],
    ['Negotiate, ', ', Basic realm="x",charset="UTF-8"'],
  ] as const) {
    await using registry = await serve((request, response) => {
      if (request.url?.startsWith('/token')) return response.end(JSON.stringify({ token: 't' }));
      if (request.headers.authorization === 'Bearer t') return response.end(JSON.stringify(manifest));
      const bearer = `BEARER realm="http://${request.headers.host}/token",service="s"`;
      response.writeHead(401, { 'www-authenticate': before + bearer + behind }).end('no');
    });
    const parts = { ...partsFor(registry.address), credentials: null };
    const answer = await readLayers(`${registry.address}/station/web:1.0.0`, parts, signal);
    assert.equal(answer.kind, 'ok', before + behind);
  }
});

test('without credentials a registry refuses none: the image is private, or not there', async () => {
  await using registry = await serve((_, response) => response.writeHead(401, inJson).end('{}'));
  for (const [credentials, reason] of [
    [null, /needs credentials for station\/web, or does not have it$/],
    [
      { registry: 'other.test', username: 'u', password: 'p' },
      /needs credentials for station\/web, or does not have it$/,
    ],
    [partsFor(registry.address).credentials, /refused the credentials$/],
  ] as const) {
    const parts = { ...partsFor(registry.address), credentials };
    const answer = await readLayers(`${registry.address}/station/web:1.0.0`, parts, signal);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_auth_failed');
    assert.match(answer.reason, reason);
  }
});

test('a registry that limits requests says for how long; without a time it is a minute', async () => {
  for (const [header, retryAfterMs] of [
    ['30', 30_000],
    [undefined, 60_000],
  ] as const) {
    await using registry = await serve((_, response) =>
      response.writeHead(429, header === undefined ? {} : { 'retry-after': header }).end(),
    );
    const answer = await readFrom(registry.address);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_busy' && answer.transient);
    assert.equal(answer.retryAfterMs, retryAfterMs);
  }
});
