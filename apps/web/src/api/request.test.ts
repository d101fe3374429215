import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnySend, createSend, pathOf } from './request.ts';

/** A station whose answers are given by path, each with its next page. */
function station(answers: Record<string, [body: unknown, next?: string]>) {
  const asked: string[] = [];
  const fetched = (async (path: string) => {
    asked.push(path);
    const [body, next] = answers[path]!;
    const headers = next === undefined ? {} : { link: `<${next}>; rel="next"` };
    return new Response(JSON.stringify(body), { headers });
  }) as typeof fetch;
  return { send: createSend(fetched, () => undefined), asked };
}

test('a list is read to its last page', async () => {
  const { send, asked } = station({
    '/api/devices': [[1, 2], '/api/devices?after=2'],
    '/api/devices?after=2': [[3], '/api/devices?after=3'],
    '/api/devices?after=3': [[4]],
  });
  assert.deepEqual(await send('GET /api/devices'), [1, 2, 3, 4]);
  assert.equal(asked.length, 3);
});

test('an object continues with the next items of its list', async () => {
  const { send } = station({
    '/api/firmware/rollouts/1': [
      { name: 'first', targets: [1], other: { a: [0] } },
      '/api/firmware/rollouts/1?after=1',
    ],
    '/api/firmware/rollouts/1?after=1': [{ name: 'later', targets: [2, 3], other: { a: [0] } }],
  });
  assert.deepEqual(await send('GET /api/firmware/rollouts/:id', { params: { id: '1' } }), {
    name: 'first',
    targets: [1, 2, 3],
    other: { a: [0] },
  });
});

test('one page is read with the path of the next one', async () => {
  const { send, asked } = station({ '/api/activity?limit=2': [[1, 2], '/api/activity?limit=2&before=2'] });
  const page = await (send as AnySend)('GET /api/activity', { query: { limit: 2 }, page: { at: undefined } });
  assert.deepEqual(page, { items: [1, 2], next: '/api/activity?limit=2&before=2' });
  assert.equal(asked.length, 1);
});

test('a page behind the first one is read at the path that the station named', async () => {
  const at = '/api/activity?limit=2&before=2';
  const { send } = station({ [at]: [[3]] });
  const page = await (send as AnySend)('GET /api/activity', { query: { limit: 2 }, page: { at } });
  assert.deepEqual(page, { items: [3], next: undefined });
});

test('what is sent in a path is encoded, and a query has what is given', () => {
  const params = { externalId: 'a/b?c' };
  assert.equal(pathOf('DELETE /api/unknown-devices/:externalId', { params }), '/api/unknown-devices/a%2Fb%3Fc');
  assert.equal(pathOf('GET /api/activity'), '/api/activity');
  const query = { limit: 40, userId: 'u' };
  assert.equal(pathOf('GET /api/activity', { query }), '/api/activity?limit=40&userId=u');
});

test('a next page on another host is not followed', async () => {
  const { send, asked } = station({ '/api/devices': [[1], 'https://example.org/api/devices'] });
  assert.deepEqual(await send('GET /api/devices'), [1]);
  assert.equal(asked.length, 1);
});
