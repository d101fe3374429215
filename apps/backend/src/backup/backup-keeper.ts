import { join } from 'node:path';
import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createBackoff } from '@station/kit/retry';
import { runLoop } from '@station/kit/loop';
import { StationError } from '@station/kit/station-error';
import { createWaker } from '@station/kit/wakeable';
import type { BackupPlace, BackupSettingsPut, BackupTrouble, BackupView } from '@station/protocol/backup-api';
import { backupRefusals } from '@station/protocol/backups';
import { type BackupDestination, DestinationFault, type StorageTarget } from '../core/backup-destination.ts';
import type { BackendConditions } from '../core/conditions.ts';
import type { StationEvents } from '../core/station-events.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { BackupEngine } from './backup-engine.ts';
import { backupFileName } from './backup-name-decide.ts';
import { nightDue } from './backup-schedule.ts';
import { type BackupSettingsStore, changedSettings, type KeptSettings } from './backup-settings.ts';
import { asReason, backupView, folderStateOf, type Viewed } from './backup-view.ts';
import { folderOf, removeExpired, type BackupTarget, type TargetParts, targetsOf } from './kept-backups.ts';
import type { VerifiedStore } from './verified-store.ts';

/** Makes backups at night and by hand, brings each to its destinations, and removes old ones. */
export type BackupKeeper = AsyncDisposable & {
  view(): Promise<BackupView>;
  /**
   * Stores settings, and tries what is off-site; `view` then says what is wrong there.
   * @throws StationError conflict when the folder cannot be used; validation_failed for an address that is none.
   */
  change(settings: BackupSettingsPut): Promise<void>;
  /**
   * Begins to make a backup. @param passphrase null: the stored one.
   * @throws StationError conflict when one is being made, or no passphrase is stored; backup_refused on PostgreSQL.
   */
  begin(passphrase: string | null): Promise<void>;
  /** The work that `begin` started last; resolves when it has ended. */
  ended(): Promise<void>;
  targets(): Promise<BackupTarget[]>;
  /** Ends what runs: a backup, a check, or the transfer of a file. */
  cancel(): void;
  /** Aborts when transfers are cancelled, or the backend stops. */
  transfers(): AbortSignal;
};

export type KeeperParts = TargetParts & {
  engine: BackupEngine;
  settings: BackupSettingsStore;
  verified: VerifiedStore;
  conditions: Pick<BackendConditions, 'set'>;
  events: StationEvents;
  station: { read(): Promise<{ name: string; time_zone: string }> };
  isSupported: boolean;
  trustedTime: Pick<TrustedTime, 'areAgesTrue'>;
  clock: Clock;
  logger: BackendLogger;
  random: () => number;
};

type Keeper = KeeperParts & Viewed & { transfers: AbortController };

const turnMs = 60_000;
const oldAfterMs = 3 * 24 * 3600_000;

export function startBackupKeeper(parts: KeeperParts): BackupKeeper {
  const { clock, engine, logger, random, settings, isSupported } = parts;
  const stopping = new AbortController();
  const transfers = new AbortController();
  const keeper: Keeper = {
    ...parts,
    sending: null,
    work: null,
    stopping,
    transfers,
    listing: null,
    refused: null,
    moment: 0,
  };
  const running = isSupported
    ? runLoop({
        turn: () => turn(keeper),
        waker: createWaker(clock),
        clock,
        signal: stopping.signal,
        backoff: createBackoff({ initialMs: turnMs, maxMs: 3600_000, jitter: 0.2, random }),
        onFailure: ({ error }) => logger.failed('nightly backup', error),
      })
    : Promise.resolve();
  return {
    view: () => backupView(keeper),
    change: (put) => change(keeper, put),
    begin: (passphrase) => begin(keeper, passphrase),
    ended: async () => keeper.work ?? undefined,
    targets: async () => targetsOf(parts, await settings.read()),
    cancel: () => cancel(keeper),
    transfers: () => AbortSignal.any([stopping.signal, keeper.transfers.signal]),
    [Symbol.asyncDispose]: async () => {
      stopping.abort(new Error('The backend stops'));
      engine.cancel();
      await running;
      await keeper.work;
    },
  };
}

function cancel(keeper: Keeper): void {
  keeper.engine.cancel();
  keeper.transfers.abort(new Error('Cancelled'));
  keeper.transfers = new AbortController();
}

async function turn(keeper: Keeper): Promise<number> {
  const { settings, station, clock } = keeper;
  const kept = await settings.read();
  const state = await settings.readState();
  if (kept.nightly && kept.passphrase !== null && state !== null && keeper.work === null) {
    const { time_zone: timeZone } = await station.read();
    const due = nightDue(state, { at: kept.at, timeZone, now: clock.now() });
    if (due.state.doneAt !== state.doneAt || due.state.triedAt !== state.triedAt) await settings.writeState(due.state);
    if (due.isDue) await startWork(keeper, kept, kept.passphrase);
  }
  await noteAge(keeper, kept);
  return turnMs;
}

/** Conditions of the present, also after a restart. */
async function noteAge(keeper: Keeper, kept: KeptSettings): Promise<void> {
  const { settings, conditions, verified, clock } = keeper;
  const state = await settings.readState();
  const { trouble = null } = state ?? {};
  conditions.set(
    'backup_failed',
    trouble !== null,
    trouble === null ? {} : { place: trouble.place, reason: trouble.reason },
  );
  const places: BackupPlace[] = ['station', 'folder', 'webdav'];
  const times = (await Promise.all(places.map((place) => verified.of(place)))).flatMap((known) => [...known.values()]);
  // A new schedule has three days for its first one.
  const newest = Math.max(state?.doneAt ?? 0, ...times);
  conditions.set('backup_old', kept.nightly && state !== null && clock.now() - newest > oldAfterMs);
}

async function begin(keeper: Keeper, passphrase: string | null): Promise<void> {
  if (!keeper.isSupported)
    throw new StationError('backup_refused', backupRefusals.not_supported, { details: { reason: 'not_supported' } });
  const kept = await keeper.settings.read();
  const chosen = passphrase ?? kept.passphrase;
  if (chosen === null) throw new StationError('conflict', 'No passphrase is stored. Send one.');
  if (keeper.work !== null || keeper.engine.progress() !== null)
    throw new StationError('conflict', 'A backup is being made, checked or restored.');
  startWork(keeper, kept, chosen).catch((error: unknown) => keeper.logger.failed('backup', error));
}

function startWork(keeper: Keeper, kept: KeptSettings, passphrase: string): Promise<void> {
  const work = makeAndNote(keeper, kept, passphrase).finally(() => {
    keeper.work = null;
    keeper.sending = null;
    beginMoment(keeper);
  });
  keeper.work = work.catch(() => undefined);
  keeper.moment += 1;
  return work;
}

/** What was listed before is no longer true. */
function beginMoment(keeper: Keeper): void {
  keeper.listing = null;
  keeper.moment += 1;
}

/** What went wrong is kept as trouble. @throws when that cannot be stored. */
async function makeAndNote(keeper: Keeper, kept: KeptSettings, passphrase: string): Promise<void> {
  const { settings, clock, logger } = keeper;
  const at = clock.now();
  let trouble: Omit<BackupTrouble, 'at'> | null;
  try {
    trouble = await makeOne(keeper, kept, passphrase);
  } catch (error) {
    logger.failed('backup', error);
    trouble = { place: null, reason: 'failed' };
  }
  if (keeper.stopping.signal.aborted) return;
  if (trouble === null) keeper.events.note('backup_made', {});
  else if (trouble.reason !== 'cancelled') keeper.events.note('backup_failed', { reason: trouble.reason });
  const before = await settings.readState();
  const next = { doneAt: trouble === null ? at : (before?.doneAt ?? at), triedAt: at };
  // One that a person cancelled is no trouble.
  const noted =
    trouble?.reason === 'cancelled' ? (before?.trouble ?? null) : trouble && { at: isoTime(at), ...trouble };
  await settings.writeState({ ...next, trouble: noted });
  await noteAge(keeper, kept);
}

/** @returns the first thing that went wrong; the work goes on as far as it can. */
async function makeOne(
  keeper: Keeper,
  kept: KeptSettings,
  passphrase: string,
): Promise<Omit<BackupTrouble, 'at'> | null> {
  const { verified, station, trustedTime, clock, stopping } = keeper;
  const cancelling = AbortSignal.any([stopping.signal, keeper.transfers.signal]);
  const targets = targetsOf(keeper, kept);
  const found = await usableFolder(keeper, kept);
  const making = targets.find(({ destination }) => destination.place === found.place)?.destination;
  const faultOfFolder = await making?.prepare().then(noFault, asReason);
  if (faultOfFolder !== undefined) return { place: found.place, reason: faultOfFolder };
  const folder = folderOf(keeper, found.place);
  const name = backupFileName((await station.read()).name, isoTime(clock.now()));
  const path = join(folder, name);
  const refused = await makeAndVerify(keeper, path, passphrase);
  if (refused !== null) await making?.remove(name).catch(asReason);
  if (refused !== null) {
    const isAway = found.place === 'folder' && (await usableFolder(keeper, kept)).place === 'station';
    // Pulled out meanwhile: now the backup goes to the station.
    return isAway ? makeOne(keeper, kept, passphrase) : { place: null, reason: refused };
  }
  await verified.add(found.place, name, clock.now());
  let trouble = found.trouble;
  for (const target of targets) {
    const { destination } = target;
    try {
      if (destination.place === 'webdav') {
        keeper.sending = 'webdav';
        await send(keeper, destination, path, { name, signal: cancelling });
        await verified.add('webdav', name, clock.now());
        keeper.refused = null;
      }
      // A folder that is not there is the trouble that is noted already.
      const isThere = destination.place !== 'folder' || found.place === 'folder';
      if (isThere && trustedTime.areAgesTrue())
        await removeExpired(target, verified, { now: clock.now(), signal: cancelling });
    } catch (error) {
      if (!(error instanceof DestinationFault)) throw error;
      if (cancelling.aborted) return { place: null, reason: 'cancelled' };
      trouble ??= { place: destination.place, reason: error.reason };
    }
  }
  return trouble;
}

/** Nothing of a transfer that failed stays there, also when its process was killed. @throws DestinationFault. */
async function send(
  { stopping }: Keeper,
  destination: BackupDestination,
  path: string,
  { name, signal }: { name: string; signal: AbortSignal },
): Promise<void> {
  try {
    await destination.put(path, name, signal);
  } catch (error) {
    // The next transfer does it where this cannot.
    if (!stopping.signal.aborted) await destination.tidy(stopping.signal).catch(asReason);
    throw error;
  }
}

/** @returns why there is no such backup; null: there is one. */
async function makeAndVerify(
  { engine }: Keeper,
  path: string,
  passphrase: string,
): Promise<BackupTrouble['reason'] | null> {
  const made = await engine.make(path, passphrase);
  if (made.kind === 'refused') return made.reason;
  const checked = await engine.verify(path, passphrase);
  return checked.kind === 'refused' ? checked.reason : null;
}

const noFault = (): undefined => undefined;

/** The folder, or the station's own disk while the folder is not there: the backup is then made all the same. */
async function usableFolder(
  keeper: Keeper,
  { folderMark }: KeptSettings,
): Promise<{ place: 'station' | 'folder'; trouble: Omit<BackupTrouble, 'at'> | null }> {
  if (folderMark === null) return { place: 'station', trouble: null };
  const { backupDir } = keeper;
  const state = backupDir === null ? 'not_mounted' : await folderStateOf(keeper, backupDir, folderMark);
  if (state === 'ready') return { place: 'folder', trouble: null };
  return { place: 'station', trouble: { place: 'folder', reason: state } };
}

async function change(keeper: Keeper, put: BackupSettingsPut): Promise<void> {
  const { settings, clock } = keeper;
  const kept = await settings.read();
  const folderMark = put.folder ? await chooseFolder(keeper, kept) : null;
  const next = changedSettings(kept, put, folderMark);
  if (next.nightly && next.passphrase === null)
    throw new StationError('conflict', 'Nightly backups need a passphrase.');
  await settings.write(next);
  beginMoment(keeper);
  await tryWebdav(keeper, next);
  const state = await settings.readState();
  const now = clock.now();
  if (state === null || (next.nightly && !kept.nightly))
    await settings.writeState({ doneAt: now, triedAt: now, trouble: state?.trouble ?? null });
}

/** It may be off for now, so the settings are kept whatever comes of it. */
async function tryWebdav(keeper: Keeper, next: KeptSettings): Promise<void> {
  const target = targetsOf(keeper, next).find(({ destination }) => destination.place === 'webdav');
  const tried = await target?.destination.check(keeper.stopping.signal).then(() => null, asReason);
  keeper.refused = tried ?? null;
  beginMoment(keeper);
}

/** The disk that is there now is marked, unless the one of before is only away. */
async function chooseFolder(keeper: Keeper, { folderMark }: KeptSettings): Promise<string> {
  const { backupDir, stationId, storage, stopping } = keeper;
  if (backupDir === null) throw new StationError('conflict', 'BACKUP_DIR is not set.');
  try {
    const target: StorageTarget = { kind: 'folder', folder: backupDir, stationId, mark: null };
    return await storage.ask(target, 'mark', {}, { signal: stopping.signal });
  } catch (error) {
    if (!(error instanceof DestinationFault)) throw error;
    if (folderMark !== null) return folderMark;
    throw new StationError('conflict', 'The folder for backups cannot be used.', { details: { reason: error.reason } });
  }
}
