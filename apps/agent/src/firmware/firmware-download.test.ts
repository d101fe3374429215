import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { cacheDisk } from './adapters/cache-disk.ts';
import { createTolerantRead } from './unreadable-files.ts';
import { createPartial, listPartials } from './firmware-download.ts';

const checksum = 'ab'.repeat(32);

it('a folder in the place of an unfinished download, or of its note, is moved away and blocks no download', async () => {
  for (const name of [`.${checksum}.part`, `.${checksum}.part.json`]) {
    const folder = await mkdtemp(join(tmpdir(), 'firmware-partial-'));
    try {
      await writeFile(join(folder, `.${checksum}.part`), 'x').then(() => rm(join(folder, name), { force: true }));
      await mkdir(join(folder, name));
      const partial = createPartial(cacheDisk, folder, checksum);
      const tolerantRead = createTolerantRead();
      const open = () => partial.open('boot', tolerantRead);
      const tries = name.endsWith('.json') ? 2 : 0;
      for (let time = 0; time < tries; time += 1) await assert.rejects(open, { code: 'EISDIR' });
      assert.deepEqual(await open(), { bytes: 0, note: null });
      assert.deepEqual(await readdir(folder), [`${name}.damaged`]);
      assert.deepEqual(await listPartials(cacheDisk, folder), []);
    } finally {
      await rm(folder, { recursive: true });
    }
  }
});
