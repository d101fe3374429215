import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Type } from 'typebox';
import { bearer, owner, runBackend } from '../../testing/running-backend.ts';
import type { HttpServer } from './server.ts';

test('every fault of a request is reported with its JSON pointer, also unknown keys', async () => {
  await using running = await runBackend();
  const payload = { email: 'no-address', name: 7, extra: true, 'sl/ash': 1 };
  const response = await running.http.inject({ method: 'POST', url: '/api/auth/setup', payload });
  assert.equal(response.statusCode, 400);
  const body = response.json();
  assert.equal(body.code, 'validation_failed');
  assert.equal(body.error, 'Bad Request');
  const pointers = body.details.faults
    .map((fault: { in: string; pointer: string }) => `${fault.in} ${fault.pointer}`)
    .sort();
  assert.deepEqual(pointers, [
    'body /code',
    'body /email',
    'body /extra',
    'body /name',
    'body /password',
    'body /sl~1ash',
  ]);
});

test('an undeclared body or query, and a path that is not an id, are refused', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const { http } = running;
  const logout = await http.inject({ method: 'POST', url: '/api/auth/logout', payload: { all: true } });
  assert.deepEqual(logout.json().details.faults, [{ in: 'body', pointer: '/all', message: 'is not a known key' }]);
  const query = await http.inject({ url: '/api/station?verbose=1', headers });
  assert.deepEqual(query.json().details.faults[0].pointer, '/verbose');
  const path = await http.inject({ method: 'DELETE', url: '/api/station/members/42', headers });
  assert.deepEqual(path.json().details.faults[0].in, 'params');
});

test('an id is found in capitals, in the path and in the body', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const send = (method: 'PUT' | 'PATCH' | 'DELETE' | 'POST', url: string, payload?: object) =>
    running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  const zone = (await send('POST', '/api/zones', { name: 'Hall' })).json<{ id: string }>();
  const capitals = zone.id.toUpperCase();
  assert.notEqual(capitals, zone.id);
  assert.equal((await send('PATCH', `/api/zones/${capitals}`, { name: 'Cellar' })).json().id, zone.id);
  assert.equal((await send('PUT', '/api/zones/order', { ids: [capitals] })).statusCode, 204);
  assert.equal((await send('PUT', '/api/zones/order', { ids: [capitals, zone.id] })).statusCode, 400);
  assert.equal((await send('DELETE', `/api/zones/${capitals}`)).statusCode, 204);
});

test('a number that JSON would round is refused: a webhook would name somebody else by it', async () => {
  await using running = await runBackend();
  const headers = { ...bearer((await running.setUp()).accessToken), 'content-type': 'application/json' };
  const send = (id: string) => {
    const config = `{"url":"https://chat.example/send","body":{"to":${id}}}`;
    const node = `{"id":"a","type":"action","data":{"kind":"webhook","config":${config}}}`;
    const payload = `{"name":"Tell","flow":{"nodes":[${node}],"edges":[]}}`;
    return running.http.inject({ method: 'POST', url: '/api/automations', headers, payload });
  };
  for (const id of ['9007199254740993', '-1096382761824387093', '1e300']) {
    const refused = await send(id);
    assert.equal(refused.statusCode, 400, id);
    assert.equal(refused.json().details.faults[0].pointer, '/flow/nodes/0/data/config/body/to');
  }
  for (const id of ['9007199254740991', '-9007199254740991', '0.1', '"1096382761824387093"'])
    assert.equal((await send(id)).statusCode, 201, id);
});

test('a body that is not UTF-8 is refused: it would be kept with other letters than were sent', async () => {
  await using running = await runBackend();
  const headers = { ...bearer((await running.setUp()).accessToken), 'content-type': 'application/json' };
  const send = (text: string, encoding: BufferEncoding) =>
    running.http.inject({ method: 'POST', url: '/api/zones', headers, payload: Buffer.from(text, encoding) });
  const refused = await send('{"name":"Küche"}', 'latin1');
  assert.deepEqual([refused.statusCode, refused.json().message], [400, 'The body is not UTF-8.']);
  const kept = await send('{"name":"Küche"}', 'utf8');
  assert.deepEqual([kept.statusCode, kept.json().name], [201, 'Küche']);
});

test('all errors have the same form', async () => {
  await using running = await runBackend();
  const cases = [
    { status: 413, code: 'payload_too_large', options: { payload: { email: 'x'.repeat(300_000) } } },
    {
      status: 415,
      code: 'unsupported_media_type',
      options: { headers: { 'content-type': 'text/xml' }, payload: '<a/>' },
    },
    {
      status: 415,
      code: 'unsupported_media_type',
      options: { headers: { 'content-type': 'text/plain' }, payload: 'a' },
    },
    {
      status: 400,
      code: 'bad_request',
      options: { headers: { 'content-type': 'application/json' }, payload: '{"a":' },
    },
    {
      status: 400,
      code: 'bad_request',
      options: { headers: { 'content-type': 'application/json' }, payload: '{"__proto__":{}}' },
    },
    { status: 404, code: 'not_found', options: { url: '/api/nothing' } },
    { status: 400, code: 'bad_request', options: { url: '/api/%zz' } },
  ];
  for (const { status, code, options } of cases) {
    const response = await running.http.inject({ method: 'POST', url: '/api/auth/login', ...options });
    assert.equal(response.statusCode, status, code);
    const body = response.json();
    assert.equal(body.code, code);
    assert.equal(body.statusCode, status);
    assert.deepEqual(Object.keys(body).slice(0, 4), ['statusCode', 'error', 'code', 'message']);
  }
});

test('bytes that are not HTTP get an error of the same form', async () => {
  await using running = await runBackend();
  const { hostname, port } = new URL(running.backend.url);
  const socket = connect(Number(port), hostname);
  socket.end('BREW /pot HTCPCP/1.0\r\n\r\n');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  const text = Buffer.concat(chunks).toString();
  assert.match(text, /^HTTP\/1\.1 400 /);
  assert.equal((JSON.parse(text.split('\r\n\r\n')[1] ?? '') as { code: string }).code, 'bad_request');
});

test('a client that resets its connection at once is no unexpected error', async () => {
  await using running = await runBackend();
  const { hostname, port } = new URL(running.backend.url);
  for (let count = 0; count < 200; count += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET /api/health HTTP/1.1\r\nhost: localhost\r\n\r\n', () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  assert.deepEqual(running.logger.events('request_failed'), []);
});

test('an unexpected error of a route is logged with the request and hidden from the client', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => {
    app.get('/api/broken', { config: { access: 'public' } }, async () => {
      throw new Error('the secret plan is in /var/lib/plan');
    });
  };
  await using running = await runBackend({ extraRoutes });
  const response = await running.http.inject('/api/broken');
  assert.equal(response.statusCode, 500);
  assert.equal(response.json().code, 'internal');
  assert.doesNotMatch(response.body, /plan/);
  const [failed] = running.logger.events('request_failed');
  assert.match(String(failed?.['message']), /secret plan/);
  assert.equal(failed?.['requestId'], response.headers['x-request-id']);
});

test('an answer contains only what its schema declares', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => {
    const schema = { response: { 200: Type.Object({ name: Type.String() }) } };
    const row: { name: string } = { name: 'Olena', passwordHash: 'x' } as { name: string };
    app.get('/api/leaky', { config: { access: 'public' }, schema }, async () => row);
  };
  await using running = await runBackend({ extraRoutes });
  assert.deepEqual((await running.http.inject('/api/leaky')).json(), { name: 'Olena' });
});

test('answers of the API are not cached, framed, sniffed or run', async () => {
  await using running = await runBackend();
  const { headers } = await running.http.inject('/api/health');
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.match(String(headers['content-security-policy']), /default-src 'none'/);
});

test('log lines hold neither passwords nor tokens', async () => {
  const env = { AGENT_TOKEN: 'agent-token-value', JWT_SECRET: 'jwt-secret-value-of-thirty-two-bytes!' };
  await using running = await runBackend({ env });
  const { accessToken } = await running.setUp();
  await running.http.inject({ url: '/api/auth/me', headers: bearer(accessToken) });
  await running.http.inject({ url: `/api/nothing?token=${env.AGENT_TOKEN}` });
  assert.ok(running.logger.lines.length > 3);
  for (const secret of [accessToken, owner.password, ...Object.values(env)]) {
    assert.ok(!running.logger.lines.some((line) => line.includes(secret)), secret.slice(0, 6));
  }
});
