import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { BackupPlace, BackupView, StoredBackupView } from '@station/protocol/backup-api';
import { storageHere } from './adapters/storage-here.ts';
import {
  type BackupDestination,
  DestinationFault,
  type Storage,
  type StorageTarget,
} from '../core/backup-destination.ts';
import { readBackupName } from './backup-name-decide.ts';
import type { KeptSettings } from './backup-settings.ts';
import { chooseExpired, type Keep } from './retention-decide.ts';
import type { VerifiedStore } from './verified-store.ts';

/** On the disk of the station itself one backup is enough: it does not survive the disk. */
const keptOnStation: Keep = { daily: 1, weekly: 0 };

/** A destination in use, and how many files it keeps. */
export type BackupTarget = { destination: BackupDestination; keep: Keep };

export type TargetParts = {
  dataDir: string;
  backupDir: string | null;
  stationId: string;
  /** For what others may control. */
  storage: Storage;
};

/** Folder of the backups on the station's own disk. */
const ownFolder = (dataDir: string): string => join(dataDir, 'backups');

/** Where new files are made: path of the folder in which a destination of this machine keeps them. */
export const folderOf = (
  { dataDir, backupDir, stationId }: Omit<TargetParts, 'storage'>,
  place: 'station' | 'folder',
): string => join(place === 'folder' && backupDir !== null ? backupDir : ownFolder(dataDir), stationId);

/** The destinations that the settings name; the station's own disk is always one. */
export function targetsOf(
  { dataDir, backupDir, stationId, storage }: TargetParts,
  settings: KeptSettings,
): BackupTarget[] {
  const { keep, folderMark, webdav } = settings;
  const ownTarget = { kind: 'folder', folder: ownFolder(dataDir), stationId, mark: null } as const;
  const own = destinationOf('station', ownTarget, storageHere);
  const targets: BackupTarget[] = [{ destination: own, keep: keptOnStation }];
  if (backupDir !== null && folderMark !== null) {
    const target = { kind: 'folder', folder: backupDir, stationId, mark: folderMark } as const;
    targets.push({ destination: destinationOf('folder', target, storage), keep });
  }
  if (webdav !== null) {
    const target = { kind: 'webdav', ...webdav, stationId } as const;
    targets.push({ destination: destinationOf('webdav', target, storage), keep });
  }
  return targets;
}

/** The folders of this machine, whether settings name them or not: those are gone with the database. */
export function targetsHere({ dataDir, backupDir, stationId, storage }: TargetParts): BackupTarget[] {
  const folders = [
    { place: 'station', folder: ownFolder(dataDir), of: storageHere },
    { place: 'folder', folder: backupDir, of: storage },
  ] as const;
  return folders.flatMap(({ place, folder, of }) => {
    if (folder === null) return [];
    const destination = destinationOf(place, { kind: 'folder', folder, stationId, mark: null }, of);
    return [{ destination, keep: keptOnStation }];
  });
}

function destinationOf(place: BackupPlace, target: StorageTarget, storage: Storage): BackupDestination {
  const { signal } = new AbortController();
  return {
    place,
    prepare: async () => void (await storage.ask(target, 'prepare', {}, { signal })),
    list: (ending = signal) => storage.ask(target, 'list', {}, { signal: ending }),
    put: async (path, name, ending) => void (await storage.ask(target, 'put', { path, name }, { signal: ending })),
    read: (name, ending) => storage.read(target, name, { signal: ending }),
    remove: async (name, ending = signal) => void (await storage.ask(target, 'remove', { name }, { signal: ending })),
    check: async (ending) => void (await storage.ask(target, 'check', {}, { signal: ending })),
    tidy: async (ending) => void (await storage.ask(target, 'tidy', {}, { signal: ending })),
  };
}

const idOf = (place: BackupPlace, name: string): string => `${place}:${name}`;

/** @throws StationError not_found. */
export function findTarget(targets: readonly BackupTarget[], id: string): { target: BackupTarget; name: string } {
  const [place = '', name = ''] = id.split(':');
  const target = targets.find(({ destination }) => destination.place === place);
  if (target === undefined) throw new StationError('not_found', 'There is no such backup.');
  return { target, name };
}

export type Listing = Pick<BackupView, 'backups' | 'faults' | 'folder'>;

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

/** At one time. Each is a process and a call, and a hostile server lists a thousand files each time; a backup adds one. */
const mostRemoved = 20;

/** Removes what is no longer kept (`retention-decide.ts`), the oldest first. @throws DestinationFault. */
export async function removeExpired(
  { destination, keep }: BackupTarget,
  verified: VerifiedStore,
  { now, signal }: { now: number; signal: AbortSignal },
): Promise<void> {
  const known = await verified.of(destination.place);
  const files = (await destination.list(signal)).flatMap(({ name }) => {
    const made = readBackupName(name);
    return made === null ? [] : [{ name, madeAt: Date.parse(made.madeAt), isGood: known.has(name) }];
  });
  const byAge = files.toSorted((a, b) => a.madeAt - b.madeAt);
  for (const name of chooseExpired(byAge, keep, now).slice(0, mostRemoved)) {
    await destination.remove(name, signal);
    await verified.remove(destination.place, name);
  }
}
