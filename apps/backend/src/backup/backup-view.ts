import { type Clock, isoTime } from '@station/kit/clock';
import type { BackupPlace, BackupView } from '@station/protocol/backup-api';
import { DestinationFault, type FolderState, type StorageTarget } from '../core/backup-destination.ts';
import type { BackupEngine } from './backup-engine.ts';
import { nextNight } from './backup-schedule.ts';
import { type BackupSettingsStore, type KeptSettings, shownSettings } from './backup-settings.ts';
import { type Listing, listBackups, type TargetParts, targetsOf } from './kept-backups.ts';
import type { VerifiedStore } from './verified-store.ts';

type FolderParts = Pick<TargetParts, 'stationId' | 'storage'> & { stopping: AbortController };

/** What the keeper knows and does now. */
export type Viewed = TargetParts &
  FolderParts & {
    engine: Pick<BackupEngine, 'progress'>;
    settings: BackupSettingsStore;
    verified: VerifiedStore;
    station: { read(): Promise<{ time_zone: string }> };
    isSupported: boolean;
    clock: Clock;
    sending: BackupPlace | null;
    work: Promise<void> | null;
    /** The one that runs, or the last one. */
    listing: { ended: boolean; result: Promise<Listing> } | null;
    /** What was wrong off-site when the settings were tried; a backup that arrives there, or another trial, replaces it. */
    refused: DestinationFault['reason'] | null;
    /** Another number after each start and end of work, and after each change of the settings. */
    moment: number;
  };

/** Of one moment: a listing may take long, and what began or ended meanwhile would make another answer. */
export async function backupView(keeper: Viewed): Promise<BackupView> {
  const { engine, settings, station, isSupported, clock } = keeper;
  for (;;) {
    const { moment } = keeper;
    const kept = await settings.read();
    const listing = await currentListing(keeper, kept);
    const state = await settings.readState();
    const { time_zone: timeZone } = await station.read();
    if (keeper.moment !== moment) continue;
    const after = Math.min(state?.doneAt ?? clock.now(), clock.now());
    const nextAt =
      kept.nightly && kept.passphrase !== null ? Math.max(nextNight(kept.at, timeZone, after), clock.now()) : null;
    return {
      settings: shownSettings(kept),
      backups: listing.backups,
      faults: allFaults(keeper, listing),
      folder: listing.folder,
      isWorking: keeper.work !== null || engine.progress() !== null,
      progress: engine.progress(),
      sending: keeper.sending,
      trouble: state?.trouble ?? null,
      nextAt: nextAt === null || nextAt === Infinity ? null : isoTime(nextAt),
      isSupported,
    };
  }
}

/** A server whose files can be listed may still take none. */
function allFaults({ refused }: Viewed, { faults }: Listing): Listing['faults'] {
  if (refused === null || faults.some(({ place }) => place === 'webdav')) return faults;
  return faults.concat({ place: 'webdav', reason: refused });
}

/** One at a time; while a backup is made, the last one will do. Each starts processes. */
function currentListing(keeper: Viewed, kept: KeptSettings): Promise<Listing> {
  const { listing, work, backupDir, verified } = keeper;
  if (listing !== null && (!listing.ended || work !== null)) return listing.result;
  const list = async (): Promise<Listing> => ({
    ...(await listBackups(targetsOf(keeper, kept), verified)),
    folder: backupDir === null ? 'unset' : await folderStateOf(keeper, backupDir, kept.folderMark),
  });
  const made = { ended: false, result: list() };
  const end = (): void => void (made.ended = true);
  made.result.then(end, end);
  keeper.listing = made;
  return made.result;
}

/** Of BACKUP_DIR. @param mark null: any folder will do. */
export async function folderStateOf(keeper: FolderParts, backupDir: string, mark: string | null): Promise<FolderState> {
  const target: StorageTarget = { kind: 'folder', folder: backupDir, stationId: keeper.stationId, mark };
  const asked = keeper.storage.ask(target, 'state', {}, { signal: keeper.stopping.signal });
  return asked.catch((error: unknown) => (asReason(error) === 'not_writable' ? 'not_writable' : 'not_mounted'));
}

/** Why a destination did not do it. @throws any other error. */
export function asReason(error: unknown): DestinationFault['reason'] {
  if (error instanceof DestinationFault) return error.reason;
  throw error;
}
