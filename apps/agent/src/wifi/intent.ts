import { join } from 'node:path';
import { readText, removeDurable, writeDurable, type Disk } from '@station/kit/durable-files';

export const intentFile = 'wifi.json';

/** `isThisBoot`: it was written since the machine was started. */
export type IntentNote = { proxyStopped: boolean; isThisBoot: boolean };

/**
 * `wifi.json` in DATA_DIR: whether the proxy is stopped for the hotspot. Written before it is stopped, so that a later process starts it
 * again whatever happened in between.
 */
export function createIntentFile({ disk, dataDir, bootId }: { disk: Disk; dataDir: string; bootId: string }) {
  const path = join(dataDir, intentFile);
  return {
    /** Null: there is no such file, or it says nothing that can be read. */
    read: async (): Promise<IntentNote | null> => {
      const text = await readText(disk, path);
      try {
        const { proxyStopped, bootId: boot } = JSON.parse(text ?? '') as Record<string, unknown>;
        return typeof proxyStopped === 'boolean' ? { proxyStopped, isThisBoot: boot === bootId } : null;
      } catch {
        return null;
      }
    },
    /** @throws the file system's error; then the file is gone if it could be removed, which a full disk allows. */
    write: async (proxyStopped: boolean): Promise<void> => {
      try {
        await writeDurable(disk, path, `${JSON.stringify({ proxyStopped, bootId })}\n`);
      } catch (error) {
        await removeDurable(disk, path).catch(() => undefined);
        throw error;
      }
    },
  };
}
