import { join } from 'node:path';

/** Where things are below DATA_DIR. */
export type BackupPlaces = {
  database: string;
  /** For copies while a backup is made or checked; whatever is in it belongs to no one once its lock is free. */
  work: string;
  /** Below it, while a job has the lock of that folder. */
  scratch: string;
  /** The data of a backup that the next start puts into place. */
  next: string;
  /** The data that a restore replaced, until a start has succeeded. */
  previous: string;
  /** Says how far a restore is. */
  marker: string;
  /** What the agent has to get back. */
  agent: string;
};

/** Names in DATA_DIR and, apart from the manifest and the sums, in a backup. */
export const databaseName = 'station.sqlite';
export const keyName = 'settings-key';
/** The key for access tokens, which earlier releases put into a backup. It is not restored (`check-files.ts`). */
export const formerKeyName = 'jwt-secret';
export const deviceTypesName = 'device-types';
export const agentName = 'agent.json';

export const placesIn = (dataDir: string): BackupPlaces => ({
  database: join(dataDir, databaseName),
  work: join(dataDir, 'backup-work'),
  scratch: join(dataDir, 'backup-work', 'scratch'),
  next: join(dataDir, 'restore-next'),
  previous: join(dataDir, 'restore-previous'),
  marker: join(dataDir, 'restore.json'),
  agent: join(dataDir, agentName),
});

/** A folder inside a manifest cannot lead anywhere else. */
const inDeviceTypes = /^device-types\/[^./\0][^/\0]*\.json$/;

/** Whether a backup may have a file of this name. */
export const isBackupName = (name: string): boolean =>
  [databaseName, keyName, formerKeyName, agentName].includes(name) || inDeviceTypes.test(name);
