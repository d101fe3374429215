import type { Clock } from '@station/kit/clock';
import type { PortalActions, Radio } from './wifi-ports.ts';
import type { WatchdogRun } from './wifi-run.ts';
import type { SsidHex } from '../core/ssid.ts';

const longestRescanMs = 15_000;

/** What the setup page may ask for. A join is only noted here: the watchdog does it. */
export function createPortalActions(
  run: WatchdogRun,
  parts: {
    radio: Pick<Radio, 'networks'>;
    hotspotSsid: SsidHex;
    stationAddress: string;
    clock: Clock;
    wake: () => void;
    /** Of the run of the watchdog. */
    signal: () => AbortSignal;
  },
): PortalActions {
  const { clock, wake } = parts;
  return {
    view: () => {
      const { attempt, lastJoin } = run.memory;
      return {
        hotspotSsid: parts.hotspotSsid,
        networks: parts.radio.networks(),
        isLooking: run.scanner.endedMs() === null,
        joining: attempt?.kind === 'portal' ? attempt.request.ssid : null,
        lastJoin,
        stationAddress: parts.stationAddress,
      };
    },
    rescan: async () => {
      const signal = parts.signal();
      const waited = new AbortController();
      const timeout = clock.sleep(longestRescanMs, AbortSignal.any([signal, waited.signal])).catch(() => undefined);
      await Promise.race([run.scanner.scan(signal), timeout]);
      waited.abort();
    },
    join: (request) => {
      if (run.memory.attempt || run.memory.state !== 'HOTSPOT_ACTIVE' || !run.portal) return 'busy';
      run.memory = {
        ...run.memory,
        attempt: { kind: 'portal', request, acceptedMs: clock.monotonic(), candidate: null },
      };
      wake();
      return 'accepted';
    },
    seen: () => {
      run.seenMs = clock.monotonic();
    },
  };
}
