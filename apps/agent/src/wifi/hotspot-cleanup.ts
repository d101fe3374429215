import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { type Disk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';
import { parseObject } from '@station/kit/json';
import type { ProxyService } from '../core/stack-port.ts';

const retryMs = 30_000;

/**
 * For a switched-off watchdog: an earlier process that was killed during its hotspot has left the proxy stopped and
 * the machine changed. (The hotspot itself ended with that process.) Ends when nothing is left to clean up,
 * or with the signal's reason.
 */
export async function cleanUpHotspot(
  parts: {
    intent: ReturnType<typeof createIntentFile>;
    /** Never rejects. */
    undoHotspot: () => Promise<void>;
    proxy: ProxyService;
    clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> {
  const { intent, proxy, clock } = parts;
  await parts.undoHotspot();
  const note = await intent.read().catch(() => null);
  if (!note?.proxyStopped) return;
  while ((await proxy.start(signal)) === 'failed') await clock.sleep(retryMs, signal);
  // If the file stays, the next start only starts the proxy once more.
  await intent.write(false).catch(() => undefined);
}

export const intentFile = 'wifi.json';

/** `isThisBoot`: the file was written in this boot. */
type IntentNote = { proxyStopped: boolean; isThisBoot: boolean };

/**
 * `wifi.json` in DATA_DIR: whether the proxy is stopped for the hotspot. Written before the stop, so that a later process starts
 * the proxy again after any crash.
 */
export function createIntentFile({ disk, dataDir, bootId }: { disk: Disk; dataDir: string; bootId: string }) {
  const path = join(dataDir, intentFile);
  return {
    /** Null: the file is missing or unreadable. */
    read: async (): Promise<IntentNote | null> => {
      const { proxyStopped, bootId: boot } = parseObject((await readText(disk, path)) ?? '') ?? {};
      return typeof proxyStopped === 'boolean' ? { proxyStopped, isThisBoot: boot === bootId } : null;
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
