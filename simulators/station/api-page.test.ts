import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProxy } from './proxy.ts';

test('the reference page loads its script from the station and may contact no other host', async () => {
  await using proxy = await startProxy({
    port: 0,
    backendPort: 9,
    frontendPort: 9,
    firmwareFolder: null,
    operationFile: null,
  });
  const page = await fetch(`${proxy.url}/api/docs`);
  assert.equal(page.url, `${proxy.url}/api/docs/`);
  const body = await page.text();
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, /connect-src 'self'/);
  const nonce = /'nonce-([\w-]+)'/.exec(policy)?.[1] ?? '(none)';
  const scripts = [...body.matchAll(/<script[^>]*>/g)].map(([tag]) => tag);
  assert.equal(scripts.length, 2);
  for (const tag of scripts) assert.ok(tag.includes(`nonce="${nonce}"`), tag);
  assert.ok(!(await (await fetch(`${proxy.url}/api/docs/`)).text()).includes(nonce), 'a new one each time');
  const sources = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  assert.deepEqual(
    sources.filter((source) => /^(https?:)?\/\//.test(source)),
    [],
  );
  assert.ok(sources.includes('js/scalar.js'), sources.join(' '));
  const script = await fetch(`${proxy.url}/api/docs/js/scalar.js`);
  assert.equal(script.status, 200);
  assert.ok((await script.arrayBuffer()).byteLength > 500_000);
});
