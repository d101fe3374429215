import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { cacheDisk } from './adapters/cache-disk.ts';
import {
  createRun,
  emptyRecords,
  type FirmwareParts,
  type FirmwareRun,
  changeRecords,
  look,
  readRecords,
} from './firmware-run.ts';
import { describeFirmware } from './firmware-status.ts';

it('notes that are changed from two sides at once keep both changes', async () => {
  const dataDir = await mkdtemp(`${tmpdir()}/firmware-notes-`);
  try {
    const run = { notes: emptyRecords, notesRunner: createExclusiveRunner() } as FirmwareRun;
    const parts = { disk: cacheDisk, dataDir };
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    await Promise.all(
      names.map((name) =>
        changeRecords(run, parts, ({ signedFloors }) => ({ signedFloors: { ...signedFloors, [name]: '1.0.0' } })),
      ),
    );
    const { notes, damaged } = await readRecords(cacheDisk, dataDir);
    assert.deepEqual([Object.keys(notes.signedFloors), damaged], [names, false]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

it('the files are reported once the cache was read, and not before', async () => {
  const directory = await mkdtemp(`${tmpdir()}/firmware-files-`);
  try {
    const source = { isSigned: false };
    const isAutomatic = (): boolean => true;
    const given = { disk: cacheDisk, directory, clock: systemClock, source, isAutomatic, random: () => 0.5 };
    const parts = given as FirmwareParts;
    const run = createRun(parts);
    await writeFile(`${directory}/lamp@1.0.0.bin`, 'x');
    assert.equal(describeFirmware(run, parts).files, undefined);
    await look(run, parts);
    assert.deepEqual(describeFirmware(run, parts).files, [{ name: 'lamp', version: '1.0.0' }]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
