import { join } from 'node:path';
import { readText, removeDurable, writeDurable, type Disk } from '@station/kit/files';
import type { Intent } from './facts.ts';

export const intentFile = 'wifi.json';

/**
 * `wifi.json` in DATA_DIR: whether the proxy is stopped for the hotspot. Written before it is stopped, so that a later process starts it
 * again whatever happened in between. No file, or one that cannot be read, says that nothing is known.
 */
export function createIntentFile(disk: Disk, dataDir: string) {
  const path = join(dataDir, intentFile);
  const write = (proxyStopped: boolean): Promise<void> =>
    writeDurable(disk, path, `${JSON.stringify({ proxyStopped })}\n`);
  return {
    read: async (): Promise<Intent> => {
      const text = await readText(disk, path);
      try {
        const { proxyStopped } = JSON.parse(text ?? '') as { proxyStopped?: unknown };
        return typeof proxyStopped !== 'boolean' ? 'unknown' : proxyStopped ? 'proxy_stopped' : 'clear';
      } catch {
        return 'unknown';
      }
    },
    /** @throws the file system's error; then the file is gone if it could be removed, which a full disk allows. */
    write: async (proxyStopped: boolean): Promise<void> => {
      try {
        await write(proxyStopped);
      } catch (error) {
        await removeDurable(disk, path).catch(() => undefined);
        throw error;
      }
    },
  };
}
