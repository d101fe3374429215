import { createAgentClient } from './adapters/agent-client.ts';
import { createStorageProcess } from './adapters/storage-process.ts';
import { type Foundations } from './backend-foundations.ts';
import { readAgentPart, returnAgentPart } from './backup/agent-part.ts';
import type { RunJob } from './backup/attempt-job.ts';
import { type BackupEngine, createBackupEngine } from './backup/backup-engine.ts';
import { type KeeperParts } from './backup/backup-keeper.ts';
import { placesIn } from './backup/backup-places.ts';
import { createBackupSettings } from './backup/backup-settings.ts';
import { confirmRestore } from './backup/finish-restore.ts';
import { runBackupProcess } from './backup/run-backup-process.ts';
import { removeLeftovers } from './backup/scratch.ts';
import { createVerifiedStore } from './backup/verified-store.ts';
import type { Storage } from './core/backup-destination.ts';
import type { BackendConfig } from './config.ts';
import type { Host } from './core/host.ts';
import { type SettingsStore } from './provisioning/settings-store.ts';

export function keeperParts(
  { config, host, store, station, stationId, conditions, stationEvents: events, trustedTime }: Foundations,
  engine: BackupEngine,
  settings: SettingsStore,
  storage: Storage = createStorageProcess(config.proxy),
): KeeperParts {
  const { clock, logger, random } = host;
  return {
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
    dataDir: config.dataDir,
    backupDir: config.backupDir,
    settings: createBackupSettings(settings),
    verified: createVerifiedStore(store.db),
    isSupported: config.database.kind === 'sqlite',
  };
}

export function openBackups(
  { config, host: { clock, logger } }: Foundations,
  run: RunJob = runBackupProcess,
): BackupEngine {
  const { dataDir, database, version } = config;
  return createBackupEngine({
    dataDir,
    isSupported: database.kind === 'sqlite',
    version,
    readAgentPart: () => readAgentPart(createAgentClient(config.agent, config.agentToken)),
    run,
    clock,
    logger,
  });
}

/** The station works: what a restore replaced, and what interrupted backups left, is removed. */
export async function settleBackups({ dataDir, database }: BackendConfig, { disk, logger }: Host): Promise<void> {
  if (database.kind !== 'sqlite') return;
  try {
    const backup = await confirmRestore({ dataDir, disk, logger });
    if (backup !== null) logger.event('restore_confirmed', backup);
    await removeLeftovers(dataDir);
  } catch (error) {
    // A station whose disk is full must start.
    logger.failed('clearing up after backups', error);
  }
}

/** Gives the agent its part of a restored backup. */
export async function openAgentReturn(config: BackendConfig, host: Host): Promise<AsyncDisposable> {
  const path = placesIn(config.dataDir).agent;
  const isNeeded = config.agent !== null && (await host.disk.read(path)) !== null;
  if (!isNeeded) return { [Symbol.asyncDispose]: async () => undefined };
  return returnAgentPart({ ...host, path, agent: createAgentClient(config.agent, config.agentToken) });
}
