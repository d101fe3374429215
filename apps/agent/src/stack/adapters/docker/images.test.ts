import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiAnswer, EngineApi } from './engine-api.ts';
import { createPullMeter, imageId, isInsecure, pull, type PullLine, removeImage } from './images.ts';

// Answers that an engine gives only in trouble; the rest is shown on a real one (e2e update).
function createApi(answers: Record<string, ApiAnswer>) {
  const calls: string[] = [];
  const call: EngineApi['call'] = async (method, path, { query = {} } = {}) => {
    const name = `${method} ${path}`;
    calls.push(method === 'DELETE' && query['v'] === 'true' ? `${name} with its volumes` : name);
    const answer = answers[name];
    assert.ok(answer, name);
    return answer;
  };
  return { api: { call } as EngineApi, calls };
}

const using = (...labels: Record<string, string>[]) => ({
  'GET /containers/json': {
    status: 200,
    body: labels.map((Labels, index) => ({ Id: `c${index}`, ImageID: 'sha256:1', Labels })),
  },
});
const own = { 'com.docker.compose.project': 'station' };
const removed = {
  'DELETE /images/caddy': { status: 200, body: [] },
  'DELETE /containers/c0': { status: 204, body: null },
};

for (const [user, labels] of [
  ['another Compose project', { 'com.docker.compose.project': 'neighbour' }],
  ['another station', { 'station.pin': 'neighbour' }],
  ['somebody without Compose', {}],
] as const) {
  test(`an image that ${user} uses stays, with the container that uses it`, async () => {
    const { api, calls } = createApi(using(own, labels));
    assert.equal(await removeImage(api, 'station', 'caddy', true), 'in_use');
    assert.deepEqual(calls, ['GET /containers/json']);
  });
}

test('an image that only this project uses goes with what stands on it', async () => {
  // The volumes of a pin are nobody's; those of the stack's own container are the data of a service.
  for (const [labels, removal] of [
    [own, 'DELETE /containers/c0'],
    [{ 'station.pin': 'station' }, 'DELETE /containers/c0 with its volumes'],
    [{ ...own, 'station.pin': 'station' }, 'DELETE /containers/c0'],
  ] as const) {
    const { api, calls } = createApi({ ...using(labels), ...removed });
    assert.equal(await removeImage(api, 'station', 'caddy', true), 'removed');
    assert.deepEqual(calls.slice(1), [removal, 'DELETE /images/caddy']);
  }
});

const pinned = `sha256:${'d'.repeat(64)}`;
const listed = (...images: object[]) => ({ 'GET /images/json': { status: 200, body: images } });

test('a damaged image goes with all its names, or the next pull would reuse its layers', async () => {
  const damaged = {
    Id: 'sha256:1',
    RepoTags: ['foreign:1', 'registry.test/station/proxy:2'],
    RepoDigests: [`registry.test/station/backend@${pinned}`],
  };
  for (const reference of ['registry.test/station/proxy:2', `registry.test/station/backend:1.0.0@${pinned}`]) {
    const { api, calls } = createApi({
      ...listed({ Id: 'sha256:0', RepoTags: null }, damaged),
      ...using(),
      'DELETE /images/sha256%3A1': { status: 200, body: [] },
    });
    assert.equal(await removeImage(api, 'station', reference, true), 'removed');
    assert.equal(calls.at(-1), 'DELETE /images/sha256%3A1');
  }
});

test('a damaged image of docker.io is found by any way to write its name', async () => {
  for (const [reference, RepoTags] of [
    ['docker.io/station/proxy:2', ['station/proxy:2']],
    ['docker.io/library/caddy:2', ['caddy:2']],
    ['station/proxy:2', ['docker.io/station/proxy:2']],
  ] as const) {
    const { api, calls } = createApi({
      ...listed(
        { Id: 'sha256:0', RepoTags: ['<none>:<none>', 'registry.test/station/proxy:2'] },
        { Id: 'sha256:1', RepoTags },
      ),
      ...using(),
      'DELETE /images/sha256%3A1': { status: 200, body: [] },
    });
    assert.equal(await removeImage(api, 'station', reference, true), 'removed');
    assert.equal(calls.at(-1), 'DELETE /images/sha256%3A1', reference);
  }
});

test('an image that can be read keeps its other names', async () => {
  const { api, calls } = createApi({ ...using(), 'DELETE /images/caddy%3A2': { status: 200, body: [] } });
  assert.equal(await removeImage(api, 'station', 'caddy:2', false), 'removed');
  assert.deepEqual(calls, ['GET /containers/json', 'DELETE /images/caddy%3A2']);
});

test('an image stays while the engine cannot report what uses it', async () => {
  for (const answer of [
    { status: 500, body: { message: 'no' } },
    { status: 200, body: { message: '' } },
  ]) {
    const { api, calls } = createApi({ 'GET /containers/json': answer, ...removed });
    assert.equal(await removeImage(api, 'station', 'caddy', true), 'in_use');
    assert.equal(calls.length, 1);
  }
});

test('an image is absent when the engine reports that, or cannot use it; not when the engine fails', async () => {
  const broken = { status: 500, body: { message: 'input/output error' } };
  const cases: [Record<string, ApiAnswer>, string | null][] = [
    [{ 'GET /images/caddy/json': { status: 200, body: { Id: 'sha256:1' } } }, 'sha256:1'],
    [{ 'GET /images/caddy/json': { status: 404, body: null } }, null],
    [{ 'GET /images/caddy/json': broken, 'GET /version': { status: 200, body: { Os: 'linux', Arch: 'arm64' } } }, null],
    [{ 'GET /images/caddy/json': broken, 'GET /version': broken }, 'throws'],
    [{ 'GET /images/caddy/json': { status: 400, body: { message: 'no' } } }, null],
    [{ 'GET /images/caddy/json': { status: 200, body: {} } }, 'throws'],
  ];
  for (const [answers, expected] of cases) {
    const answer = imageId(createApi(answers).api, 'caddy');
    if (expected === 'throws') await assert.rejects(answer, { code: 'unavailable' });
    else assert.equal(await answer, expected);
  }
});

const digest = (start: string): string => `sha256:${start.padEnd(64, '0')}`;
const sizes = { [digest('aaaaaaaaaaaa')]: 1000, [digest('bbbbbbbbbbbb')]: 3000 };
const downloading = (id: string, current: number, total: number): PullLine => ({
  id,
  status: 'Downloading',
  progressDetail: { current, total },
});

test('counts layers by their bytes, from the sizes of the registry', () => {
  const meter = createPullMeter(sizes);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: 4000 });
  meter.add(downloading('bbbbbbbbbbbb', 1500, 3000));
  assert.deepEqual(meter.read(), { doneBytes: 1500, totalBytes: 4000 });
  meter.add({ id: 'aaaaaaaaaaaa', status: 'Already exists' });
  assert.deepEqual(meter.read(), { doneBytes: 2500, totalBytes: 4000 });
  meter.add({ id: 'bbbbbbbbbbbb', status: 'Download complete' });
  assert.deepEqual(meter.read(), { doneBytes: 4000, totalBytes: 4000 });
});

const announced = [
  ['a', 'Pulling fs layer'],
  ['b', 'Pulling fs layer'],
] as const;
for (const [what, isDelivered, lines] of [
  ['nothing is fetched', false, []],
  ['the first layer is still fetched', false, [['b', 'Download complete']]],
  [
    'the first layer is fetched, the second not',
    true,
    [
      ['a', 'Download complete'],
      ['b', 'Downloading'],
    ],
  ],
  [
    'the first layer is stored, the second still fetched',
    false,
    [
      ['a', 'Pull complete'],
      ['b', 'Downloading'],
    ],
  ],
  [
    'the second layer is unpacked',
    true,
    [
      ['a', 'Already exists'],
      ['b', 'Extracting'],
    ],
  ],
  [
    'a checksum is verified',
    false,
    [
      ['a', 'Already exists'],
      ['b', 'Verifying Checksum'],
    ],
  ],
  [
    'a layer is fetched again',
    false,
    [
      ['a', 'Download complete'],
      ['a', 'Downloading'],
    ],
  ],
  [
    'every layer is stored',
    true,
    [
      ['a', 'Already exists'],
      ['b', 'Pull complete'],
    ],
  ],
] as const) {
  test(`${isDelivered ? 'blames' : 'does not blame'} the engine for a pull that ends when ${what}`, () => {
    // With the list of the registry, and without.
    for (const meter of [createPullMeter(sizes), createPullMeter({})]) {
      assert.equal(meter.isNextDelivered(), false);
      for (const [id, status] of [...announced, ...lines]) meter.add({ id: id.repeat(12), status });
      assert.equal(meter.isNextDelivered(), isDelivered);
    }
  });
}

test('never goes back when a layer is fetched again', () => {
  const meter = createPullMeter(sizes);
  meter.add(downloading('bbbbbbbbbbbb', 2000, 3000));
  meter.add(downloading('bbbbbbbbbbbb', 100, 3000));
  assert.equal(meter.read().doneBytes, 2000);
});

test('has no total until the size of every layer is known', () => {
  const meter = createPullMeter({});
  assert.equal(meter.read().totalBytes, null);
  meter.add({ id: 'aaaaaaaaaaaa', status: 'Pulling fs layer' });
  meter.add(downloading('bbbbbbbbbbbb', 10, 50));
  assert.deepEqual(meter.read(), { doneBytes: 10, totalBytes: null });
  meter.add(downloading('aaaaaaaaaaaa', 5, 20));
  assert.deepEqual(meter.read(), { doneBytes: 15, totalBytes: 70 });
});

test('passes over lines that are about no layer', () => {
  const meter = createPullMeter(sizes);
  for (const line of [{ status: 'Pulling from a/b', id: '1.0.0' }, { status: 'Digest: sha256:…' }, {}]) meter.add(line);
  assert.deepEqual(meter.read(), { doneBytes: 0, totalBytes: 4000 });
});

const { signal } = new AbortController();

/** A pull that ends with this line. @param RepoDigests of the image afterwards. */
async function pullOf(reference: string, line: PullLine, RepoDigests: readonly string[] = []) {
  const body = { Id: 'sha256:1', RepoDigests };
  const { api } = createApi({
    [`GET /images/${encodeURIComponent(reference)}/json`]: { status: 200, body },
    'GET /version': { status: 200, body: { Os: 'linux', Arch: 'arm64' } },
  });
  const lines: EngineApi['lines'] = async (_method, _path, onLine) => {
    onLine(line);
    return { status: 200, body: null };
  };
  const info = async () => ({ DockerRootDir: '/', OSType: 'linux' });
  const options = { credentials: null, sizes: {}, onProgress: () => undefined, signal };
  return pull({ ...api, lines }, info, reference, options);
}

test('a fetched image has its digest, however its name and that of docker.io are written', async () => {
  for (const [reference, name] of [
    ['registry.test:5000/station/web:1', 'registry.test:5000/station/web'],
    ['station/web:1', 'station/web'],
    ['docker.io/station/web:1', 'station/web'],
    ['docker.io/library/caddy:2', 'caddy'],
    ['station/web:1', 'docker.io/station/web'],
  ] as const) {
    const foreign = [`registry.test/station/web@${pinned}`, `station/web-2@${pinned}`];
    const answer = await pullOf(reference, { status: 'Digest: …' }, [...foreign, `${name}@${pinned}`]);
    assert.deepEqual(answer, { kind: 'ok', imageId: 'sha256:1', digest: `${name}@${pinned}` }, reference);
  }
});

test('a pull that a disk refuses, or that cannot be unpacked, is told as that, in the words of every store of images', async () => {
  for (const [error, code] of [
    ['write /var/lib/docker/tmp/GetImageBlob1: no space left on device', 'disk_space_low'],
    [
      'failed to extract layer sha256:1: mount callback failed on /var/lib/containerd/tmpmounts/1: failed to write file: No space left on device: unknown',
      'disk_space_low',
    ],
    ['open /var/lib/docker/tmp/GetImageBlob1: read-only file system', 'engine_storage_failed'],
    [
      'failed to prepare extraction snapshot "extract-1 sha256:1": mkdir /var/lib/containerd/x: read-only file system: unknown',
      'engine_storage_failed',
    ],
    ['failed to register layer: write /usr/lib/libc.so: input/output error', 'engine_storage_failed'],
    [
      'failed to extract layer sha256:1: failed to get reader from content store: blob sha256:2 expected at /var/lib/containerd/blobs/sha256/2: blob not found: not found',
      'engine_storage_failed',
    ],
    ['failed to prepare extraction snapshot "extract-1 sha256:1": parent snapshot: not found', 'engine_storage_failed'],
    ['lstat /var/lib/docker/overlay2/1: structure needs cleaning', 'engine_storage_failed'],
    ['Get "https://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused', 'registry_unavailable'],
    [
      'Get "https://127.0.0.1:1/v2/": dial tcp: lookup registry.test on 192.0.2.1:53: no such host',
      'registry_unavailable',
    ],
    [
      'failed to resolve reference "127.0.0.1:1/web:1": failed to do request: tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
      'registry_unavailable',
    ],
  ] as const) {
    const answer = await pullOf('127.0.0.1:1/web:1', { error });
    assert.ok(answer.kind === 'failed');
    assert.deepEqual([answer.code, answer.detail], [code, error]);
  }
});

test('a registry is asked without TLS where the engine may be: by its name, or in a subnet of its configuration', () => {
  // As Docker 28 tells of `"insecure-registries": ["nas.example:5000", "192.168.0.0/16"]`.
  const RegistryConfig = {
    IndexConfigs: { 'docker.io': { Secure: true }, 'nas.example:5000': { Secure: false } },
    InsecureRegistryCIDRs: ['::1/128', 'fd00::/8', '127.0.0.0/8', '192.168.0.0/16'],
  };
  const asked = [
    'nas.example:5000',
    '192.168.7.9:5000',
    '127.0.0.1:5000',
    'localhost:5000',
    '[::1]:5000',
    '[fd12::5]:5000',
  ];
  for (const registry of asked) assert.equal(isInsecure(registry, { RegistryConfig }), true, registry);
  for (const registry of ['docker.io', 'nas.example', '192.169.0.1:5000', '[fe80::1]:5000', 'ghcr.io'])
    assert.equal(isInsecure(registry, { RegistryConfig }), false, registry);
  assert.equal(isInsecure('192.168.7.9', { RegistryConfig: { InsecureRegistryCIDRs: null } }), false);
  assert.equal(isInsecure('192.168.7.9', {}), false);
});
