import type { Disk } from '@station/kit/durable-files';
import type { SetupState } from '@station/protocol/rest';
import { DestinationFault } from '../core/backup-destination.ts';
import { forgetLoss, readLoss } from '../store/sqlite-recovery.ts';
import { readBackupName } from './backup-name-decide.ts';
import { fetchBackup } from './fetch-backup.ts';
import { type TargetParts, targetsHere } from './kept-backups.ts';

type Found = { id: string; place: 'station' | 'folder'; madeAt: string };

/** A database that was damaged and of which no copy was good: what the first page of the station says and offers. */
export type LostDatabase = {
  /** Null: nothing was lost. */
  state(): Promise<SetupState['lost'] | null>;
  /** The newest backup on the disks of this machine, as a file. @throws StationError not_found, disk_space_low. */
  fetch(signal: AbortSignal): Promise<{ path: string; name: string } | null>;
  /** The station has an owner again. */
  forget(): Promise<void>;
};

/** @param parts.file the database; null: it is not a file. @param parts.copies folder for the copy of a backup. */
export function createLostDatabase(
  parts: TargetParts & { disk: Disk; file: string | null; copies: string },
): LostDatabase {
  const { disk, file, copies } = parts;
  // Anybody may ask, so the folders are listed once.
  let newest: Promise<Found | null> | null = null;
  const find = (): Promise<Found | null> => (newest ??= findNewest(parts));
  return {
    state: async () => {
      const loss = file === null ? null : await readLoss(disk, file);
      if (loss === null) return null;
      const found = await find();
      return { ...loss, backup: found && { place: found.place, madeAt: found.madeAt } };
    },
    fetch: async (signal) => {
      const found = await find();
      const keeper = { targets: async () => targetsHere(parts), transfers: () => signal };
      return found && fetchBackup({ keeper, copies }, found.id);
    },
    forget: async () => {
      if (file !== null) await forgetLoss(disk, file);
    },
  };
}

async function findNewest(parts: TargetParts): Promise<Found | null> {
  const found: Found[] = [];
  for (const { destination } of targetsHere(parts)) {
    const place = destination.place === 'folder' ? 'folder' : 'station';
    const files = await destination.list().catch((error: unknown) => {
      if (error instanceof DestinationFault) return [];
      throw error;
    });
    for (const { name } of files) {
      const made = readBackupName(name);
      if (made !== null) found.push({ id: `${place}:${name}`, place, madeAt: made.madeAt });
    }
  }
  return found.sort((a, b) => b.madeAt.localeCompare(a.madeAt))[0] ?? null;
}
