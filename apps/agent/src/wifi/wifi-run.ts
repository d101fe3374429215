import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import type { AgentConditions } from '@station/kit/conditions';
import { type Disk, writeDurable } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';
import type { SsidHex, Network } from '../core/wifi-network.ts';
import type { ProxyService } from '../core/stack-port.ts';
import type { HotspotFailure } from './wifi-status.ts';
import { createCredentialsForwarder, type CredentialsForwarder } from './credentials-forwarder.ts';
import { createIntentFile } from './hotspot-cleanup.ts';
import { type Facts, initialMemory, type Memory, noteScan } from './wifi-facts.ts';
import type { CredentialsBackend, HotspotSettings, Radio, Reachability } from './wifi-ports.ts';
import type { PortalActions, PortalServer } from '../core/hotspot-ports.ts';

export type WatchdogParts = {
  radio: Radio;
  reachability: Reachability;
  proxy: ProxyService;
  backend: CredentialsBackend;
  /** Opens the setup page; called while the hotspot is up and after the stop of the proxy. */
  openPortal: (actions: PortalActions) => PortalServer | Promise<PortalServer>;
  hotspot: HotspotSettings;
  /** WIFI_COUNTRY; null: unset. */
  country: string | null;
  /** WIFI_WATCHDOG. `auto`: idle until a Wi-Fi device was seen. For `off` there is no watchdog. */
  mode: 'auto' | 'on';
  /** Where people find the station after a join, e.g. `http://station.local/`. */
  stationAddress: string;
  disk: Disk;
  /** DATA_DIR. */
  dataDir: string;
  /** The machine's boot id: it distinguishes a restart of the agent from a boot. */
  bootId: string;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  /** Uniform in [0, 1). */
  random: () => number;
};

/** What changes in one run of the watchdog. */
type RunState = {
  memory: Memory;
  /** Of the last observation; null before it. */
  facts: Facts | null;
  portal: PortalServer | null;
  seenMs: number | null;
  hotspotFailure: HotspotFailure | null;
  /** The candidate whose credentials this process has passed to the forwarder. */
  forwardedCandidateId: string | null;
};

/** One run of the watchdog. */
export type WatchdogRun = RunState & {
  scanner: Scanner;
  intent: ReturnType<typeof createIntentFile>;
  joined: ReturnType<typeof createJoinedFile>;
  forward: CredentialsForwarder;
};

/** What the executors of steps use. */
export type Context = WatchdogParts & { run: WatchdogRun; actions: PortalActions };
export type Outcome = 'done' | 'failed';

/** @param onScan called when a scan has ended. */
export function createRun(parts: WatchdogParts, onScan: () => void): WatchdogRun {
  const state: RunState = {
    memory: initialMemory(parts.clock.monotonic(), parts.mode === 'on'),
    facts: null,
    portal: null,
    seenMs: null,
    hotspotFailure: null,
    forwardedCandidateId: null,
  };
  const scanner = createScanner({
    ...parts,
    hidden: () => state.facts?.network.hidden ?? [],
    onEnd: (networks) => {
      state.memory = noteScan(state.memory, networks);
      onScan();
    },
  });
  return Object.assign(state, {
    scanner,
    intent: createIntentFile(parts),
    joined: createJoinedFile(parts),
    forward: createCredentialsForwarder(parts),
  });
}

const joinedFile = 'wifi-joined.json';

/**
 * `wifi-joined.json` in DATA_DIR: the station was in a network once. Only its existence counts, so that a damaged file
 * never makes a new station of one that is somebody's.
 */
function createJoinedFile({ disk, dataDir }: { disk: Disk; dataDir: string }) {
  const path = join(dataDir, joinedFile);
  return {
    /** @throws the file system's error. */
    exists: async (): Promise<boolean> => (await disk.read(path)) !== null,
    /** @throws the file system's error. */
    write: (): Promise<void> => writeDurable(disk, path, `${JSON.stringify({ everJoined: true })}\n`),
  };
}

/** Scans in parallel to everything else, one at a time. */
type Scanner = {
  isRunning(): boolean;
  /** Monotonic time at which the last one ended; null: there was none. */
  endedMs(): number | null;
  /** Resolves at the end of a scan: a new one, or the one under way. Never rejects. */
  scan(signal: AbortSignal): Promise<void>;
  /** Ends the one under way: the radio is needed. */
  cancel(): Promise<void>;
};

function createScanner(parts: {
  radio: Radio;
  clock: Clock;
  logger: AgentLogger;
  /** Hidden known networks. */
  hidden: () => readonly SsidHex[];
  onEnd: (networks: readonly Network[]) => void;
}): Scanner {
  const { radio, clock, logger } = parts;
  let endedMs: number | null = null;
  let running: { ended: Promise<void>; stopping: AbortController } | null = null;

  const scan = async (signal: AbortSignal): Promise<void> => {
    try {
      const found = await radio.scan({ hidden: parts.hidden() }, signal);
      if (!signal.aborted) parts.onEnd(found);
    } catch (error) {
      if (!signal.aborted) logger.failed('wifi scan', error);
    } finally {
      running = null;
      // A scan that was ended or failed is not repeated at once.
      endedMs = clock.monotonic();
    }
  };

  return {
    isRunning: () => running !== null,
    endedMs: () => endedMs,
    scan: (signal) => {
      if (running) return running.ended;
      const stopping = new AbortController();
      // Set before the scan can end.
      const current = { ended: Promise.resolve(), stopping };
      running = current;
      current.ended = scan(AbortSignal.any([signal, stopping.signal]));
      return current.ended;
    },
    cancel: async () => {
      running?.stopping.abort(new Error('the radio is needed'));
      await running?.ended;
    },
  };
}

const longestRescanMs = 15_000;
/** A result this fresh is shown instead of a new scan: scans slow down the radio, and anybody near an open hotspot may ask for them. */
const freshMs = 10_000;

/** The actions of the setup page. A join is only recorded here; the watchdog does it. */
export function createPortalActions(
  run: WatchdogRun,
  parts: {
    radio: Pick<Radio, 'networks'>;
    hotspot: Pick<HotspotSettings, 'ssid' | 'password'>;
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
      const { attempt, lastJoin, everJoined } = run.memory;
      return {
        hotspotSsid: parts.hotspot.ssid,
        isOpen: parts.hotspot.password === null,
        wasEverJoined: everJoined !== 'never',
        networks: parts.radio.networks(),
        isLooking: run.scanner.endedMs() === null,
        joining: attempt && attempt.kind !== 'known' ? attempt.request.ssid : null,
        lastJoin,
        stationAddress: parts.stationAddress,
      };
    },
    rescan: async () => {
      const endedMs = run.scanner.endedMs();
      if (endedMs !== null && clock.monotonic() - endedMs < freshMs) return;
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
