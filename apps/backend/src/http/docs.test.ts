import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBackend } from '../testing/running-backend.ts';

test('the description is OpenAPI 3.1 and contains every route of the API', async () => {
  await using running = await runBackend();
  const response = await running.http.inject('/api/openapi.json');
  const document = response.json();
  assert.match(document.openapi, /^3\.1\./);
  for (const path of ['/api/health', '/api/auth/login', '/api/station/members/{userId}', '/api/system/update']) {
    assert.ok(path in document.paths, `${path} is missing in ${Object.keys(document.paths).join(' ')}`);
  }
  const login = document.paths['/api/auth/login'].post;
  assert.deepEqual(login.requestBody.content['application/json'].schema.required, ['email', 'password']);
  assert.deepEqual(login.security, []);
  assert.deepEqual(document.paths['/api/system/update'].post.security, [{ user: [] }]);
  assert.match(document.paths['/api/system/update'].post.description, /owner or admin/);
  assert.deepEqual((await running.http.inject('/api/openapi.json')).json(), document, 'again');
});

test('the reference page loads its script from the station and may contact no other host', async () => {
  await using running = await runBackend();
  const moved = await running.http.inject('/api/docs');
  assert.equal(moved.statusCode, 301);
  assert.equal(moved.headers.location, '/api/docs/');
  const page = await running.http.inject('/api/docs/');
  assert.equal(page.statusCode, 200);
  assert.match(String(page.headers['content-type']), /^text\/html/);
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /connect-src 'self'/);
  const nonce = /'nonce-([\w-]+)'/.exec(policy)?.[1] ?? '(none)';
  const scripts = [...page.body.matchAll(/<script[^>]*>/g)].map(([tag]) => tag);
  assert.equal(scripts.length, 2);
  for (const tag of scripts) assert.ok(tag.includes(`nonce="${nonce}"`), tag);
  assert.ok(!(await running.http.inject('/api/docs/')).body.includes(nonce), 'a new one each time');
  const sources = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  assert.deepEqual(
    sources.filter((source) => /^(https?:)?\/\//.test(source)),
    [],
  );
  assert.ok(sources.includes('js/scalar.js'), sources.join(' '));
  const script = await running.http.inject('/api/docs/js/scalar.js');
  assert.equal(script.statusCode, 200);
  assert.ok(script.rawPayload.length > 500_000);
});
