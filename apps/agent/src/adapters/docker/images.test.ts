import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiAnswer, EngineApi } from './engine-api.ts';
import { imageId, removeImage } from './images.ts';

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
  ['another station', { 'station.hold': 'neighbour' }],
  ['somebody without Compose', {}],
] as const) {
  test(`an image that ${user} uses is left alone, with the container that uses it`, async () => {
    const { api, calls } = createApi(using(own, labels));
    assert.equal(await removeImage(api, 'station', 'caddy', true), 'in_use');
    assert.deepEqual(calls, ['GET /containers/json']);
  });
}

test('an image that only this project uses goes with what stands on it', async () => {
  // The volumes of a pin are nobody's; those of the stack's own container are the data of a service.
  for (const [labels, removal] of [
    [own, 'DELETE /containers/c0'],
    [{ 'station.hold': 'station' }, 'DELETE /containers/c0 with its volumes'],
    [{ ...own, 'station.hold': 'station' }, 'DELETE /containers/c0'],
  ] as const) {
    const { api, calls } = createApi({ ...using(labels), ...removed });
    assert.equal(await removeImage(api, 'station', 'caddy', true), 'removed');
    assert.deepEqual(calls.slice(1), [removal, 'DELETE /images/caddy']);
  }
});

test('an image is left alone while the engine cannot say who uses it', async () => {
  for (const answer of [
    { status: 500, body: { message: 'no' } },
    { status: 200, body: { message: '' } },
  ]) {
    const { api, calls } = createApi({ 'GET /containers/json': answer, ...removed });
    assert.equal(await removeImage(api, 'station', 'caddy', true), 'in_use');
    assert.equal(calls.length, 1);
  }
});

test('an image is absent when the engine says so, or has one that it cannot use; trouble of the engine is none', async () => {
  const broken = { status: 500, body: { message: 'input/output error' } };
  const cases: [Record<string, ApiAnswer>, string | null][] = [
    [{ 'GET /images/caddy/json': { status: 200, body: { Id: 'sha256:1' } } }, 'sha256:1'],
    [{ 'GET /images/caddy/json': { status: 404, body: null } }, null],
    [{ 'GET /images/caddy/json': broken, 'GET /images/json': { status: 200, body: [{ Id: 'sha256:1' }] } }, null],
    [{ 'GET /images/caddy/json': broken, 'GET /images/json': broken }, 'throws'],
    [{ 'GET /images/caddy/json': { status: 400, body: { message: 'no' } } }, null],
    [{ 'GET /images/caddy/json': { status: 200, body: {} } }, 'throws'],
  ];
  for (const [answers, expected] of cases) {
    const answer = imageId(createApi(answers).api, 'caddy');
    if (expected === 'throws') await assert.rejects(answer, { code: 'unavailable' });
    else assert.equal(await answer, expected);
  }
});
