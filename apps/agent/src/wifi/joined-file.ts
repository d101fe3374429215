import { join } from 'node:path';
import { type Disk, writeDurable } from '@station/kit/durable-files';

const joinedFile = 'wifi-joined.json';

/**
 * `wifi-joined.json` in DATA_DIR: the station was in a network once. Only its existence counts, so that a damaged file
 * never makes a new station of one that is somebody's.
 */
export function createJoinedFile({ disk, dataDir }: { disk: Disk; dataDir: string }) {
  const path = join(dataDir, joinedFile);
  return {
    /** @throws the file system's error. */
    exists: async (): Promise<boolean> => (await disk.read(path)) !== null,
    /** @throws the file system's error. */
    write: (): Promise<void> => writeDurable(disk, path, `${JSON.stringify({ everJoined: true })}\n`),
  };
}
