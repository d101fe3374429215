import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { nodeDisk, readText, removeDurable, writeDurable, type Disk } from '@station/kit/durable-files';
import { survival, type Choose } from './choice.ts';
import { createProcess, Ended } from './process.ts';
import {
  copyDisk,
  createSimulatedDisk,
  cutDisk,
  emptyDisk,
  flushDisk,
  isDiskOpen,
  readNow,
  systemError,
  type DiskState,
} from './simulated-disk.ts';

const nothing = survival(0);
const everything = survival(1);
const namesOnly = survival(2);
const contentsOnly = survival(3);

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textAt = (state: DiskState, path: string): string | null => {
  const found = readNow(state, path);
  return found && new TextDecoder().decode(found);
};

/** A disk with a durable directory. */
async function createDisk(): Promise<{ state: DiskState; disk: Disk }> {
  const state = emptyDisk();
  const disk = createSimulatedDisk(state, createProcess({ endAt: null }));
  await disk.makeDirectory('/data', 0o755);
  flushDisk(state);
  return { state, disk };
}

/** Remains of a file after a power cut, for each survival variant. */
function after(state: DiskState, path: string, choose: Choose): string | null {
  const copy = copyDisk(state);
  cutDisk(copy, choose);
  return textAt(copy, path);
}

describe('the simulated disk', () => {
  test('shows everything written to every reader', async () => {
    const { disk } = await createDisk();
    await disk.write('/data/a', bytes('one'), 0o600);
    await disk.rename('/data/a', '/data/b');
    assert.equal(await readText(disk, '/data/b'), 'one');
    assert.equal(await disk.read('/data/a'), null);
    assert.deepEqual(await disk.list('/data'), ['b']);
  });

  test('loses a new file whose name was not synced, though its content was', async () => {
    const { state, disk } = await createDisk();
    await disk.write('/data/a', bytes('one'), 0o600);
    await disk.sync('/data/a');
    assert.equal(after(state, '/data/a', nothing), null);
    assert.equal(after(state, '/data/a', everything), 'one');
  });

  test('leaves a name without its content: zero length', async () => {
    const { state, disk } = await createDisk();
    await disk.write('/data/a', bytes('one'), 0o600);
    await disk.sync('/data');
    assert.equal(after(state, '/data/a', nothing), '');
    assert.equal(after(state, '/data/a', namesOnly), '');
    assert.equal(after(state, '/data/a', everything), 'one');
  });

  test('leaves a rename whose content was lost, and a content whose rename was lost', async () => {
    const { state, disk } = await createDisk();
    await writeDurable(disk, '/data/a', 'old');
    await disk.write('/data/a.tmp', bytes('new'), 0o600);
    await disk.rename('/data/a.tmp', '/data/a');
    assert.equal(after(state, '/data/a', namesOnly), '');
    assert.equal(after(state, '/data/a', contentsOnly), 'old');
    assert.equal(after(state, '/data/a', nothing), 'old');
    assert.equal(after(state, '/data/a', everything), 'new');
  });

  test('tears a file that was written in place: old, empty, a part, zeros, or complete', async () => {
    const { state, disk } = await createDisk();
    await writeDurable(disk, '/data/a', 'before');
    await disk.write('/data/a', bytes('after!'), 0o600);
    const found = new Set(Array.from({ length: 300 }, (_, seed) => after(state, '/data/a', survival(4 + seed))));
    for (const expected of ['before', '', 'aft', 'after!', 'aft\0\0\0']) assert.ok(found.has(expected), expected);
  });

  test('keeps the content of writeDurable after any later power cut', async () => {
    const { state, disk } = await createDisk();
    await writeDurable(disk, '/data/a', 'one');
    assert.equal(isDiskOpen(state), false);
    for (let seed = 0; seed < 50; seed += 1) assert.equal(after(state, '/data/a', survival(seed)), 'one');
  });

  test('shows the old or the new content at every point inside writeDurable, never a part', async () => {
    const seen = new Set<string | null>();
    for (let endAt = 1; ; endAt += 1) {
      const { state, disk } = await createDisk();
      await writeDurable(disk, '/data/a', 'old content');
      const process = createProcess({ endAt });
      const ended = await writeDurable(createSimulatedDisk(state, process), '/data/a', 'new content').then(
        () => false,
        (error: unknown) => error instanceof Ended,
      );
      for (let seed = 0; seed < 60; seed += 1) seen.add(after(state, '/data/a', survival(seed)));
      if (!ended) break;
    }
    assert.deepEqual(seen, new Set(['old content', 'new content']));
  });

  test('restores a file that was removed without a sync, but not with one', async () => {
    const { state, disk } = await createDisk();
    await writeDurable(disk, '/data/a', 'one');
    await disk.remove('/data/a');
    assert.equal(after(state, '/data/a', nothing), 'one');
    await removeDurable(disk, '/data/a');
    // Removing a missing file changes nothing; only the sync of the directory counts.
    assert.equal(after(state, '/data/a', nothing), null);
  });

  test('loses a directory that was not synced with everything in it', async () => {
    const state = emptyDisk();
    const disk = createSimulatedDisk(state, createProcess({ endAt: null }));
    await disk.makeDirectory('/data', 0o755);
    await writeDurable(disk, '/data/a', 'one');
    assert.equal(after(state, '/data/a', nothing), null);
    await disk.sync('/');
    assert.equal(after(state, '/data/a', nothing), 'one');
  });

  test('does nothing more for a process that has ended', async () => {
    const { state } = await createDisk();
    const disk = createSimulatedDisk(state, createProcess({ endAt: 2 }));
    await disk.write('/data/a', bytes('one'), 0o600);
    await assert.rejects(disk.write('/data/a', bytes('two'), 0o600), Ended);
    await assert.rejects(disk.remove('/data/a'), Ended);
    await assert.rejects(disk.read('/data/a'), Ended);
    assert.equal(textAt(state, '/data/a'), 'one');
  });

  test('fails an operation on request and changes nothing', async () => {
    const { state } = await createDisk();
    const disk = createSimulatedDisk(state, createProcess({ endAt: null }), (operation, path) =>
      operation === 'write' ? systemError('ENOSPC', operation, path) : null,
    );
    await assert.rejects(writeDurable(disk, '/data/a', 'one'), { code: 'ENOSPC' });
    assert.equal(textAt(state, '/data/a'), null);
  });
});

test('behaves like a real file system without faults', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'disk-'));
  const { disk } = await createDisk();
  const outcomeOf = async (work: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await work();
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  };
  const story = (one: Disk, root: string): Promise<unknown[]> =>
    [
      () => one.read(join(root, 'none')),
      () => one.list(join(root, 'none')),
      () => one.remove(join(root, 'none')),
      () => one.sync(join(root, 'none')),
      () => one.rename(join(root, 'none'), join(root, 'x')),
      () => one.write(join(root, 'no/where'), bytes('x'), 0o600),
      () => one.makeDirectory(join(root, 'a/b'), 0o755),
      () => one.makeDirectory(join(root, 'a'), 0o755),
      () => one.read(join(root, 'a')),
      () => one.write(join(root, 'a/file'), bytes('long content'), 0o600),
      () => one.write(join(root, 'a/file'), bytes('short'), 0o600),
      () => readText(one, join(root, 'a/file')),
      () => one.list(join(root, 'a')).then((names) => names.sort()),
      () => one.rename(join(root, 'a/file'), join(root, 'a/b')),
    ].reduce<Promise<unknown[]>>(
      async (before, step) => [...(await before), await outcomeOf(step)],
      Promise.resolve([]),
    );
  try {
    assert.deepEqual(await story(disk, '/data'), await story(nodeDisk, folder));
  } finally {
    await rm(folder, { recursive: true });
  }
});
