import { type Clock, wallTimeOf } from '@station/kit/clock';
import type { JoinBlocker } from '@station/protocol/agent-network';
import type { NetworkActions } from '../core/network-port.ts';
import { describeSsid } from '../core/wifi-network.ts';
import { isUsable } from './wifi-facts.ts';
import type { Radio } from './wifi-ports.ts';
import type { WatchdogRun } from './wifi-run.ts';

type Parts = {
  radio: Pick<Radio, 'networks'>;
  clock: Clock;
  wake: () => void;
  /** Scans unless the last result is fresh; at most 15 s. */
  rescan: () => Promise<void>;
};

/** The network for the web app. As for the setup page, a join is only recorded here; the watchdog does it. */
export function createNetworkActions(run: WatchdogRun, { radio, clock, wake, rescan }: Parts): NetworkActions {
  return {
    view: () => {
      const { attempt, appJoin } = run.memory;
      const endedMs = run.scanner.endedMs();
      return {
        blocker: blockerOf(run),
        networks: radio.networks().map((network) => ({ ...network, name: describeSsid(network.ssid) })),
        scannedAt: endedMs === null ? null : wallTimeOf(clock, endedMs),
        joining: attempt && attempt.kind !== 'known' ? describeSsid(attempt.request.ssid) : null,
        lastJoin: appJoin && {
          name: describeSsid(appJoin.ssid),
          failure: appJoin.failure,
          at: appJoin.endedAt,
        },
      };
    },
    rescan: async () => {
      if (blockerOf(run) === null) await rescan();
    },
    join: (request) => {
      const blocker = blockerOf(run);
      if (blocker !== null) return blocker;
      const attempt = { kind: 'app', request, acceptedMs: clock.monotonic(), candidate: null } as const;
      run.memory = { ...run.memory, attempt };
      wake();
      return 'accepted';
    },
  };
}

/** Why no network can be joined now. In the hotspot its own page does that. */
function blockerOf({ memory, facts }: WatchdogRun): JoinBlocker | null {
  if (memory.attempt || memory.state === 'JOINING') return 'joining';
  if (memory.state === 'HOTSPOT_ACTIVE') return 'hotspot';
  if (facts === null || memory.state === 'INIT') return 'starting';
  return isUsable(facts.network) ? null : 'no_radio';
}
