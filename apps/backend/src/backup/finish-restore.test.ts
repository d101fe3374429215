import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Disk, nodeDisk } from '@station/kit/durable-files';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { placesIn } from './backup-places.ts';
import { confirmRestore, finishRestore } from './finish-restore.ts';
import { openRestoreMarker } from './restore-marker.ts';

const logger = recordedLog();
const names = ['station.sqlite', 'jwt-secret', 'settings-key'];

class PowerCut extends Error {}

/** Ends with an error before operation number `end` that changes something. */
function failingDisk(end: number): Disk & { done(): number } {
  let count = 0;
  const counted =
    <Arguments extends unknown[], Result>(action: (...args: Arguments) => Promise<Result>) =>
    async (...args: Arguments): Promise<Result> => {
      if (count++ >= end) throw new PowerCut();
      return action(...args);
    };
  return {
    ...nodeDisk,
    makeDirectory: counted(nodeDisk.makeDirectory),
    write: counted(nodeDisk.write),
    sync: counted(nodeDisk.sync),
    rename: counted(nodeDisk.rename),
    remove: counted(nodeDisk.remove),
    done: () => count,
  };
}

/** A station with its own data, and a restore that is ready. Each file has the name of its side as content. */
async function ready(dataDir: string): Promise<void> {
  const places = placesIn(dataDir);
  for (const [folder, side] of [
    [dataDir, 'own'],
    [places.next, 'restored'],
  ] as const) {
    await mkdir(join(folder, 'device-types'), { recursive: true });
    for (const name of names) await writeFile(join(folder, name), side);
    await writeFile(join(folder, 'device-types/lamp.json'), side);
  }
  await writeFile(join(dataDir, 'station.sqlite-wal'), 'own');
  await writeFile(join(dataDir, 'added-devices.json'), 'kept');
  await openRestoreMarker(nodeDisk, places).write({
    phase: 'ready',
    parts: null,
    starts: 0,
    backup: { stationId: 's', createdAt: '2026-01-01T00:00:00.000Z', version: '1.0.0' },
    at: '2026-01-02T00:00:00.000Z',
  });
}

/** `own`, `restored`, or a list of both when they are mixed. */
async function sideOf(dataDir: string): Promise<string> {
  const files = [...names, 'device-types/lamp.json'].map((name) => readFile(join(dataDir, name), 'utf8'));
  const sides = new Set(await Promise.all(files));
  const hasLog = (await readdir(dataDir)).includes('station.sqlite-wal');
  // The write-ahead log belongs to the station's own database.
  return [...sides, ...(hasLog === sides.has('own') ? [] : ['a log of the other side'])].join();
}

/** Cuts the power at every operation of `action`, each time on a new station; then starts again without a cut. */
async function atEveryOperation(prepare: (dataDir: string) => Promise<void>, expected: string): Promise<number> {
  for (let end = 0; ; end++) {
    await using folder = await temporaryFolder();
    const dataDir = folder.path;
    await prepare(dataDir);
    const disk = failingDisk(end);
    const cut = await finishRestore({ dataDir, disk, logger }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof PowerCut) return true;
        throw error;
      },
    );
    await finishRestore({ dataDir, disk: nodeDisk, logger });
    assert.equal(await sideOf(dataDir), expected, `cut at operation ${end}`);
    assert.equal(await readFile(join(dataDir, 'added-devices.json'), 'utf8'), 'kept');
    if (!cut) return end;
  }
}

test('a power cut at any operation of a restore leaves the restored station, complete', async () => {
  const operations = await atEveryOperation(ready, 'restored');
  assert.ok(operations > 20, `${operations} operations were cut`);
});

test('a power cut at any operation of taking a restore back leaves the own station, complete', async () => {
  const failed = async (dataDir: string): Promise<void> => {
    await ready(dataDir);
    // Three starts that do not come to their end; their database had a log, which is gone with it.
    for (let start = 0; start < 3; start++) await finishRestore({ dataDir, disk: nodeDisk, logger });
    assert.equal(await sideOf(dataDir), 'restored');
  };
  const operations = await atEveryOperation(failed, 'own');
  assert.ok(operations > 20, `${operations} operations were cut`);
});

test('what a restore replaced is kept until a start succeeded', async () => {
  await using folder = await temporaryFolder();
  const dataDir = folder.path;
  await ready(dataDir);
  await finishRestore({ dataDir, disk: nodeDisk, logger });
  assert.equal(await readFile(join(placesIn(dataDir).previous, 'jwt-secret'), 'utf8'), 'own');
  assert.equal((await confirmRestore({ dataDir, disk: nodeDisk, logger }))?.stationId, 's');
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.startsWith('restore')),
    [],
  );
  assert.equal(await confirmRestore({ dataDir, disk: nodeDisk, logger }), null);
});

test('a damaged marker ends the start: neither side is guessed', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'restore.json'), '{"phase":');
  await assert.rejects(finishRestore({ dataDir: folder.path, disk: nodeDisk, logger }), /restore.json is damaged/);
});
