import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { clearPath, createTolerantRead } from './unreadable-files.ts';

it('a folder in the place of a file is lost after three tries, and is moved away with its content', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'firmware-lost-'));
  try {
    const path = join(folder, 'firmware.json');
    await mkdir(path);
    await writeFile(join(path, 'kept'), '');
    const tolerantRead = createTolerantRead();
    const read = () => tolerantRead(path, () => nodeDisk.read(path));
    await assert.rejects(read, { code: 'EISDIR' });
    await assert.rejects(read, { code: 'EISDIR' });
    assert.deepEqual(await read(), { kind: 'lost' });
    await clearPath(nodeDisk, path);
    assert.deepEqual(await readdir(folder), ['firmware.json.damaged']);
    assert.deepEqual(await read(), { kind: 'ok', value: null });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('a fault that is temporary, or not of a file, never makes one lost', async () => {
  const tolerantRead = createTolerantRead();
  for (const error of [Object.assign(new Error('full'), { code: 'EMFILE', syscall: 'open' }), new Error('ended')]) {
    for (let tries = 0; tries < 5; tries += 1) {
      await assert.rejects(
        tolerantRead('a', () => Promise.reject(error)),
        error,
      );
    }
  }
});
