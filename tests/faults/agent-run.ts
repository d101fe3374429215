import { createAgentConditions, type AgentConditions } from '@station/kit/conditions';
import type { HealthGate } from '@station/agent/stack/stack-facts';
import type { SurfaceProbe } from '@station/agent/stack/surface-ports';
import type { StackEngine } from '@station/agent/stack/stack-ports';
import type { ReleaseSource } from '@station/agent/stack/release-source';
import { createPort80Lock } from '@station/agent/stack/proxy-service';
import { createJournalKeeper, type JournalKeeper } from '@station/agent/stack/journal-keeper';
import { createSeenImages } from '@station/agent/stack/seen-images';
import { createStack, type Stack } from '@station/agent/stack/stack';
import type { StartAnswer } from '@station/agent/core/stack-port';
import type { Disk } from '@station/kit/durable-files';
import { Stopping } from '@station/kit/lifecycle';
import type { AgentLogger } from '@station/kit/logger';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import { createRandom } from './choice.ts';
import { createProcess, Ended, Endless, type SimulatedProcess } from './process.ts';
import { createSimulatedDisk, type DiskFault } from './simulated-disk.ts';
import { createSimulatedEngine } from './simulated-engine.ts';
import { probeStack } from './engine-state.ts';
import { createVirtualClock, pass, type VirtualClock } from './virtual-clock.ts';
import { bootId, dataDir, manifestOf, readProject, type World } from './world.ts';

/** The request to the agent after its recovery. */
export type Request =
  | { kind: 'none' }
  /** The release server offers this version, and updates are automatic. */
  | { kind: 'automatic'; version: string }
  /** Through the API, while the release server offers `offered`. */
  | { kind: 'update'; version: string | null; offered: string }
  | { kind: 'rollback' };

export type AgentRunOptions = {
  request: Request;
  /** See `ProcessOptions`. */
  endAt?: number | null;
  onPoint?: (index: number, label: string, agent: Agent) => void;
  diskFault?: DiskFault;
  engineFault?: (call: string) => Error | null;
  /** Wraps the simulated engine, to add a flaw. */
  wrapEngine?: (engine: StackEngine) => StackEngine;
  wrapDisk?: (disk: Disk) => Disk;
  /** The boot id that the agent sees, instead of the real one. */
  bootId?: string;
  /** The request comes before the agent's loop runs. */
  askAtOnce?: boolean;
  /** BOOTSTRAP_ON_START; the installer sets it. */
  bootstrapOnStart?: boolean;
  /** As with UPDATE_PUBLIC_KEY: a version keeps the images that were seen first. */
  keepsSeenImages?: boolean;
  /** How long the health gate takes. */
  gate?: HealthGate;
  /** How long a release is watched after its verdict; default: an hour. */
  probationMs?: number;
  /** Whether the wall clock is right; null: nobody knows (default). */
  isClockRight?: () => boolean | null;
  /** How long the agent keeps running once it is idle. */
  stayMs?: number;
  /** It ends as by SIGTERM, not as by a crash. */
  stopsCleanly?: boolean;
  /** Called before each wait of the agent. */
  onSleep?: (agent: Agent) => void;
};

export type AgentRun = {
  /** `quiet`: it became idle; `ended`: the process was ended; `endless`: it never became idle. */
  outcome: 'quiet' | 'ended' | 'endless';
  points: number;
  /** Virtual time of the whole run, and its parts: waits of the health gate, and waits for a silent registry. */
  totalMs: number;
  gateMs: number;
  networkMs: number;
  /** Longest virtual time without a keep-alive, by which the service manager judges the agent. */
  longestSilenceMs: number;
  /** Virtual time until the stack first answered healthy; null when it never did. */
  servedAfterMs: number | null;
  events: string[];
  /** Conditions that were raised, and those that remain at the end. */
  raised: string[];
  conditions: string[];
  answer: StartAnswer | null;
  surprise: unknown;
};

const usualGate: HealthGate = { stabilizationMs: 45_000, timeoutMs: 30_000, devicesMs: 200_000 };
const longestMs = 2 * 3600_000;

/** Runs the agent's own loop in a world until it is idle or its process ends. Changes the world in place. */
export async function runAgent(world: World, options: AgentRunOptions): Promise<AgentRun> {
  const startedMs = world.time.monotonicMs;
  const { waitedMs } = world.engine;
  const stopping = new AbortController();
  const run = emptyRun();
  const watchHealth = createHealthWatch(world, run);
  const recordSilence = (): void => {
    run.longestSilenceMs = Math.max(run.longestSilenceMs, world.time.monotonicMs - agent.stack.lastAliveMs());
  };
  const process = createProcess({
    endAt: options.endAt ?? null,
    onPoint: (index, label) => {
      watchHealth();
      recordSilence();
      options.onPoint?.(index, label, agent);
    },
    onEnd: (reason) => stopping.abort(reason),
  });
  const clock = createVirtualClock(world.time, process, (_, signal) => {
    if (world.time.monotonicMs - startedMs > longestMs + (options.stayMs ?? 0))
      stopping.abort(new Endless('more than two hours of virtual time'));
    recordSilence();
    options.onSleep?.(agent);
    // Only the loop's sleep between two ticks can be woken; other sleeps get the loop's own signal.
    if (signal !== stopping.signal && isAtRest(agent.keeper, world, options)) atRest();
  });
  const agent = createAgent(world, { process, clock, run, options });
  const request = createRequest(agent.stack, options.request, run);
  let restedMs: number | null = null;
  const atRest = (): void => {
    if (request.isAnswered()) {
      restedMs ??= world.time.monotonicMs;
      if (world.time.monotonicMs - restedMs >= (options.stayMs ?? 0))
        stopping.abort(options.stopsCleanly ? new Stopping('SIGTERM') : new AtRest());
    }
    request.ask();
  };
  if (options.askAtOnce) request.ask();
  try {
    await agent.stack.run(stopping.signal);
  } catch (error) {
    const reason: unknown = stopping.signal.aborted ? stopping.signal.reason : error;
    clock.stop(reason);
    run.outcome =
      reason instanceof AtRest || reason instanceof Stopping ? 'quiet' : reason instanceof Ended ? 'ended' : 'endless';
    if (run.outcome === 'endless') run.surprise = reason;
  }
  // A container started just before the end answers a moment later.
  watchHealth(3000);
  run.conditions = agent.conditions.list().map(({ id }) => id);
  run.points = process.points();
  run.networkMs = world.engine.waitedMs - waitedMs;
  run.totalMs = world.time.monotonicMs - startedMs;
  return run;
}

const emptyRun = (): AgentRun => ({
  outcome: 'quiet',
  points: 0,
  totalMs: 0,
  gateMs: 0,
  networkMs: 0,
  longestSilenceMs: 0,
  servedAfterMs: null,
  events: [],
  raised: [],
  conditions: [],
  answer: null,
  surprise: null,
});

/** Returns a check that records when the stack first answered healthy, at most `aheadMs` from now. */
function createHealthWatch(world: World, run: AgentRun): (aheadMs?: number) => void {
  const startedMs = world.time.monotonicMs;
  let checkedMs = startedMs;
  const serves = (at: number): boolean => probeStack(world.engine, { ...world.time, monotonicMs: at }).ok;
  return (aheadMs = 0) => {
    if (run.servedAfterMs !== null) return;
    const now = world.time.monotonicMs + aheadMs;
    if (serves(now)) {
      // The time may have jumped since the last check: find the moment.
      while (checkedMs < now && !serves(checkedMs)) checkedMs += 500;
      run.servedAfterMs = Math.min(checkedMs, now) - startedMs;
    }
    checkedMs = now;
  };
}

type Agent = { stack: Stack; keeper: JournalKeeper; conditions: AgentConditions };

function createAgent(
  world: World,
  parts: { process: SimulatedProcess; clock: VirtualClock; run: AgentRun; options: AgentRunOptions },
): Agent {
  const { process, clock, run, options } = parts;
  const ports = createPorts(world, process, run, options);
  const base = {
    ...ports,
    dataDir,
    clock,
    keepReleases: 1,
    probationMs: options.probationMs ?? 60 * 60_000,
    stabilizationMs: (options.gate ?? usualGate).stabilizationMs,
    bootId: options.bootId ?? bootId(world),
    newId: () => `operation-${(world.ids += 1)}`,
  };
  const keeper = createJournalKeeper(base);
  const conditions = createAgentConditions(clock, ports.logger);
  const stack = createStack({
    ...base,
    keeper,
    conditions,
    random: createRandom(world.boot),
    lock: createPort80Lock(),
    gate: options.gate ?? usualGate,
    seenImages: options.keepsSeenImages ? createSeenImages(base) : undefined,
    source: sourceOf(world, options.request),
    stationId: '6d1f6a2e-6f0b-4f2c-9a37-0d8d8f6c1a11',
    agentVersion: '1.0.0',
    isAutomatic: () => options.request.kind === 'automatic',
    bootstrapOnStart: options.bootstrapOnStart ?? true,
    checkIntervalMs,
    isMaintenanceTime: () => true,
    isClockRight: async () => options.isClockRight?.() ?? null,
  });
  return { stack, keeper, conditions };
}

/** The request of a run, which is made once. Without one, the release server's offer, or nothing, drives the agent. */
function createRequest(stack: Stack, request: Request, run: AgentRun) {
  let isAsked = request.kind === 'none' || request.kind === 'automatic';
  let isAnswered = isAsked;
  return {
    isAnswered: () => isAnswered,
    ask: (): void => {
      if (isAsked) return;
      isAsked = true;
      void ask(stack, request).then(
        (answer) => {
          run.answer = answer;
          isAnswered = true;
        },
        (error: unknown) => {
          run.surprise = error;
          isAnswered = true;
        },
      );
    },
  };
}

const checkIntervalMs = 3600_000;

class AtRest extends Error {}

function isAtRest(keeper: JournalKeeper, world: World, options: AgentRunOptions): boolean {
  if (!keeper.isLoaded()) return false;
  const { operation, installed, upInBoot } = keeper.journal();
  const boot = options.bootId ?? bootId(world);
  const isUp = (options.bootstrapOnStart ?? true) ? upInBoot === boot : upInBoot !== null;
  return operation === null && (installed === null || isUp);
}

async function ask(stack: Stack, request: Request): Promise<StartAnswer> {
  const answer = await (request.kind === 'update' ? stack.update(request.version) : stack.rollback());
  if (answer.kind === 'started') await answer.ended;
  return answer;
}

function createPorts(world: World, process: SimulatedProcess, run: AgentRun, options: AgentRunOptions) {
  let lastProbeMs: number | null = null;
  const disk = createSimulatedDisk(world.disk, process, options.diskFault);
  const engine = createSimulatedEngine({
    state: world.engine,
    time: world.time,
    process,
    readProject: () => readProject(world),
    fault: (call) => {
      if (call !== 'containers') lastProbeMs = null;
      return options.engineFault?.(call) ?? null;
    },
  });
  const logger: AgentLogger = {
    event: (name, fields) => {
      run.events.push(name);
      if (name === 'condition_raised' && 'condition' in fields) run.raised.push(fields.condition);
    },
    failed: () => void run.events.push('unexpected_error'),
    subscribe: () => ({ [Symbol.dispose]: () => undefined }),
    keepSecret: () => undefined,
  };
  return {
    disk: options.wrapDisk?.(disk) ?? disk,
    engine: options.wrapEngine?.(engine) ?? engine,
    logger,
    surface: simulatedSurface(process),
    probe: async () => {
      process.point('probe');
      pass(world.time, 10);
      const now = world.time.monotonicMs;
      if (lastProbeMs !== null) run.gateMs += now - lastProbeMs;
      lastProbeMs = now;
      return probeStack(world.engine, world.time);
    },
  };
}

/** What every release of these worlds shows. */
const simulatedSurface = (process: SimulatedProcess): SurfaceProbe => ({
  look: {
    page: async () => {
      process.point('surface');
      return { kind: 'modules', fault: null };
    },
    socket: async () => true,
    setup: async () => false,
    logIn: async () => 401,
    devices: async () => ['lamp'],
  },
  startPage: async () => ({ kind: 'modules', fault: null }),
});

/** The release server. It is reachable exactly when the registry is. */
function sourceOf(world: World, request: Request): ReleaseSource {
  let last: ReleaseManifest | null = null;
  return {
    isSigned: false,
    isForgeable: false,
    find: async () => ({ kind: 'unavailable', reason: 'no network' }),
    latest: () => last,
    check: async () => {
      // Read each time, because the offer may change.
      const offered =
        request.kind === 'automatic' ? request.version : request.kind === 'update' ? request.offered : null;
      if (offered === null || world.engine.registry !== 'up') return { kind: 'unavailable', reason: 'no network' };
      last = manifestOf(world, offered);
      return { kind: 'ok', manifest: last, changed: true };
    },
  };
}
