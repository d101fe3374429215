import { createPrivateKey, X509Certificate } from 'node:crypto';
import { basename, join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { hostToFind, type OutgoingProxy } from '@station/kit/outgoing-proxy';
import type { Disk } from '@station/kit/durable-files';
import { type Check, runChecks } from '@station/kit/doctor';
import type { CheckOutcome, Finding } from '@station/kit/doctor-decide';
import { parseObject } from '@station/kit/json';
import { decideClock, decideDiskHealth, decideDiskSpace, decideNames } from '@station/kit/machine-decide';
import { lookUpNames, readDiskHealth, readDiskSpace } from '@station/kit/machine-facts';
import type { DoctorReport } from '@station/protocol/doctor';
import { type BackendFindingCode, backendFindings } from '@station/protocol/backend-findings';
import { type AgentTarget } from '../core/adapters/agent-client.ts';
import { isWritable, readBackupDisk, readFolder, readTextFile } from './adapters/data-files.ts';
import { inspectSqliteFile } from './adapters/sqlite-inspection.ts';
import { findDamageInCompressed } from '../core/adapters/zstd.ts';
import { backupMarkName } from '../core/backup-destination.ts';
import type { FileFacts } from '../core/doctor-facts.ts';
import type { DatabaseConfig } from '../store/database.ts';
import { copiesDirectory, createDatabaseCopies } from '../store/database-copies.ts';
import { migrations } from '../store/migrations/all.ts';
import { type CopiesFacts, decideCopies, decideDatabase } from './database-decide.ts';
import { decideBackupDisk, decideDataFolder, decideFiles, type KeyFile } from './files-decide.ts';
import {
  checkAgent,
  checkBroker,
  checkPostgres,
  checkWebApp,
  checkWebServer,
  type ServerConfig,
} from './service-checks.ts';

/** What the doctor needs of the configuration of the backend. */
export type DoctorConfig = ServerConfig & {
  dataDir: string;
  backupDir: string | null;
  database: DatabaseConfig;
  /** Null: the key is in a file. */
  jwtSecret: string | null;
  agent: AgentTarget | null;
  agentToken: string | null;
  devicesFile: string | null;
  cloud: { host: string; caFile: string | null } | null;
  replicaId: string | null;
  proxy: OutgoingProxy;
  version: string;
};

export type DoctorParts = {
  config: DoctorConfig;
  clock: Clock;
  disk: Disk;
  /** Larger databases are not read as a whole, so that the report comes soon. */
  mostBytes: number;
};

type BackendCheck = Check<BackendFindingCode>;
type Outcome = CheckOutcome<BackendFindingCode>;

/** Checks the station as the backend sees it. Changes nothing, and works whether the backend runs or not. */
export async function examineBackend(parts: DoctorParts): Promise<DoctorReport> {
  const { config, clock } = parts;
  const reading = readFolder(config.dataDir);
  // A folder that may not be read is reported by its own check.
  const files = await reading.catch(() => null);
  const checks: BackendCheck[] = [
    { id: 'configuration', run: () => checkConfiguredFiles(config) },
    { id: 'data_folder', run: async () => checkDataFolder(config, await reading) },
    { id: 'files', run: async () => (files === null ? null : checkFiles(config, files)) },
    { id: 'disk_space', run: async () => decideDiskSpace([await readDiskSpace(config.dataDir)]) },
    { id: 'disk_health', run: async () => decideDiskHealth([await readDiskHealth(config.dataDir)]) },
    { id: 'clock', run: async () => checkClock(clock, files) },
    { id: 'names', run: async (signal) => decideNames(await lookUpNames(hostsOf(config), signal)) },
    { id: 'broker', run: (signal) => checkBroker(config, signal) },
    { id: 'web_server', run: (signal) => checkWebServer(config, signal) },
    { id: 'web_app', run: () => checkWebApp(config) },
    { id: 'agent', run: () => checkAgent(config) },
    { id: 'backup_disk', run: () => checkBackupDisk(config) },
    ...databaseChecks(parts, files ?? []),
  ];
  return runChecks({ program: 'backend', version: config.version, checks, catalogue: backendFindings, clock });
}

/** The report when the configuration is invalid: the program could not do anything else either. */
export const reportInvalid = (problems: readonly string[], version: string, clock: Clock): Promise<DoctorReport> =>
  runChecks({
    program: 'backend',
    version,
    checks: [
      {
        id: 'configuration',
        run: async () => ({
          detail: null,
          findings: problems.map((problem) => ({ code: 'config_invalid', values: { problem } })),
        }),
      },
    ],
    catalogue: backendFindings,
    clock,
  });

type Configured = { variable: string; file: string | null; isValid: (text: string) => boolean; otherwise: string };

/** Files that the configuration names must be there and hold what they should. */
async function checkConfiguredFiles({ mqtt, cloud, devicesFile }: DoctorConfig): Promise<Outcome> {
  const certificate = { isValid: isCertificate, otherwise: 'it is no certificate (PEM)' };
  const configured: Configured[] = [
    { variable: 'MQTT_CA_FILE', file: mqtt.kind === 'external' ? mqtt.caFile : null, ...certificate },
    {
      variable: 'MQTT_TLS_FILE',
      file: mqtt.kind === 'embedded' ? mqtt.certificateFile : null,
      isValid: isPair,
      otherwise: 'it is no certificate with its key (PEM)',
    },
    { variable: 'CLOUD_CA_FILE', file: cloud?.caFile ?? null, ...certificate },
    { variable: 'DEVICES_FILE', file: devicesFile, isValid: isDeviceList, otherwise: 'it is no list of devices' },
  ];
  const findings: Finding<BackendFindingCode>[] = [];
  for (const { variable, file, isValid, otherwise } of configured) {
    if (file === null) continue;
    const content = await readTextFile(file);
    const reason = 'failure' in content ? content.failure : isValid(content.text) ? null : otherwise;
    if (reason !== null) findings.push({ code: 'config_file_unusable', values: { variable, file, reason } });
  }
  return { detail: null, findings };
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}

function isPair(text: string): boolean {
  try {
    return new X509Certificate(text).checkPrivateKey(createPrivateKey(text));
  } catch {
    return false;
  }
}

function isDeviceList(text: string): boolean {
  return Array.isArray(parseObject(text)?.['devices']);
}

async function checkDataFolder({ dataDir }: DoctorConfig, files: readonly FileFacts[] | null): Promise<Outcome> {
  return decideDataFolder(dataDir, { files, isWritable: files === null || (await isWritable(dataDir)) });
}

async function checkFiles(config: DoctorConfig, files: readonly FileFacts[]): Promise<Outcome> {
  const keys: KeyFile[] = [];
  const check = async (name: string, isValid: (text: string) => boolean): Promise<void> => {
    const content = files.some((file) => file.name === name) ? await readTextFile(join(config.dataDir, name)) : null;
    if (content !== null && 'text' in content) keys.push({ name, isValid: isValid(content.text.trim()) });
  };
  if (config.jwtSecret === null) await check('jwt-secret', (text) => text.length >= jwtSecretChars);
  await check('settings-key', (text) => Buffer.from(text, 'base64').length === settingsKeyBytes);
  return decideFiles(files, keys);
}

async function checkBackupDisk({ backupDir, dataDir }: DoctorConfig): Promise<Outcome | null> {
  if (backupDir === null) return null;
  return decideBackupDisk(backupDir, await readBackupDisk(backupDir, dataDir, backupMarkName), process.getuid?.() ?? 0);
}

const jwtSecretChars = 32;
const settingsKeyBytes = 32;

/** Nothing can have been written in the future. */
function checkClock({ now }: Clock, files: readonly FileFacts[] | null): Outcome {
  const written = (files ?? []).map(({ changedAt }) => changedAt);
  return decideClock({
    now: now(),
    knownAt: written.length === 0 ? null : Math.max(...written),
    isSynchronised: null,
  });
}

function hostsOf({ mqtt, database, cloud, proxy }: DoctorConfig): string[] {
  return [
    ...(mqtt.kind === 'external' ? [new URL(mqtt.url).hostname] : []),
    ...(database.kind === 'postgres' ? [new URL(database.url).hostname] : []),
    ...(cloud === null ? [] : [hostToFind(new URL(`wss://${cloud.host}`), proxy)]),
  ];
}

function databaseChecks(parts: DoctorParts, files: readonly FileFacts[]): BackendCheck[] {
  const { database } = parts.config;
  if (database.kind === 'postgres') {
    return [{ id: 'database', run: () => checkPostgres(database.url) }];
  }
  return [
    { id: 'database', isBlocking: true, run: () => checkSqlite(parts, database.file, files) },
    { id: 'database_copies', isBlocking: true, run: () => checkCopies(parts, database.file, files) },
  ];
}

async function checkSqlite({ mostBytes }: DoctorParts, path: string, files: readonly FileFacts[]): Promise<Outcome> {
  const suspicion = await readTextFile(`${path}.suspected`);
  return decideDatabase({
    file: basename(path),
    inspection: inspectSqliteFile(path, { mostBytes }),
    files,
    suspicion: 'text' in suspicion ? suspicion.text.trim().slice(0, 200) : null,
    known: migrations.map(({ name }) => name),
  });
}

/** The newest copy is read as a whole; the older ones as long as they are small together. */
async function checkCopies(
  { disk, clock, mostBytes }: DoctorParts,
  path: string,
  files: readonly FileFacts[],
): Promise<Outcome> {
  const directory = copiesDirectory(path);
  const copies = await createDatabaseCopies({ file: path, disk, clock }).list();
  let left = mostBytes;
  const inspected: CopiesFacts['copies'][number][] = [];
  for (const { name, takenAt, path: copy } of copies) {
    left -= files.find((file) => file.name === join(basename(directory), name))?.bytes ?? 0;
    inspected.push({ name, takenAt, damage: left >= 0 ? await findDamageInCompressed(copy) : null });
  }
  const secret = files.find(({ name }) => name === 'settings-key');
  return decideCopies({ copies: inspected, now: clock.now(), databaseSince: secret?.changedAt ?? null });
}
