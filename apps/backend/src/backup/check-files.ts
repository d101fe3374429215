import { join } from 'node:path';
import { Value } from 'typebox/value';
import { nodeDisk, readText } from '@station/kit/durable-files';
import { parseJson } from '@station/kit/json';
import { AgentBackup } from '@station/protocol/agent-backup';
import type { BackupFile } from '@station/protocol/backups';
import { maxDeviceTypeBytes, readDeviceType } from '@station/protocol/device-types';
import { removeTree } from './adapters/backup-files.ts';
import { agentName, databaseName, deviceTypesName, formerKeyName, keyName } from './backup-places.ts';
import { BackupRefused } from './backup-refused.ts';

/** Logins of thousands of devices, which the agent limits to 3 MiB, and some more. */
const agentBytes = 8 * 1024 * 1024;
const keyBytes = 1024;
/** Larger ones were never taken into a backup. */
const typeBytes = 4 * 1024 * 1024;
/** The station reads no more of them. */
const mostTypes = 200;

/** What happens with a file of a backup. `leave`: its content is read, for the sum, and not written. */
export type FileFate = 'write' | 'leave' | 'refuse';

/** Before a byte of it is read. @param position among the files of its folder. */
export function fateOf({ name, bytes }: BackupFile, position: number): FileFate {
  if (name === databaseName) return 'write';
  if (name === agentName) return bytes <= agentBytes ? 'write' : 'refuse';
  if (name.startsWith(`${deviceTypesName}/`)) {
    if (bytes > typeBytes) return 'refuse';
    return bytes <= maxDeviceTypeBytes && position < mostTypes ? 'write' : 'leave';
  }
  if (bytes > keyBytes) return 'refuse';
  // Whoever made the backup has its key for access tokens. A new one is made: everybody logs in again anyway.
  return name === formerKeyName ? 'leave' : 'write';
}

/**
 * Checks the content of unpacked files. A file that the station would not read itself is removed.
 * @returns names of what was removed. @throws BackupRefused `not_accepted`: the station would start without its secret settings.
 */
export async function checkFiles(folder: string): Promise<string[]> {
  const key = await readText(nodeDisk, join(folder, keyName));
  if (key !== null && Buffer.from(key, 'base64').length !== settingsKeyBytes)
    throw new BackupRefused('not_accepted', new Error('settings-key has not 32 bytes'));
  const removed: string[] = [];
  const types = await nodeDisk.list(join(folder, deviceTypesName));
  for (const name of types.map((type) => `${deviceTypesName}/${type}`))
    if (readDeviceType(await parsed(join(folder, name))).kind !== 'ok') removed.push(name);
  if (
    (await nodeDisk.list(folder)).includes(agentName) &&
    !Value.Check(AgentBackup, await parsed(join(folder, agentName)))
  )
    removed.push(agentName);
  for (const name of removed) await removeTree(join(folder, name));
  return removed;
}

/** Of AES-256 (`store/secret-box.ts`). */
const settingsKeyBytes = 32;

/** Undefined when it is not JSON, or cannot be read. */
const parsed = async (path: string): Promise<unknown> =>
  parseJson((await readText(nodeDisk, path).catch(() => null)) ?? '');
