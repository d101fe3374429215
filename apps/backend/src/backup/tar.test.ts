import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackupRefused } from './backup-refused.ts';
import { fitsTar, readTar, writeTar } from './tar.ts';

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const file = (name: string, content: string) => ({
  name,
  bytes: Buffer.byteLength(content),
  content: inPieces(Buffer.from(content), 100),
});
const archive = async (...files: ReturnType<typeof file>[]): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(writeTar(files, Date.UTC(2026, 0, 1))));
async function read(bytes: Buffer): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  await readTar(inPieces(bytes, 333), async ({ name }, content) => {
    found[name] = Buffer.concat(await Array.fromAsync(content)).toString();
  });
  return found;
}
const isRefused = (error: unknown): boolean => error instanceof BackupRefused && error.reason === 'damaged';

test('files of every length come back', async () => {
  const files = { empty: '', short: 'a', block: 'b'.repeat(512), longer: 'c'.repeat(513), 'folder/ім’я.json': '{}' };
  const bytes = await archive(...Object.entries(files).map(([name, content]) => file(name, content)));
  assert.deepEqual(await read(bytes), files);
});

test('a name of more than 100 bytes does not fit', async () => {
  assert.ok(fitsTar(`device-types/${'x'.repeat(100)}`));
  assert.ok(!fitsTar(`device-types/${'x'.repeat(101)}`));
  await assert.rejects(archive(file('x'.repeat(101), '')));
});

test('a file that changed its size while it was written ends the archive with an error', async () => {
  await assert.rejects(archive({ ...file('a', 'abc'), bytes: 4 }), /3 bytes instead of 4/);
});

test('links, cut archives, altered headers and what follows the end are refused', async () => {
  const bytes = await archive(file('a', 'abc'), file('b', 'def'));
  const link = Buffer.from(bytes);
  link.write('2', 156);
  const altered = Buffer.from(bytes);
  altered.write('z', 0);
  const appended = Buffer.concat([bytes, Buffer.from('more')]);
  // As a few compressed bytes may be.
  const endless = Buffer.concat([bytes, Buffer.alloc(2 * 1024 * 1024)]);
  for (const bad of [link, altered, appended, endless, bytes.subarray(0, 700), bytes.subarray(0, 1024)]) {
    await assert.rejects(read(bad), isRefused);
  }
});
