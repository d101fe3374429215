import { events } from '@station/protocol/events';
import { createAgentConditions, type AgentConditions } from '@station/kit/conditions';
import type { ProxyService } from '@station/agent/core/stack-port';
import type { CredentialsBackend, Radio, Reachability } from '@station/agent/wifi/wifi-ports';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { createWatchdog, type Watchdog } from '@station/agent/wifi/watchdog';
import { Stopping } from '@station/kit/lifecycle';
import { createLogger, type AgentLogger } from '@station/kit/logger';
import type { WifiStatus } from '@station/protocol/agent-api';
import { reach } from '@station/simulators/wifi/air';
import { createSimulatedRadio, type Gate } from '@station/simulators/wifi/radio';
import { createRandom } from './choice.ts';
import { createProcess, Ended, Endless, type SimulatedProcess } from './process.ts';
import { createSimulatedDisk, systemError } from './simulated-disk.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';
import { dataDir, endProcess, openSimulatedPortal, passwordOf, watchPortal, type WifiWorld } from './wifi-world.ts';

/** A change of the world at a moment of its monotonic time. */
export type WorldEvent = { atMs: number; name: string; apply: (world: WifiWorld) => void };

export type WifiRunOptions = {
  /** End of the run in the world's time, unless the process ends before. */
  untilMs: number;
  /** At that time the run is abandoned (`cut`) or the agent is stopped (`stop`). */
  end: 'cut' | 'stop';
  events?: readonly WorldEvent[];
  /** Crash point at which the process ends. */
  endAt?: number | null;
  /** Whether this call fails now. */
  fault?: (call: string) => boolean;
  onPoint?: (index: number, label: string) => void;
  mode?: 'auto' | 'on';
};

export type WifiRunResult = {
  outcome: 'time' | 'ended' | 'stopped' | 'endless';
  status: WifiStatus;
  conditions: string[];
  lines: string[];
  points: number;
  surprise: unknown;
};

class TimeUp extends Error {}

/** Runs the Wi-Fi duty of one process of the agent. The world is changed in place. */
export async function runWifi(world: WifiWorld, options: WifiRunOptions): Promise<WifiRunResult> {
  const stopping = new AbortController();
  world.process += 1;
  const process = createProcess({
    endAt: options.endAt ?? null,
    onEnd: (reason) => {
      stopping.abort(reason);
      // All sleeps belong to the process.
      queueMicrotask(() => clock.stop(reason));
    },
    ...(options.onPoint ? { onPoint: options.onPoint } : {}),
  });
  const clock = createVirtualClock(world.time, process);
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const logger = createLogger({ catalogue: events, clock, level: 'debug', secrets: [], write });
  const conditions = createAgentConditions(clock, logger);
  // The result is the world at that time, before the agent's clean-up.
  let isOver = false;
  const alive = (): void => {
    if (isOver) throw new Ended();
  };
  const watchdog = createWatchdogIn(world, { process, clock, logger, conditions, alive, options });
  world.network = watchdog.network;
  const changes = applyEvents(world, options, clock.sleep, process).then(
    () => stopping.abort(options.end === 'stop' ? new Stopping('stop') : new TimeUp()),
    () => undefined,
  );
  const result = { outcome: 'time' as WifiRunResult['outcome'], surprise: null as unknown };
  let status = watchdog.status();
  let standing: string[] = [];
  stopping.signal.addEventListener('abort', () => {
    status = watchdog.status();
    standing = conditions.list().map(({ id }) => id);
    isOver = stopping.signal.reason instanceof TimeUp;
  });
  try {
    await watchdog.run(stopping.signal);
    result.surprise = new Error('it ended without a stop request');
  } catch (error) {
    const reason: unknown = stopping.signal.reason;
    result.outcome = outcomeOf(reason);
    if (error !== reason && !(error instanceof Ended)) result.surprise = error;
  }
  clock.stop(new Ended());
  await changes;
  if (result.outcome === 'ended') endProcess(world);
  return { ...result, status, conditions: standing, lines, points: process.points() };
}

type Parts = {
  process: SimulatedProcess;
  clock: VirtualClock;
  logger: AgentLogger;
  conditions: AgentConditions;
  /** @throws Ended once the time of the run is over. */
  alive: () => void;
  options: WifiRunOptions;
};

function createWatchdogIn(world: WifiWorld, { process, clock, logger, conditions, alive, options }: Parts): Watchdog {
  const isFaulty = options.fault ?? (() => false);
  const gate: Gate = (call) => {
    process.point(call);
    alive();
    watchPortal(world);
    return isFaulty(call) ? 'fault' : 'ok';
  };
  // The simulator does not import the agent; this checks that it implements the port.
  const radio: Radio = createSimulatedRadio({ air: world.air, clock, owner: world.process, gate });
  return createWatchdog({
    radio,
    reachability: createReachability(world, gate, clock.sleep),
    proxy: createProxy(world, gate, clock.sleep),
    backend: createBackend(world, gate),
    openPortal: (actions) => {
      if (gate('portal.open') === 'fault') throw new Error('the page cannot be opened');
      return openSimulatedPortal(world, actions, () => gate('portal.close'));
    },
    hotspot: { ssid: ssidFromText('Station-0001'), password: null, address: '192.0.2.1', prefixLength: 24 },
    country: null,
    mode: options.mode ?? 'on',
    stationAddress: 'http://station.local/',
    disk: createSimulatedDisk(world.disk, process, (operation, path) => {
      alive();
      if (world.isDiskFull && ['write', 'makeDirectory'].includes(operation)) {
        return systemError('ENOSPC', operation, path);
      }
      return isFaulty(`disk.${operation}`) ? systemError('EIO', operation, path) : null;
    }),
    dataDir,
    bootId: `boot-${world.boot}`,
    conditions,
    clock,
    logger,
    random: createRandom(world.process),
  });
}

const createReachability = (world: WifiWorld, gate: Gate, sleep: Sleep): Reachability => ({
  probe: async (gateway, signal) => {
    gate('probe');
    const answer = reach(world.air, gateway);
    await sleep(answer === 'full' ? 200 : 9000, signal);
    return answer;
  },
});

const createBackend = (world: WifiWorld, gate: Gate): CredentialsBackend => ({
  send: async (wifi) => {
    if (gate('backend.send') === 'fault' || world.backend === 'offline') return { kind: 'failed', reason: 'offline' };
    if (world.backend === 'refuses') {
      world.hasRefused = true;
      return { kind: 'refused', reason: 'refused' };
    }
    if (wifi.password !== null && wifi.password !== passwordOf(wifi.ssid))
      throw new Error('credentials of another network');
    world.forwarded.push(wifi.ssid);
    return { kind: 'accepted' };
  },
});

const outcomeOf = (reason: unknown): WifiRunResult['outcome'] => {
  if (reason instanceof Endless) return 'endless';
  if (reason instanceof Ended) return 'ended';
  return reason instanceof Stopping ? 'stopped' : 'time';
};

type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

async function applyEvents(
  world: WifiWorld,
  { events = [], untilMs }: WifiRunOptions,
  sleep: Sleep,
  process: SimulatedProcess,
): Promise<void> {
  const later = events.filter(({ atMs }) => atMs > world.time.monotonicMs && atMs <= untilMs);
  for (const event of later.sort((a, b) => a.atMs - b.atMs)) {
    await sleep(event.atMs - world.time.monotonicMs);
    event.apply(world);
  }
  await sleep(untilMs - world.time.monotonicMs);
  process.alive();
}

function createProxy(world: WifiWorld, gate: Gate, sleep: Sleep): ProxyService {
  const set = async (isRunning: boolean, call: string, signal: AbortSignal): Promise<boolean> => {
    if (gate(call) === 'fault' || !world.hasEngine) {
      await sleep(20_000, signal);
      return false;
    }
    await sleep(1000, signal);
    gate(`${call} takes effect`);
    world.isProxyRunning = isRunning;
    await sleep(200, signal);
    return true;
  };
  return {
    stop: async (signal) => ((await set(false, 'proxy.stop', signal)) ? 'stopped' : 'failed'),
    start: async (signal) => ((await set(true, 'proxy.start', signal)) ? 'started' : 'failed'),
  };
}
