import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { findFreePort } from '@station/kit/free-port';
import { startProxy } from './proxy.ts';

it('the proxy of npm start serves only complete firmware files of the cache, with ranges', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'station-firmware-files-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const bytes = Buffer.from('0123456789'.repeat(100));
  await writeFile(join(folder, 'light@1.2.3.bin'), bytes);
  await writeFile(join(folder, 'light.json'), '{}');
  await writeFile(join(folder, '.light@1.3.0.bin.part'), bytes);
  const ports = { port: 0, backendPort: await findFreePort(), frontendPort: await findFreePort() };
  const proxy = stack.use(await startProxy({ ...ports, firmwareFolder: folder, operationFile: null }));
  const url = `${proxy.url}/firmware/light@1.2.3.bin`;
  const whole = await fetch(url);
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), bytes);
  const etag = whole.headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  const ask = async (headers: Record<string, string>): Promise<[number, string | null, string]> => {
    const answer = await fetch(url, { headers });
    return [answer.status, answer.headers.get('content-range'), await answer.text()];
  };
  assert.deepEqual(await ask({ range: 'bytes=10-14', 'if-range': etag }), [206, 'bytes 10-14/1000', '01234']);
  assert.deepEqual(await ask({ range: 'bytes=995-' }), [206, 'bytes 995-999/1000', '56789']);
  assert.deepEqual(await ask({ range: 'bytes=1000-' }), [416, 'bytes */1000', '']);
  assert.deepEqual((await ask({ range: 'bytes=10-14', 'if-range': '"another"' }))[0], 200);
  for (const path of ['light.json', '.light@1.3.0.bin.part', 'light@9.9.9.bin', '..%2flight@1.2.3.bin', '']) {
    assert.equal((await fetch(`${proxy.url}/firmware/${path}`)).status, 404, path);
  }
  assert.equal((await fetch(url, { method: 'POST' })).status, 404);
});
