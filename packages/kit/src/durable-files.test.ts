import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { exists, nodeDisk, readText, removeDurable, writeDurable, type Disk } from './durable-files.ts';

/** Records each step and fails at one of them. */
function recordingDisk(failAt: string | null = null): { disk: Disk; steps: string[] } {
  const steps: string[] = [];
  const step = async (text: string): Promise<void> => {
    steps.push(text);
    if (text === failAt) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  };
  const disk: Disk = {
    read: async () => null,
    list: async () => [],
    makeDirectory: async (path) => step(`mkdir ${path}`),
    write: async (path, bytes, mode) => step(`write ${path} ${new TextDecoder().decode(bytes)} ${mode.toString(8)}`),
    sync: async (path) => step(`sync ${path}`),
    rename: async (from, to) => step(`rename ${from} ${to}`),
    remove: async (path) => step(`remove ${path}`),
  };
  return { disk, steps };
}

const replaced = [
  'remove /state/.journal.json.tmp',
  'write /state/.journal.json.tmp new 600',
  'sync /state/.journal.json.tmp',
  'rename /state/.journal.json.tmp /state/journal.json',
  'sync /state',
];

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-files-'));
  try {
    await test(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('writeDurable', () => {
  it('syncs the content before the rename, and the rename before it resolves', async () => {
    const { disk, steps } = recordingDisk();
    await writeDurable(disk, '/state/journal.json', 'new');
    assert.deepEqual(steps, replaced);
  });

  for (const [index, failing] of replaced.entries()) {
    it(`stops when this step fails: ${failing}`, async () => {
      const { disk, steps } = recordingDisk(failing);
      await assert.rejects(writeDurable(disk, '/state/journal.json', 'new'), { code: 'ENOSPC' });
      assert.deepEqual(steps, replaced.slice(0, index + 1));
    });
  }

  it('replaces a file on a real disk, with its mode, and leaves nothing else', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'state');
      await writeFile(path, 'a much longer old content');
      await writeFile(join(folder, '.state.tmp'), 'left by a crash');
      await writeDurable(nodeDisk, path, Uint8Array.from([0x6e, 0x65, 0x77]), 0o640);
      assert.equal(await readFile(path, 'utf8'), 'new');
      assert.equal((await stat(path)).mode & 0o777, 0o640);
      assert.deepEqual(await readdir(folder), ['state']);
    });
  });

  it('does not follow a link at the path of the temporary file', async () => {
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'victim'), 'precious');
      await symlink(join(folder, 'victim'), join(folder, '.state.tmp'));
      await writeDurable(nodeDisk, join(folder, 'state'), 'new');
      assert.equal(await readFile(join(folder, 'victim'), 'utf8'), 'precious');
    });
  });

  it('keeps the old content when the rename fails', async () => {
    await inFolder(async (folder) => {
      await mkdir(join(folder, 'state'));
      await assert.rejects(writeDurable(nodeDisk, join(folder, 'state'), 'new'), { code: 'EISDIR' });
      assert.ok((await stat(join(folder, 'state'))).isDirectory());
    });
  });
});

describe('removeDurable', () => {
  it('syncs the directory before it resolves', async () => {
    const { disk, steps } = recordingDisk();
    await removeDurable(disk, '/state/old');
    assert.deepEqual(steps, ['remove /state/old', 'sync /state']);
  });
});

describe('nodeDisk', () => {
  it('reads a missing file as null and lists a missing folder as empty', async () => {
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      assert.equal(await nodeDisk.read(join(folder, 'none')), null);
      assert.equal(await nodeDisk.read(join(folder, 'file', 'below')), null);
      assert.deepEqual(await nodeDisk.list(join(folder, 'none')), []);
      await nodeDisk.remove(join(folder, 'none'));
    });
  });

  it('throws when a file cannot be read', async () => {
    await inFolder(async (folder) => {
      await assert.rejects(nodeDisk.read(folder), { code: 'EISDIR' });
    });
  });
});

describe('readText', () => {
  it('reads only UTF-8 as text', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'text');
      await writeFile(path, 'grün');
      assert.equal(await readText(nodeDisk, path), 'grün');
      await writeFile(path, Uint8Array.from([0x67, 0xff, 0x00]));
      assert.equal(await readText(nodeDisk, path), null);
      assert.equal(await readText(nodeDisk, join(folder, 'none')), null);
    });
  });
});

describe('exists', () => {
  it('finds files, folders and broken links', async () => {
    await inFolder(async (folder) => {
      await symlink('/nowhere/at/all', join(folder, 'link'));
      const paths = [folder, join(folder, 'link'), join(folder, 'none'), join(folder, 'link', 'below')];
      assert.deepEqual(await Promise.all(paths.map(exists)), [true, true, false, false]);
    });
  });
});
