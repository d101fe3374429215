import { join } from 'node:path';
import type { OutgoingProxy } from '@station/kit/outgoing-proxy';
import { createStorageProcess } from './adapters/storage-process.ts';
import type { Storage } from '../core/backup-destination.ts';
import { type Module, opened, type Platform } from '../platform/module.ts';
import { readAgentPart, returnAgentPart } from './agent-part.ts';
import type { RunJob } from './attempt-job.ts';
import { createBackupEngine } from './backup-engine.ts';
import { startBackupKeeper } from './backup-keeper.ts';
import { placesIn } from './backup-places.ts';
import { registerBackupRoutes } from './backup-routes.ts';
import { createBackupSettings, type SettingsPort } from './backup-settings.ts';
import { createDownloadLinks } from './download-links.ts';
import { confirmRestore } from './finish-restore.ts';
import { createLostDatabase, type LostDatabase } from './lost-database.ts';
import { registerRestoreRoutes, type RestoreRoutesParts } from './restore-routes.ts';
import { runBackupProcess } from './run-backup-process.ts';
import { removeLeftovers } from './scratch.ts';
import { openUploads } from './uploads.ts';
import { createVerifiedStore } from './verified-store.ts';

type BackupNeeds = {
  config: BackupConfig;
  settings: SettingsPort;
  /** What guards a station without an owner. */
  gate: Pick<RestoreRoutesParts, 'checkSetupCode' | 'restoreFirst' | 'requireSetup'>;
  lost: LostDatabase;
  hooks: BackupHooks;
};

export type BackupConfig = {
  dataDir: string;
  backupDir: string | null;
  /** Null: the database is not a file, and there are no backups of ours. */
  databaseFile: string | null;
  version: string;
  proxy: OutgoingProxy;
};

export type BackupHooks = {
  /** Stop and start again. */
  onRestart(): void;
  /** Used by tests only, instead of a process at the lowest priority, which a busy machine lets wait for minutes. */
  runBackupJob?: RunJob;
  /** Storage of backups that others may control; absent: in processes of their own. */
  storage?: Storage;
};

/** Folder for copies of backups that are not on this machine. */
const copiesIn = (dataDir: string): string => join(dataDir, 'backup-uploads');

/** Opened before the rest: people are told of it before they log in. */
export function openLostDatabase(
  { host: { disk }, stationId }: Pick<Platform, 'host' | 'stationId'>,
  { dataDir, backupDir, databaseFile: file, proxy }: BackupConfig,
  storage: Storage = createStorageProcess(proxy),
): LostDatabase {
  return createLostDatabase({ dataDir, backupDir, stationId, storage, disk, file, copies: copiesIn(dataDir) });
}

export const backupModule: Module<BackupNeeds, null> = {
  open: async (platform, { config, settings, gate, lost, hooks }) => {
    const { host, store, station, stationId, conditions, stationEvents: events, trustedTime, agent } = platform;
    const { clock, disk, logger, random } = host;
    const { dataDir, backupDir, version, proxy } = config;
    const { onRestart, runBackupJob: run = runBackupProcess, storage = createStorageProcess(proxy) } = hooks;
    const isSupported = config.databaseFile !== null;
    await using opening = new AsyncDisposableStack();
    const engine = opening.use(
      createBackupEngine({
        dataDir,
        isSupported,
        version,
        readAgentPart: async () => {
          // Who takes only the history of a backup takes the tables. A disk that is full has a backup, too.
          await store.logged.settle().catch((error: unknown) => logger.failed('settling reports', error));
          return readAgentPart(agent);
        },
        run,
        clock,
        logger,
      }),
    );
    const verified = createVerifiedStore(store.db);
    const keeper = opening.use(
      startBackupKeeper({
        engine,
        station,
        stationId,
        conditions,
        events,
        trustedTime,
        clock,
        logger,
        random,
        storage,
        dataDir,
        backupDir,
        settings: createBackupSettings(settings),
        verified,
        isSupported,
      }),
    );
    const ended = opening.move();
    return opened(ended, null, {
      serve: async ({ app }) => {
        const copies = copiesIn(dataDir);
        const uploads = await openUploads(copies);
        await registerBackupRoutes(app, { keeper, verified, links: createDownloadLinks(clock) });
        await registerRestoreRoutes(app, { engine, keeper, uploads, lost, copies, stationId, ...gate, onRestart });
      },
      settle: async () => {
        if (isSupported) await clearUp(platform, dataDir);
        const path = placesIn(dataDir).agent;
        const isReturned = agent.isConfigured && (await disk.read(path)) !== null;
        if (isReturned) ended.use(returnAgentPart({ ...host, path, agent }));
      },
    });
  },
};

/** What a restore replaced, and what interrupted backups left, is removed. */
async function clearUp({ host: { disk, logger } }: Platform, dataDir: string): Promise<void> {
  try {
    const backup = await confirmRestore({ dataDir, disk, logger });
    if (backup !== null) logger.event('restore_confirmed', backup);
    await removeLeftovers(dataDir);
  } catch (error) {
    // A station whose disk is full must start.
    logger.failed('clearing up after backups', error);
  }
}
