import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { archiveOf, firstFile } from './archive.ts';

async function inFolder(action: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'station-archive-'));
  try {
    await action(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('tar unpacks an archive with name, mode and content', () =>
  inFolder(async (folder) => {
    for (const length of [0, 1, 511, 512, 513, 70_000]) {
      const content = Buffer.alloc(length, 'é');
      const archive = archiveOf({ name: 'logins.json', mode: 0o600, uid: 1883, gid: 1883, content });
      const told = spawnSync('tar', ['-x', '-C', folder, '--no-same-owner'], { input: archive, encoding: 'utf8' });
      assert.deepEqual([told.status, told.stderr], [0, '']);
      assert.deepEqual(await readFile(join(folder, 'logins.json')), content);
      assert.equal((await stat(join(folder, 'logins.json'))).mode & 0o777, 0o600);
    }
  }));

test('the first file of an archive by tar is read, with its owner; folders are passed over', () =>
  inFolder(async (folder) => {
    await writeFile(join(folder, 'a'), 'content');
    for (const format of ['ustar', 'gnu', 'posix']) {
      const arguments_ = ['-c', '-C', folder, `--format=${format}`, '--owner=7', '--group=8', '.'];
      const archive = spawnSync('tar', arguments_).stdout;
      const file = await firstFile(archive);
      assert.deepEqual([Buffer.from(file?.content ?? []).toString(), file?.uid, file?.gid], ['content', 7, 8]);
    }
  }));

test('an archive that is cut off or has no file has no first file', async () => {
  const archive = archiveOf({ name: 'a', mode: 0o600, uid: 0, gid: 0, content: Buffer.alloc(2000) });
  for (const length of [0, 100, 512, 1500]) assert.equal(await firstFile(archive.subarray(0, length)), null);
  assert.equal(await firstFile(Buffer.alloc(1024)), null);
  assert.equal(await firstFile(Buffer.alloc(1024, 'x')), null);
});
