import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { cacheDisk } from '../adapters/cache-disk.ts';
import { emptyNotes, readNotes } from './notes.ts';
import { keepNotes, type FirmwareRun } from './run-state.ts';

it('notes that are changed from two sides at once keep both changes', async () => {
  const dataDir = await mkdtemp(`${tmpdir()}/firmware-notes-`);
  try {
    const run = { notes: emptyNotes, notesRunner: createExclusiveRunner() } as FirmwareRun;
    const parts = { disk: cacheDisk, dataDir };
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    await Promise.all(
      names.map((name) =>
        keepNotes(run, parts, ({ signedFloors }) => ({ signedFloors: { ...signedFloors, [name]: '1.0.0' } })),
      ),
    );
    const { notes, damaged } = await readNotes(cacheDisk, dataDir);
    assert.deepEqual([Object.keys(notes.signedFloors), damaged], [names, false]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
