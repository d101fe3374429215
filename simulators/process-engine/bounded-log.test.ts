import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createBoundedLog } from './bounded-log.ts';

const inFolder = async (work: (path: string) => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'station-log-'));
  try {
    await work(join(folder, 'web.log'));
  } finally {
    await rm(folder, { recursive: true });
  }
};

describe('a bounded log', () => {
  it('keeps at most two files of its size, with the latest lines', () =>
    inFolder(async (path) => {
      using log = createBoundedLog(path, 100);
      for (let line = 0; line < 1000; line++) log.write(Buffer.from(`line ${line}\n`));
      log.write(Buffer.alloc(500, 'x'));
      log.write(Buffer.from('last\n'));
      const now = await readFile(path, 'utf8');
      const before = await readFile(`${path}.1`, 'utf8');
      assert.equal(now, 'last\n');
      assert.equal(before, 'x'.repeat(100));
    }));

  it('continues the file of an earlier process', () =>
    inFolder(async (path) => {
      for (const text of ['one\n', 'two\n']) {
        using log = createBoundedLog(path, 100);
        log.write(Buffer.from(text));
      }
      assert.equal(await readFile(path, 'utf8'), 'one\ntwo\n');
    }));

  it('drops output that it cannot write', () =>
    inFolder(async (path) => {
      await mkdir(path);
      using log = createBoundedLog(path, 100);
      assert.doesNotThrow(() => log.write(Buffer.from('lost\n')));
    }));
});
