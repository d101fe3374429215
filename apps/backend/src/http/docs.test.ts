import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBackend } from '../../testing/running-backend.ts';

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
