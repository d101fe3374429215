import { join } from 'node:path';
import { StationError } from '@station/kit/station-error';
import { fileBytes, makeFolder, spareBytes } from './adapters/backup-files.ts';
import { copyExactly } from './adapters/limited-copy.ts';
import { DestinationFault } from '../core/backup-destination.ts';
import { findTarget, type BackupTarget } from './kept-backups.ts';

export type FetchParts = {
  keeper: { targets(): Promise<BackupTarget[]>; transfers(): AbortSignal };
  /** Folder for the copies; the next upload or start empties it, or a day without use. */
  copies: string;
};

/**
 * A backup of a destination as a file of this machine, no larger than it was listed. One that is here already is used again: a restore takes
 * the same file that was shown before.
 * @throws StationError not_found, disk_space_low. @throws DestinationFault.
 */
export async function fetchBackup({ keeper, copies }: FetchParts, id: string): Promise<{ path: string; name: string }> {
  const { target, name } = findTarget(await keeper.targets(), id);
  const { destination } = target;
  const bytes = (await destination.list()).find((file) => file.name === name)?.bytes;
  if (bytes === undefined) throw new StationError('not_found', 'There is no such backup.');
  const path = join(copies, `${destination.place}-${name}`);
  if ((await fileBytes(path)) === bytes) return { path, name };
  await makeFolder(copies);
  if ((await spareBytes(copies)) < bytes)
    throw new StationError('disk_space_low', 'There is not enough free space for this backup.');
  const signal = keeper.transfers();
  try {
    await copyExactly(await destination.read(name, signal), path, { bytes, signal });
  } catch (error) {
    throw error instanceof DestinationFault ? error : new DestinationFault('failed', error);
  }
  return { path, name };
}
