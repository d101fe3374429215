import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFirmwareManifest } from '@station/protocol/firmware-manifest';
import { startFirmwareServer } from './firmware-server.ts';
import { buildImage, checksumOfFile } from './image-builder.ts';

const image = buildImage({ project: 'lamp', version: '1.0.0', bytes: 5000 });
const bytesOf = async (response: Response): Promise<Uint8Array> => new Uint8Array(await response.arrayBuffer());

test('offers published files in both forms of manifest', async () => {
  for (const form of ['map', 'list'] as const) {
    await using server = await startFirmwareServer({ form });
    server.offer('lamp', '1.0.0', image, { chip: 'esp32' });
    const manifest = await bytesOf(await fetch(server.manifestUrl));
    const reading = readFirmwareManifest(manifest, { manifestUrl: server.manifestUrl, maxBytes: 2 ** 20 });
    assert.ok(reading.kind === 'ok' && reading.refused.length === 0);
    const [entry] = reading.entries;
    assert.deepEqual([entry?.name, entry?.checksum, entry?.chip], ['lamp', checksumOfFile(image), 'esp32']);
    assert.equal(checksumOfFile(await bytesOf(await fetch(entry?.url ?? ''))), checksumOfFile(image));
  }
});

test('serves ranges, and the whole file when its content has changed', async () => {
  await using server = await startFirmwareServer();
  server.offer('lamp', '1.0.0', image);
  const url = new URL('lamp-1.0.0.bin', server.manifestUrl);
  const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? '';
  const part = await fetch(url, { headers: { range: 'bytes=4000-', 'if-range': etag } });
  assert.deepEqual(
    [part.status, part.headers.get('content-range')],
    [206, `bytes 4000-${image.length - 1}/${image.length}`],
  );
  assert.deepEqual(await bytesOf(part), Uint8Array.from(image.subarray(4000)));
  const whole = await fetch(url, { headers: { range: 'bytes=4000-', 'if-range': '"other"' } });
  assert.deepEqual([whole.status, (await bytesOf(whole)).length], [200, image.length]);
  const beyond = await fetch(url, { headers: { range: `bytes=${image.length}-` } });
  assert.equal(beyond.status, 416);
  const unchanged = await fetch(url, { headers: { 'if-none-match': etag } });
  assert.equal(unchanged.status, 304);
});

test('applies a fault as many times as requested', async () => {
  await using server = await startFirmwareServer();
  server.offer('lamp', '1.0.0', image);
  const url = new URL('lamp-1.0.0.bin', server.manifestUrl);
  server.setFault('lamp-1.0.0.bin', { kind: 'status', status: 503 }, 2);
  const statuses = [];
  for (let tries = 0; tries < 3; tries += 1) statuses.push((await fetch(url)).status);
  assert.deepEqual(statuses, [503, 503, 200]);
  server.setFault('lamp-1.0.0.bin', { kind: 'cut', afterBytes: 1000 }, 1);
  await assert.rejects(async () => bytesOf(await fetch(url)));
  assert.equal(server.requests.at(-1)?.sentBytes, 1000);
  server.setFault('lamp-1.0.0.bin', { kind: 'wrong_bytes' });
  assert.notEqual(checksumOfFile(await bytesOf(await fetch(url))), checksumOfFile(image));
});

test('refuses connections while offline, then answers on the same port', async () => {
  await using server = await startFirmwareServer();
  await server.goOffline();
  await assert.rejects(fetch(server.manifestUrl));
  await server.goOnline();
  assert.equal((await fetch(server.manifestUrl)).status, 200);
});
