import assert from 'node:assert/strict';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBackend } from '../../../testing/running-backend.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';

async function builtApp() {
  const folder = await temporaryFolder();
  const web = join(folder.path, 'web');
  await mkdir(join(web, 'assets'), { recursive: true });
  await writeFile(join(web, 'index.html'), '<!doctype html><title>Station</title>');
  await writeFile(join(web, 'assets', 'index-abc123.js'), 'export {};');
  await writeFile(join(web, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(join(folder.path, 'secret.txt'), 'not for the web');
  await writeFile(join(web, '.env'), 'HIDDEN=1');
  return { web, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

test('pages and files are served with a strict content policy and suitable cache headers', async () => {
  await using built = await builtApp();
  await using running = await runBackend({ env: { WEB_DIR: built.web } });
  for (const url of ['/', '/devices', '/station/updates?from=1', '/index.html']) {
    const page = await running.http.inject(url);
    assert.equal(page.statusCode, 200, url);
    assert.match(page.body, /<title>Station/);
    assert.equal(page.headers['cache-control'], 'no-cache');
    const policy = String(page.headers['content-security-policy']);
    assert.match(policy, /default-src 'self'/);
    assert.match(policy, /connect-src 'self'(;|$)/);
    assert.doesNotMatch(policy, /unsafe|\*/);
  }
  const script = await running.http.inject('/assets/index-abc123.js');
  assert.equal(script.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.match(String(script.headers['content-type']), /javascript/);
  const again = await running.http.inject({
    url: '/favicon.svg',
    headers: { 'if-none-match': String((await running.http.inject('/favicon.svg')).headers['etag']) },
  });
  assert.equal(again.statusCode, 304);
});

test('the service worker and the manifest have the types that browsers want, and are asked for again each time', async () => {
  await using built = await builtApp();
  await cp(join(import.meta.dirname, '../../../../web/public'), built.web, { recursive: true });
  await using running = await runBackend({ env: { WEB_DIR: built.web } });
  const policy = /default-src 'self'/;
  for (const [url, type] of [
    ['/push-worker.js', /javascript/],
    ['/manifest.webmanifest', /manifest\+json/],
    ['/icon-192.png', /image\/png/],
  ] as const) {
    const { headers } = await running.http.inject(url);
    assert.match(String(headers['content-type']), type, url);
    assert.equal(headers['cache-control'], 'no-cache', url);
    assert.match(String(headers['content-security-policy']), policy, url);
  }
});

test('a missing path answers 404: no page replaces an API answer or a script', async () => {
  await using built = await builtApp();
  await using running = await runBackend({ env: { WEB_DIR: built.web } });
  for (const url of [
    '/api/nothing',
    '/api',
    '/assets/gone.js',
    '/gone.png',
    '/.env',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/..%2f..%2fsecret.txt',
  ]) {
    const response = await running.http.inject(url);
    assert.ok([400, 403, 404].includes(response.statusCode), `${url} ${response.statusCode}`);
    assert.doesNotMatch(response.body, /not for the web|HIDDEN|<title>/, url);
  }
  assert.equal((await running.http.inject('/api/health')).statusCode, 200);
});

test('a percent sign in an address is kept, and nothing is decoded twice', async () => {
  await using built = await builtApp();
  await using running = await runBackend({ env: { WEB_DIR: built.web } });
  for (const url of ['/%25', '/100%25', '/devices/%2525', '/favicon%252esvg', '/%252e%252e%252fsecret%252etxt']) {
    assert.match((await running.http.inject(url)).body, /<title>Station/, `the page at ${url}`);
  }
  for (const url of ['/%25.png', '/%66avicon%25.svg', '/assets/%2561.js', '/%252e%252e%252fsecret.txt']) {
    assert.equal((await running.http.inject(url)).statusCode, 404, url);
  }
  assert.match((await running.http.inject('/%66avicon.svg')).body, /<svg/);
  assert.deepEqual(running.logger.events('request_failed'), []);
});

test('a folder without a built app fails at start', async () => {
  await using folder = await temporaryFolder();
  await assert.rejects(runBackend({ env: { WEB_DIR: folder.path } }), /build the web app first/);
});
