import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile, link } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '@station/kit/command';
import { packArchive } from './archive.ts';
import { BrokenArchive, cleanPath, readTar } from './tar-reader.ts';

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Uint8Array, pieceBytes = 700): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { path, kind, target, content } of readTar(inPieces(bytes, pieceBytes))) {
    const pieces: Buffer[] = [];
    for await (const piece of content) pieces.push(piece);
    found[path] = kind === 'file' ? Buffer.concat(pieces).toString() : `${kind} ${target}`;
  }
  return found;
}

const long = `${'a-long-name-of-a-folder/'.repeat(12)}${'n'.repeat(150)}`;

for (const format of ['ustar', 'pax', 'gnu']) {
  test(`reads what GNU tar writes as ${format}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-tar-'));
    try {
      const root = join(folder, 'root');
      const name = format === 'ustar' ? 'folder/file' : long;
      await mkdir(join(root, name, '..'), { recursive: true });
      await writeFile(join(root, name), 'x'.repeat(1500));
      await writeFile(join(root, 'empty'), '');
      await symlink('empty', join(root, 'soft'));
      await link(join(root, 'empty'), join(root, 'hard'));
      const args = [`--format=${format}`, '--sort=name', '-C', root, '-cf', join(folder, 'a.tar'), '.'];
      assert.equal((await runCommand('tar', args, { env: { PATH: process.env['PATH'] ?? '' } })).exitCode, 0);
      const bytes = await readFile(join(folder, 'a.tar'));
      for (const pieceBytes of [1, 511, 100_000]) {
        const found = await read(bytes, pieceBytes);
        assert.equal(found[name], 'x'.repeat(1500));
        assert.deepEqual([found['empty'], found['soft'], found['hard']], ['', 'symlink empty', 'link ./empty']);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test('content that nobody reads is skipped', async () => {
  const paths: string[] = [];
  for await (const { path } of readTar(inPieces(packArchive({ a: 'x'.repeat(5000), b: 'y' }), 100))) paths.push(path);
  assert.deepEqual(paths, ['a', 'b']);
});

test('an archive that ends early at any byte is broken', async () => {
  const whole = packArchive({ a: 'x'.repeat(600), b: '' });
  for (const end of [0, 1, 511, 512, 700, 1024, 1536, 1600, 2048]) {
    await assert.rejects(read(whole.subarray(0, end)), BrokenArchive, `cut at ${end}`);
  }
  assert.deepEqual(Object.keys(await read(whole)), ['a', 'b']);
});

test('the end of the source is its own fault', async () => {
  const breaks = async function* (): AsyncGenerator<Uint8Array> {
    yield packArchive({ a: 'x'.repeat(600) }).subarray(0, 600);
    throw new Error('aborted');
  };
  await assert.rejects(async () => {
    for await (const { content } of readTar(breaks())) for await (const _ of content);
  }, /aborted/);
});

test('paths have no slash at their ends', () => {
  assert.deepEqual(['./a/b/', '/a', './', '.', 'a/.b'].map(cleanPath), ['a/b', 'a', '', '', 'a/.b']);
});
