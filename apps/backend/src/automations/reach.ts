import type { Clock } from '@station/kit/clock';
import type { DeviceEvents } from '../core/device-events.ts';

/** Whether a command can come to a device, as far as the station knows. */
export type Reach = Disposable & {
  /**
   * Resolves when it can, or when there is no use in waiting any longer.
   * @throws (rejects) the signal's reason when it aborts.
   */
  wait(deviceId: string, signal: AbortSignal): Promise<void>;
};

/** Devices come back to a broker that was away within seconds. */
const settleMs = 30_000;
const brokerPatienceMs = 10_000;
const lookEveryMs = 100;

/**
 * Just after a start a delay may be over before the devices are back: what is sent to nobody is lost.
 * @param comesBack whether the broker starts and ends with the backend, so that every device has to come back.
 */
export function createReach(options: {
  events: DeviceEvents;
  isReady: () => boolean;
  comesBack: boolean;
  clock: Clock;
}): Reach {
  const { events, isReady, comesBack, clock } = options;
  const startedMs = clock.monotonic();
  const heard = new Set<string>();
  const isSettled = (): boolean => !comesBack || clock.monotonic() - startedMs > settleMs;
  const listening = events.subscribe((event) => {
    if (event.kind !== 'reports' || isSettled()) return;
    for (const report of event.reports) {
      // A last will is not a word of the device.
      if (report.kind !== 'status' || report.status === 'online') heard.add(report.deviceId);
    }
  });
  return {
    wait: async (deviceId, signal) => {
      const sinceMs = clock.monotonic();
      for (;;) {
        signal.throwIfAborted();
        const isThere = isReady() || clock.monotonic() - sinceMs > brokerPatienceMs;
        if (isThere && (isSettled() || heard.has(deviceId))) return;
        await clock.sleep(lookEveryMs, signal);
      }
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
