import { join } from 'node:path';
import { createAgentConditions } from '@station/kit/conditions';
import { createFirmware } from '@station/agent/firmware/firmware';
import type { CacheDisk } from '@station/agent/firmware/firmware-ports';
import type { AgentLogger } from '@station/kit/logger';
import type { Status } from '@station/protocol/agent-api';
import { checksumOfFile } from '@station/simulators/firmware/image-builder';
import { createRandom } from './choice.ts';
import {
  bootOf,
  cacheDir,
  createBackend,
  createCacheDisk,
  createServer,
  dataDir,
  imageOf,
  manifestOf,
  maxBytes,
  type FirmwareWorld,
} from './firmware-world.ts';
import { createProcess, Ended, Endless } from './process.ts';
import { readNow, type DiskFault } from './simulated-disk.ts';
import { createVirtualClock } from './virtual-clock.ts';

export type FirmwareRunOptions = {
  /** Crash point at which the process ends; null: it lives. */
  endAt?: number | null;
  onPoint?: (index: number, label: string) => void;
  diskFault?: DiskFault;
  /** Wraps the disk, to add a flaw. */
  wrapDisk?: (disk: CacheDisk) => CacheDisk;
  /** The firmware server cannot be reached. */
  isServerDown?: boolean;
  /** Whether the wall clock is right; default: it is. */
  isClockRight?: () => boolean | null;
  /** Called before each wait. */
  onSleep?: () => void;
  /** Duration of the run in virtual time; default: until nothing is left to do. */
  forMs?: number;
};

export type FirmwareRunResult = {
  outcome: 'quiet' | 'ended' | 'endless';
  points: number;
  events: { event: string; reason?: string }[];
  /** Conditions that were set, and those still set at the end. */
  raised: string[];
  conditions: string[];
  status: Status['firmware'];
  surprise: unknown;
};

class AtRest extends Error {}
const longestMs = 6 * 3600_000;
/** A longer wait means that nothing is left to do, because delays after a failure begin shorter. */
const restMs = 200_000;

/** Runs the agent's firmware duty until it is idle or its process ends. Changes the world in place. */
export async function runFirmware(world: FirmwareWorld, options: FirmwareRunOptions = {}): Promise<FirmwareRunResult> {
  const startedMs = world.time.monotonicMs;
  const stopping = new AbortController();
  const process = createProcess({
    endAt: options.endAt ?? null,
    onEnd: (reason) => stopping.abort(reason),
    ...(options.onPoint ? { onPoint: options.onPoint } : {}),
  });
  const events: FirmwareRunResult['events'] = [];
  const raised: string[] = [];
  const clock = createVirtualClock(world.time, process, (ms) => {
    const elapsedMs = world.time.monotonicMs - startedMs;
    options.onSleep?.();
    if (elapsedMs > longestMs) stopping.abort(new Endless('more than six hours of virtual time'));
    if (options.forMs === undefined ? ms >= restMs : elapsedMs >= options.forMs) stopping.abort(new AtRest());
  });
  const logger: AgentLogger = {
    event: (event, fields) => {
      events.push({ event, ...('reason' in fields ? { reason: String(fields.reason) } : {}) });
      if (event === 'condition_raised' && 'condition' in fields) raised.push(fields.condition);
    },
    failed: () => void events.push({ event: 'unexpected_error' }),
    subscribe: () => ({ [Symbol.dispose]: () => undefined }),
    keepSecret: () => undefined,
  };
  const conditions = createAgentConditions(clock, logger);
  const disk = createCacheDisk(world, process, options.diskFault ?? (() => null));
  const firmware = createFirmware({
    source: {
      isSigned: false,
      isForgeable: false,
      check: async () => {
        process.point('server.manifest');
        return options.isServerDown ? { kind: 'unavailable', reason: 'no network', missing: false } : manifestOf(world);
      },
    },
    disk: options.wrapDisk?.(disk) ?? disk,
    open: createServer(world, process),
    backend: createBackend(world, process),
    conditions,
    clock,
    logger,
    random: createRandom(world.boot),
    directory: cacheDir,
    folder: '/firmware',
    dataDir,
    bootId: bootOf(world),
    maxBytes,
    checkIntervalMs: 3600_000,
    isUsualAddress: false,
    isClockRight: async () => (options.isClockRight ? options.isClockRight() : true),
    isAutomatic: () => true,
    isLineTaken: () => false,
  });
  const result = { outcome: 'quiet' as FirmwareRunResult['outcome'], surprise: null as unknown };
  try {
    await firmware.run(stopping.signal);
  } catch (error) {
    const reason: unknown = stopping.signal.aborted ? stopping.signal.reason : error;
    clock.stop(reason);
    result.outcome = reason instanceof AtRest ? 'quiet' : reason instanceof Ended ? 'ended' : 'endless';
    if (result.outcome === 'endless') result.surprise = reason;
  }
  const standing = conditions.list().map(({ id }) => id);
  return { ...result, points: process.points(), events, raised, conditions: standing, status: firmware.status() };
}

/** Faults of the cache as the proxy and the backend see it at any time; empty: none. */
export function findCacheFaults(world: FirmwareWorld): string[] {
  const faults: string[] = [];
  for (const path of world.disk.names.keys()) {
    const [, name = '', version = ''] = /^\/firmware-cache\/([a-z]+)@(.+)\.bin$/.exec(path) ?? [];
    const content = readNow(world.disk, path);
    if (name === '' || content === null) continue;
    if (checksumOfFile(content) !== checksumOfFile(imageOf(name, version))) faults.push(`${path} is incomplete`);
  }
  for (const name of Object.keys(world.offered)) {
    const metadata = readNow(world.disk, join(cacheDir, `${name}.json`));
    if (metadata === null) continue;
    try {
      const { file } = JSON.parse(Buffer.from(metadata).toString()) as { file: string };
      if (readNow(world.disk, join(cacheDir, file)) === null) faults.push(`${name}.json names a missing file`);
    } catch {
      faults.push(`${name}.json is damaged`);
    }
  }
  return faults;
}

/** Faults that remain when the duty is idle and has everything that is offered. */
export function findRestFaults(world: FirmwareWorld, run: FirmwareRunResult): string[] {
  const faults = findCacheFaults(world);
  if (run.outcome !== 'quiet') faults.push(`${run.outcome}: ${String(run.surprise)}`);
  for (const [name, version] of Object.entries(world.offered)) {
    const item = run.status.items.find((each) => each.name === name);
    if (item?.version !== version) faults.push(`${name} is at ${item?.version} instead of ${version}`);
    if (item?.handedOver !== true || world.cached[name] !== version) faults.push(`${name} was not handed over`);
  }
  const hidden = [...world.disk.names.keys()].filter((path) => /\.part/.test(path));
  if (hidden.length > 0) faults.push(`left behind: ${hidden.join(', ')}`);
  if (run.conditions.length > 0) faults.push(`conditions: ${run.conditions.join(', ')}`);
  if (run.status.lastError !== null) faults.push(`error: ${run.status.lastError}`);
  const surprises = run.events.filter(({ event }) => event === 'unexpected_error');
  if (surprises.length > 0) faults.push('something unexpected was thrown');
  return faults;
}
