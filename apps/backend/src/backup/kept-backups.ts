import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { BackupPlace, BackupView, StoredBackupView } from '@station/protocol/backup-api';
import { createBackupFolder } from '../adapters/backup-folder.ts';
import { createWebdav } from '../adapters/backup-webdav.ts';
import { type BackupDestination, DestinationFault } from '../core/backup-destination.ts';
import { readBackupName } from './backup-name-decide.ts';
import type { KeptSettings } from './backup-settings.ts';
import { chooseExpired, type Keep } from './retention-decide.ts';
import type { VerifiedStore } from './verified-store.ts';

/** On the disk of the station itself one backup is enough: it does not survive the disk. */
const keptOnStation: Keep = { daily: 1, weekly: 0 };

/** A destination in use, and how many files it keeps. */
export type BackupTarget = { destination: BackupDestination; keep: Keep };

export type TargetParts = { dataDir: string; backupDir: string | null; stationId: string };

/** Folder of the backups on the station's own disk. */
const ownFolder = (dataDir: string): string => join(dataDir, 'backups');

/** Where new files are made: path of the folder in which a destination of this machine keeps them. */
export const folderOf = ({ dataDir, backupDir, stationId }: TargetParts, place: 'station' | 'folder'): string =>
  join(place === 'folder' && backupDir !== null ? backupDir : ownFolder(dataDir), stationId);

/** The destinations that the settings name; the station's own disk is always one. */
export function targetsOf({ dataDir, backupDir, stationId }: TargetParts, settings: KeptSettings): BackupTarget[] {
  const { keep, folderMark, webdav } = settings;
  const own = createBackupFolder({ place: 'station', folder: ownFolder(dataDir), stationId, mark: null });
  const targets: BackupTarget[] = [{ destination: own, keep: keptOnStation }];
  if (backupDir !== null && folderMark !== null) {
    const folder = createBackupFolder({ place: 'folder', folder: backupDir, stationId, mark: folderMark });
    targets.push({ destination: folder, keep });
  }
  if (webdav !== null) targets.push({ destination: createWebdav(webdav, stationId), keep });
  return targets;
}

const idOf = (place: BackupPlace, name: string): string => `${place}:${name}`;

/** @throws StationError not_found. */
export function findTarget(targets: readonly BackupTarget[], id: string): { target: BackupTarget; name: string } {
  const [place = '', name = ''] = id.split(':');
  const target = targets.find(({ destination }) => destination.place === place);
  if (target === undefined) throw new StationError('not_found', 'There is no such backup.');
  return { target, name };
}

/** All files of all destinations, newest first. A destination that does not answer is a fault and no failure. */
export async function listBackups(
  targets: readonly BackupTarget[],
  verified: VerifiedStore,
): Promise<Pick<BackupView, 'backups' | 'faults'>> {
  const backups: StoredBackupView[] = [];
  const faults: BackupView['faults'] = [];
  for (const { destination } of targets) {
    const { place } = destination;
    try {
      const known = await verified.of(place);
      for (const { name, bytes } of await destination.list()) {
        const madeAt = readBackupName(name)?.madeAt;
        if (madeAt === undefined) continue;
        const at = known.get(name);
        const verifiedAt = at === undefined ? null : isoTime(at);
        backups.push({ id: idOf(place, name), place, name, bytes, madeAt, verifiedAt });
      }
    } catch (error) {
      if (!(error instanceof DestinationFault)) throw error;
      faults.push({ place, reason: error.reason });
    }
  }
  backups.sort((a, b) => b.madeAt.localeCompare(a.madeAt) || a.place.localeCompare(b.place));
  return { backups, faults };
}

/** Removes what is no longer kept (`retention-decide.ts`). @throws DestinationFault. */
export async function removeExpired(
  { destination, keep }: BackupTarget,
  verified: VerifiedStore,
  now: number,
): Promise<void> {
  const known = await verified.of(destination.place);
  const files = (await destination.list()).flatMap(({ name }) => {
    const made = readBackupName(name);
    return made === null ? [] : [{ name, madeAt: Date.parse(made.madeAt), isGood: known.has(name) }];
  });
  for (const name of chooseExpired(files, keep, now)) {
    await destination.remove(name);
    await verified.remove(destination.place, name);
  }
}
