import type { Clock } from '@station/kit/clock';
import type { createIntentFile } from './intent.ts';
import type { ProxyService } from '../core/stack-port.ts';

const retryMs = 30_000;

/**
 * Where the watchdog is switched off: a process before, which had it and was killed in its hotspot, has left the proxy stopped, and
 * what the hotspot changed on the machine. The hotspot itself ended with that process. Ends when there is nothing (more) to give back,
 * or with the signal's reason.
 */
export async function giveBack(
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
  // Should it stay, the proxy is started once more at the next start.
  await intent.write(false).catch(() => undefined);
}
