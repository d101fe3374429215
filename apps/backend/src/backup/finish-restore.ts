import { dirname, join } from 'node:path';
import type { Disk } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import { removeTree } from './adapters/backup-files.ts';
import { type BackupPlaces, placesIn } from './backup-places.ts';
import { isReplaced, nextRestoreStep } from './restore-decide.ts';
import { openRestoreMarker, type RestoreMarker } from './restore-marker.ts';

type Parts = { dataDir: string; disk: Disk; logger: BackendLogger };

/**
 * Puts restored data into place, before the database opens: only renames, each of which can be repeated. The replaced data is kept until
 * `confirmRestore`; after three starts that failed it comes back.
 * @throws the file system's error; the next start goes on.
 */
export async function finishRestore({ dataDir, disk, logger }: Parts): Promise<void> {
  const places = placesIn(dataDir);
  const file = openRestoreMarker(disk, places);
  for (let marker = await file.read(); ;) {
    const step = nextRestoreStep(marker);
    if (marker === null || step.kind === 'clean') {
      for (const folder of [places.next, places.previous, undone(places)]) await removeTree(folder);
      return;
    }
    switch (step.kind) {
      case 'wait_for_database':
        return;
      case 'move_out':
        await moveAll(disk, dataDir, places.previous);
        break;
      case 'move_in':
        await moveAll(disk, places.next, dataDir);
        logger.event('restore_applied', marker.backup);
        break;
      case 'try':
        await file.write({ ...marker, starts: marker.starts + 1 });
        return;
      case 'give_up':
        logger.event('restore_undone', { ...marker.backup, starts: marker.starts });
        break;
      case 'set_restored_aside':
        await moveAll(disk, dataDir, undone(places));
        break;
      case 'move_back':
        await moveAll(disk, places.previous, dataDir);
        await file.remove();
        marker = null;
        continue;
    }
    marker = { ...marker, phase: step.next };
    await file.write(marker);
  }
}

/**
 * Called when the backend has started with the restored data: the data before it is removed.
 * @returns the backup whose data is used now; null: no restore was on trial.
 */
export async function confirmRestore({ dataDir, disk }: Parts): Promise<RestoreMarker['backup'] | null> {
  const places = placesIn(dataDir);
  const file = openRestoreMarker(disk, places);
  const marker = await file.read();
  if (marker?.phase !== 'trial') return null;
  await file.remove();
  for (const folder of [places.next, places.previous]) await removeTree(folder);
  return marker.backup;
}

const undone = ({ next }: BackupPlaces): string => join(dirname(next), 'restore-undone');

/** Moves what belongs to a station's data. What was moved before a crash is not in `from` any more. */
async function moveAll(disk: Disk, from: string, to: string): Promise<void> {
  await disk.makeDirectory(to, 0o700);
  await disk.sync(dirname(to));
  for (const name of (await disk.list(from)).filter(isReplaced)) await disk.rename(join(from, name), join(to, name));
  await disk.sync(to);
  await disk.sync(from);
}
