import { ownValue } from '@station/protocol/own-value';
import type { ContainerFact, ProbeAnswer } from './stack-ports.ts';
import type { FailureCode, HealthGate, RestartsSeen, Watch, WatchedPart } from './stack-facts.ts';
import { requiredParts, surfaceCodes } from './surface-decide.ts';
import type { Surface, SurfacePart } from './surface-ports.ts';

/** Longest failure-free period that is required, whatever the stabilization wait is. */
const longestRequiredPassMs = 10_000;
/** A service with this many restarts is crash-looping. The engine's doubling back-off takes about 3 s for them. */
const restartsOfALoop = 4;
/** A slower loop: this many restarts, and one of them after this time or no pass until then. Normal starts may need restarts. */
const slowLoop = { restarts: 2, afterMs: 12_000 };
/** After a restart a service must run this many times longer than before it, so that a loop shows its next restart. */
const stableFactor = 2;

export type Restarts = Readonly<Record<string, number>>;

/** @param surface what the release has to show; null: only its health. */
export function startWatch(nowMs: number, surface: Surface | null = null): Watch {
  const required = surface === null ? [] : requiredParts(surface);
  return {
    startedMs: nowMs,
    attempts: 0,
    passingSinceMs: null,
    firstPassMs: null,
    lastSampleMs: null,
    lastStatus: null,
    lastReason: null,
    restarts: {},
    ended: null,
    parts: required.map(unseen),
  };
}

const unseen = (part: SurfacePart): WatchedPart => ({ part, isShown: false, fault: null });

/** Restart counts at the start of the watch, by container; later counts are compared with them. */
export function restartBaseline(containers: readonly ContainerFact[], services: readonly string[]): Restarts {
  return Object.fromEntries(containers.filter((c) => services.includes(c.service)).map((c) => [c.id, c.restartCount]));
}

/** Adds one sample: the health answer, and the containers of the release's services at that moment. */
export function addSample(
  watch: Watch,
  sample: {
    nowMs: number;
    answer: ProbeAnswer;
    containers: readonly ContainerFact[];
    imageIds: Readonly<Record<string, string>>;
  },
  baseline: Restarts,
): Watch {
  const problem = containerProblem(sample.containers, sample.imageIds);
  const passed = sample.answer.ok && problem === null;
  const counts = sample.containers
    .filter((c) => c.service in sample.imageIds)
    .map(({ id, restartCount }) => [id, restartCount - (ownValue(baseline, id) ?? 0)] as const);
  const restartedNow = counts.filter(([id, count]) => count > (ownValue(watch.restarts, id)?.count ?? 0));
  // The proxy holds requests while a service restarts, so the health address alone does not show a restart.
  const restarted = restartedNow.length > 0;
  const lastAfterMs = sample.nowMs - watch.startedMs;
  const restarts: [string, RestartsSeen][] = [
    ...Object.entries(watch.restarts),
    ...restartedNow.map(([id, count]): [string, RestartsSeen] => [id, { count, lastAfterMs, passedSince: false }]),
  ];
  const passingSinceMs = restarted ? null : watch.passingSinceMs;
  return {
    ...watch,
    attempts: watch.attempts + 1,
    lastSampleMs: sample.nowMs,
    passingSinceMs: passed ? (passingSinceMs ?? sample.nowMs) : null,
    firstPassMs: watch.firstPassMs ?? (passed ? sample.nowMs : null),
    lastStatus: sample.answer.status,
    lastReason: passed ? null : (problem ?? sample.answer.reason),
    restarts: Object.fromEntries(
      restarts.map(([id, seen]) => [id, { ...seen, passedSince: seen.passedSince || passed }]),
    ),
    ended: endedService(sample.containers, sample.imageIds),
    parts: restarted ? watch.parts.map(({ part }) => unseen(part)) : watch.parts,
  };
}

/** Adds what a look at some parts found: part → its fault, or null when it is shown. */
export const addParts = (watch: Watch, found: ReadonlyMap<SurfacePart, string | null>): Watch => ({
  ...watch,
  parts: watch.parts.map((before) => {
    const fault = found.get(before.part);
    return fault === undefined ? before : { ...before, isShown: fault === null, fault };
  }),
});

/** Parts to look at: only while the release passes, because otherwise none of them is expected. */
export const partsToLookAt = ({ passingSinceMs, parts }: Watch): SurfacePart[] =>
  passingSinceMs === null ? [] : parts.filter(({ isShown }) => !isShown).map(({ part }) => part);

type HealthVerdict = { kind: 'wait' } | { kind: 'passed' } | { kind: 'failed'; code: FailureCode; reason: string };

/**
 * Decides whether the release is healthy, has failed, or needs more time. Only samples count: without a sample
 * nothing has failed.
 */
export function judgeHealth(watch: Watch, gate: HealthGate): HealthVerdict {
  if (watch.lastSampleMs === null) return { kind: 'wait' };
  const elapsed = watch.lastSampleMs - watch.startedMs;
  const restarts = Object.values(watch.restarts);
  if (restarts.some(({ count }) => count >= restartsOfALoop)) return failed('a service keeps crashing');
  if (watch.ended !== null) return failed(`service "${watch.ended}" ended with an error`);
  if (restarts.some((seen) => isSlowLoop(seen, elapsed))) return failed('a service keeps crashing');
  if (watch.passingSinceMs !== null) {
    const steady = watch.lastSampleMs - watch.passingSinceMs >= requiredPassMs(watch, gate);
    if (steady && elapsed >= gate.stabilizationMs) return judgeParts(watch.parts, elapsed, gate);
  }
  // A release that passes when the time is up gets the rest of the required period.
  if (watch.passingSinceMs === null && elapsed >= gate.stabilizationMs + gate.timeoutMs)
    return failed(watch.lastReason ?? 'the health check did not stay passed');
  return { kind: 'wait' };
}

/** Devices have a time of their own: they connect again, or report, when it is their turn. */
function judgeParts(parts: readonly WatchedPart[], elapsedMs: number, gate: HealthGate): HealthVerdict {
  const limitMs = gate.stabilizationMs + gate.timeoutMs;
  const late = parts.find(
    ({ part, isShown }) => !isShown && elapsedMs >= (part === 'devices' ? Math.max(limitMs, gate.devicesMs) : limitMs),
  );
  if (late) return failed(late.fault ?? 'it does not show what it showed before', surfaceCodes[late.part]);
  return parts.every(({ isShown }) => isShown) ? { kind: 'passed' } : { kind: 'wait' };
}

const isSlowLoop = ({ count, lastAfterMs, passedSince }: RestartsSeen, elapsedMs: number): boolean =>
  count >= slowLoop.restarts && (passedSince ? lastAfterMs : elapsedMs) >= slowLoop.afterMs;

/** How long a release must pass without a gap. */
function requiredPassMs({ restarts }: Watch, { stabilizationMs, timeoutMs }: HealthGate): number {
  const restartedAfterMs = Math.max(0, ...Object.values(restarts).map(({ lastAfterMs }) => lastAfterMs));
  return Math.max(
    Math.min(stabilizationMs, longestRequiredPassMs),
    Math.min(stableFactor * restartedAfterMs, stabilizationMs + timeoutMs),
  );
}

const failed = (reason: string, code: FailureCode = 'release_unhealthy'): HealthVerdict => ({
  kind: 'failed',
  code,
  reason,
});

function containerProblem(
  containers: readonly ContainerFact[],
  imageIds: Readonly<Record<string, string>>,
): string | null {
  for (const [service, imageId] of Object.entries(imageIds)) {
    const own = containers.filter((c) => c.service === service);
    if (own.length === 0) return `service "${service}" has no container`;
    for (const container of own) {
      if (container.imageId !== imageId) return `service "${service}" runs another image`;
      const done = container.state === 'exited' && container.exitCode === 0;
      if (container.state !== 'running' && !done) return `service "${service}" is ${container.state}`;
      if (container.health === 'unhealthy') return `service "${service}" reports itself unhealthy`;
    }
  }
  return null;
}

/** A service whose container exited with an error; the engine does not restart it. */
function endedService(containers: readonly ContainerFact[], imageIds: Readonly<Record<string, string>>): string | null {
  const ended = containers.find((c) => c.service in imageIds && c.state === 'exited' && c.exitCode !== 0);
  return ended?.service ?? null;
}
