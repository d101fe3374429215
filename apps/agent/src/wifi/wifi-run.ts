import type { ProxyService } from '../core/stack-port.ts';
import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';
import type { AgentConditions } from '@station/kit/conditions';
import type { HotspotFailure } from './conditions.ts';
import { initialMemory, noteScan, type Facts, type Memory } from './wifi-facts.ts';
import { createForward, type Forward } from './credentials-forwarder.ts';
import { createIntentFile } from './intent.ts';
import type { CredentialsBackend, HotspotSettings, PortalActions, PortalServer, Radio, Reachability } from './wifi-ports.ts';
import { createScanner, type Scanner } from './scanner.ts';

export type WatchdogParts = {
  radio: Radio;
  reachability: Reachability;
  proxy: ProxyService;
  backend: CredentialsBackend;
  /** Opens the setup page; called while the hotspot is up and the proxy was told to stop. */
  openPortal: (actions: PortalActions) => PortalServer | Promise<PortalServer>;
  hotspot: HotspotSettings;
  /** WIFI_COUNTRY; null: unset. */
  country: string | null;
  /** WIFI_WATCHDOG. `auto`: nothing is done before a Wi-Fi device was seen. For `off` there is no watchdog. */
  mode: 'auto' | 'on';
  /** Where people find the station after a join, e.g. `http://station.local/`. */
  stationAddress: string;
  disk: Disk;
  /** DATA_DIR. */
  dataDir: string;
  /** Of the machine: a restart of the agent alone is told from a boot by it. */
  bootId: string;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  /** Uniform in [0, 1). */
  random: () => number;
};

/** What one run of the watchdog knows and holds. */
export type WatchdogRun = {
  memory: Memory;
  /** Of the last look; null before it. */
  facts: Facts | null;
  portal: PortalServer | null;
  seenMs: number | null;
  hotspotFailure: HotspotFailure | null;
  /** The candidate whose credentials were taken for the backend by this process. */
  toldCandidateId: string | null;
  scanner: Scanner;
  intent: ReturnType<typeof createIntentFile>;
  forward: Forward;
  actions: PortalActions;
};

/** What the executors of steps work with. */
export type Context = WatchdogParts & { run: WatchdogRun };
export type Outcome = 'done' | 'failed';

/** @param onScan is told that a scan has ended. */
export function createRun(
  parts: WatchdogParts,
  options: { onScan: () => void; actions: (run: WatchdogRun) => PortalActions },
): WatchdogRun {
  const { clock } = parts;
  const run: WatchdogRun = {
    memory: initialMemory(clock.monotonic(), parts.mode === 'on'),
    facts: null,
    portal: null,
    seenMs: null,
    hotspotFailure: null,
    toldCandidateId: null,
    scanner: createScanner({
      ...parts,
      hidden: () => run.facts?.network.hidden ?? [],
      onEnd: (networks) => {
        run.memory = noteScan(run.memory, networks);
        options.onScan();
      },
    }),
    intent: createIntentFile(parts),
    forward: createForward(parts),
    actions: { view: notYet, rescan: notYet, join: notYet, seen: notYet },
  };
  run.actions = options.actions(run);
  return run;
}

const notYet = (): never => {
  throw new Error('the watchdog is not built yet');
};
