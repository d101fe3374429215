import { join } from 'node:path';
import { rollbackTarget } from '@station/agent/stack/operation-decide';
import { stateFiles } from '@station/agent/stack/state-files';
import { readJournal, type Journal } from '@station/agent/stack/journal';
import type { AgentRun } from './agent-run.ts';
import { createProcess } from './process.ts';
import { createSimulatedDisk, readNow } from './simulated-disk.ts';
import { conditionOf, describe, probeStack } from './engine-state.ts';
import { pass } from './virtual-clock.ts';
import { bootId, dataDir, imageIdOf, readFileNow, readImages, services, type World } from './world.ts';

/** Allowed results of a scenario. */
export type Expectation = {
  /** Versions that work; the stack must end on one of them. */
  healthy: readonly string[];
  /** Versions that are expected to fail: they may be quarantined. */
  unhealthy: readonly string[];
  /** `fresh`: nothing was installed before, so nothing may be installed at the end. */
  start: 'fresh' | 'installed' | 'booted' | 'older';
  /** True when a release that works takes long to start. */
  slow: boolean;
  /** True when the agent had to wait for the end of a fault. */
  disturbed?: boolean;
  /** True when a state file was damaged: what only it recorded may be lost. */
  damaged?: boolean;
  /** True when the agent was interrupted so often that it may have given up a release. */
  stormy?: boolean;
  /** Operations before the scenario began. */
  operationsBefore: number;
};

/** Longest time that the agent may work after its start, without waits for the health gate and the network. */
const longestWorkMs = 60_000;
const settlingMs = 3000;
/** Longest time until the stack serves again when a working release should run. */
const longestDowntimeMs = 60_000;

/** Checks a station from outside when its agent is idle. @returns the faults; empty: none. */
export async function judge(world: World, run: AgentRun, expected: Expectation): Promise<string[]> {
  // Containers that have just started get the time they need.
  pass(world.time, settlingMs);
  if (run.outcome !== 'quiet') return [`the agent is not idle: ${run.outcome}, ${String(run.surprise)}`];
  const disk = createSimulatedDisk(world.disk, createProcess({ endAt: null }));
  const reading = await readJournal(disk, dataDir);
  if (reading.kind !== 'ok') return [`the journal is ${reading.kind}`];
  const { journal } = reading;
  const faults = [...judgeJournal(journal, world, expected), ...judgeFiles(journal, world)];
  // A stack without a record is managed unchanged.
  const isFound = expected.start === 'fresh' && expected.damaged === true && journal.installed?.version === null;
  if (isFound) return faults;
  if (journal.installed) faults.push(...judgeStack(journal, world, expected), ...judgeImages(journal, world, expected));
  else if (expected.start !== 'fresh') faults.push('the agent has lost the installed release');
  if (run.events.includes('unexpected_error')) faults.push('an unexpected error was logged');
  const workMs = run.totalMs - run.gateMs - run.networkMs;
  if (!expected.disturbed && workMs > longestWorkMs) faults.push(`worked for ${seconds(workMs)}`);
  return faults;
}

/** Whether a recovery left the stack down for long although a working release should run. */
export function judgeAbsence(run: AgentRun, expected: Expectation): string[] {
  if (expected.start === 'fresh' || expected.unhealthy.length > 0 || expected.slow) return [];
  if (run.servedAfterMs !== null && run.servedAfterMs <= longestDowntimeMs) return [];
  return [`the stack did not serve for ${run.servedAfterMs === null ? 'ever' : seconds(run.servedAfterMs)}`];
}

function judgeJournal(journal: Journal, world: World, expected: Expectation): string[] {
  const faults: string[] = [];
  if (journal.operation) faults.push(`the journal is in ${journal.operation.phase}`);
  if (journal.installed && journal.upInBoot !== bootId(world)) faults.push('the stack was not brought up in this boot');
  const ids = journal.history.map((entry) => entry.id);
  if (new Set(ids).size !== ids.length) faults.push('an operation ended twice');
  const hasPast = expected.start === 'installed' || expected.start === 'booted';
  if (hasPast && !expected.damaged) {
    if (journal.kept.length === 0) faults.push('the previous release is lost');
    if (!ids.includes('operation-1')) faults.push('the history is lost');
  }
  for (const { version, reason } of journal.quarantined) {
    const isManual = reason === 'rolled back manually';
    const givenUp = expected.stormy === true && reason === 'interrupted too often';
    if (expected.healthy.includes(version) && !isManual && !givenUp)
      faults.push(`${version} works but is quarantined: ${reason}`);
  }
  const own = journal.history.filter(({ id }) => Number(id.split('-')[1]) > expected.operationsBefore);
  for (const entry of own) {
    const worked = entry.result === 'updated' || (entry.kind === 'rollback' && entry.reason === null);
    if (worked && expected.unhealthy.includes(entry.to ?? ''))
      faults.push(`${entry.to} has the result ${entry.result}`);
    const undone = entry.result === 'rolled_back' && entry.kind === 'update';
    const known = journal.quarantined.some(({ version }) => version === entry.to);
    if (undone && !known && journal.installed?.version !== entry.to) faults.push(`${entry.to} failed, unquarantined`);
  }
  return faults;
}

function judgeFiles(journal: Journal, world: World): string[] {
  const faults: string[] = [];
  const { installed } = journal;
  const current = readFileNow(world, stateFiles.currentVersion);
  const wanted = installed?.version ? `${installed.version}\n` : null;
  if (current !== wanted) faults.push(`current_version.txt is ${JSON.stringify(current)}`);
  const pins = readImages(readNow(world.disk, join(dataDir, stateFiles.updateOverride)));
  if (!pins || !samePins(pins, installed?.imageIds ?? {})) faults.push('the update override pins other images');
  const rollback = readFileNow(world, stateFiles.rollback);
  const target = rollbackTarget(journal)?.release ?? null;
  const rollbackFile =
    rollback === null ? null : (JSON.parse(rollback) as { version: string; imageIds: Record<string, string> });
  if (rollbackFile?.version !== target?.version) faults.push(`rollback.json names ${rollbackFile?.version}`);
  if (rollbackFile && rollbackFile.version === installed?.version)
    faults.push('rollback.json names the installed release');
  if (rollbackFile && JSON.stringify(rollbackFile.imageIds) !== JSON.stringify(target?.imageIds))
    faults.push('rollback.json names other images');
  if (rollbackFile && journal.quarantined.some(({ version }) => version === rollbackFile.version))
    faults.push('rollback.json names a quarantined release');
  return faults;
}

/** All containers are of the one installed release, which works, and they answer healthy. */
function judgeStack(journal: Journal, world: World, expected: Expectation): string[] {
  const faults: string[] = [];
  const version = journal.installed?.version ?? 'none';
  if (!expected.healthy.includes(version)) faults.push(`ended on ${version}`);
  const { live } = world.engine;
  for (const service of new Set([...services, ...Object.keys(journal.installed?.imageIds ?? {})])) {
    const own = [...live.containers.values()].filter((one) => one.service === service);
    const states = own.map((one) => describe(world.engine, one, world.time.monotonicMs).state).join();
    if (states !== 'running') faults.push(`${service} is ${states || 'without a container'}`);
    if (own.some((one) => one.imageId !== journal.installed?.imageIds[service]))
      faults.push(`${service} runs another image`);
  }
  // The id identifies the release, whatever the journal names it.
  if (journal.installed?.imageIds['backend'] !== imageIdOf('backend', version))
    faults.push(`the running release is not ${version}`);
  if (!probeStack(world.engine, world.time).ok) faults.push('the health check fails');
  return faults;
}

/** Checks that every needed image is complete and pinned, and that the agent left no others. */
function judgeImages(journal: Journal, world: World, expected: Expectation): string[] {
  const faults: string[] = [];
  const { live } = world.engine;
  const releases = [journal.installed, ...journal.kept.map(({ release }) => release)];
  const wanted = releases.flatMap((release) => Object.values(release?.imageIds ?? {}));
  // An image that was removed before the agent's first run cannot be pinned; a condition reports it.
  // The agent cannot know whether the others are complete until it rolls back to them.
  for (const id of expected.start === 'older' ? Object.values(journal.installed?.imageIds ?? {}) : wanted) {
    if (!live.images.has(id) || conditionOf(live, id) !== 'whole') faults.push(`a needed image is not complete`);
    if (!live.pins.has(id)) faults.push('a needed image is not pinned');
  }
  for (const id of live.pins) if (!wanted.includes(id)) faults.push('an image is pinned needlessly');
  if (Object.keys(journal.retired).length > 0) faults.push('retired images were not removed');
  return faults;
}

const samePins = (pins: ReadonlyMap<string, string>, ids: Readonly<Record<string, string>>): boolean =>
  pins.size === Object.keys(ids).length && [...pins].every(([service, id]) => ids[service] === id);

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
