import { ownValue } from '@station/protocol/own-value';
import { judgeHealth } from './health-decide.ts';
import { damageOf, uncheckedImages } from './image-care-decide.ts';
import type { Journal, OperationRecord } from './journal.ts';
import type { ContainerFact } from './stack-ports.ts';
import type { Facts, StepFailure, Watch } from './stack-facts.ts';
import { imagesOf, releaseToRun, wantedImages, type Change } from './operation-decide.ts';
import { isNewer } from '@station/protocol/version';
import { surfaceCodes } from './surface-decide.ts';

/** The next step, as data. Each step can be repeated: after a crash the same facts give the same decision. */
export type Step =
  | { kind: 'write_journal' }
  | { kind: 'write_files'; files: Readonly<Record<string, string | null>> }
  | { kind: 'record'; change: Change }
  | { kind: 'check_space'; delayMs: number }
  | { kind: 'pull'; delayMs: number; suspect: boolean }
  /** Removes images that could not be verified, to fetch them again. */
  | { kind: 'discard'; imageIds: readonly string[] }
  /** Checks images that something may be wrong with; damaged ones are planned to be made again. */
  | { kind: 'check_images'; imageIds: readonly string[] }
  /** Checks one image of the stack at idle priority. */
  | { kind: 'check_next_image' }
  /** Makes damaged images again. */
  | { kind: 'rebuild'; delayMs: number }
  /** Learns what the running release shows, before it is replaced. */
  | { kind: 'learn_surface' }
  | { kind: 'up'; delayMs: number }
  | { kind: 'probe'; delayMs: number }
  | { kind: 'pin_images'; imageIds: readonly string[] }
  | { kind: 'unpin_images'; imageIds: readonly string[] }
  | { kind: 'remove_images'; imageIds: readonly string[] }
  | { kind: 'bring_up' }
  | { kind: 'idle' };

/** Tries of one step inside an operation; the operation itself is retried later without limit. */
const tries = 3;
const retryDelaysMs = [1000, 4000, 10_000] as const;
/** An operation waits no longer than this for a registry that limits requests: people wait for its end. */
const longestAskedWaitMs = 10 * 60_000;
/** After this many interruptions the release is given up: it may be what crashes the machine or the agent. */
const interruptionsOfALoop = 5;
/** Health is probed often at first, because the station is offline until then; a slow start is probed less often. */
const probeFastMs = 100;
const probeFastForMs = 10_000;
const probeSlowMs = 1000;

/** Decides from facts only (docs/adr/0002): no clock, no module state, no side effect. */
export function decide(facts: Facts): Step {
  if (facts.journalInDoubt) return { kind: 'write_journal' };
  if (Object.keys(facts.staleFiles).length > 0) return { kind: 'write_files', files: facts.staleFiles };
  const { operation, rebuilding } = facts.journal;
  const { rebuild } = facts.attempts;
  // Before anything else: containers and images of the stack may be gone.
  if (rebuilding && !(rebuild && isFinal(rebuild))) return { kind: 'rebuild', delayMs: delayAfter(rebuild) };
  if (!operation) return decideIdle(facts);
  return beforeBlame(facts, operation, decideOperation(facts, operation));
}

/**
 * The one place where a release is blamed: when it cannot be started or is not healthy, its images are checked first. A good release is not
 * rolled back because a power cut or the card has damaged them.
 */
function beforeBlame(facts: Facts, operation: OperationRecord, step: Step): Step {
  if (step.kind !== 'record' || (step.change.kind !== 'revert' && step.change.kind !== 'fail')) return step;
  // Nothing was started yet; or the check itself may be what ends this machine.
  const isTooEarly = operation.phase === 'preparing' || operation.phase === 'pulling';
  if (isTooEarly || operation.resumed >= interruptionsOfALoop) return step;
  const release = releaseToRun(facts.journal);
  const unchecked = uncheckedImages(Object.values(release?.imageIds ?? {}), checksOf(facts));
  if (unchecked.length > 0) return { kind: 'check_images', imageIds: unchecked };
  const failure = damageOf(release, { ...facts.images, rebuilding: facts.journal.rebuilding });
  return failure === null ? step : record({ ...step.change, failure });
}

const checksOf = ({ journal, bootId, images: { tried } }: Facts) => ({ journal, bootId, tried });

function decideOperation(facts: Facts, operation: OperationRecord): Step {
  switch (operation.phase) {
    case 'preparing':
      return decidePreparing(facts, operation);
    case 'pulling':
      return decidePulling(facts, operation);
    case 'switching':
      return decideSwitching(facts, operation);
    case 'verifying':
      return decideVerifying(facts, operation);
    case 'reverting':
      return decideReverting(facts);
    case 'verifying_revert':
      return decideVerifyingRevert(facts);
  }
}

function decidePreparing(facts: Facts, operation: OperationRecord): Step {
  if (isStackFirst(facts, operation)) return { kind: 'up', delayMs: 0 };
  const { images, imageIds } = operation.to;
  const here = Object.keys(images).every((service) => facts.presentImages.includes(ownValue(imageIds, service) ?? ''));
  if (here) return switchTo(facts, operation, { imageIds, digests: {} });
  const { space } = facts.attempts;
  if (space?.kind === 'ok') return record({ kind: 'fetch', layers: space.layers });
  // The limit may be for the agent alone: the engine may have a log-in or a mirror of its own.
  if (space?.code === 'registry_busy' && isFinal(space)) return record({ kind: 'fetch', layers: {} });
  if (space && isFinal(space)) return makeRoom(facts, space) ?? failed(operation, space);
  return { kind: 'check_space', delayMs: delayAfter(space) };
}

function decidePulling(facts: Facts, operation: OperationRecord): Step {
  if (isStackFirst(facts, operation)) return { kind: 'up', delayMs: 0 };
  const { pull } = facts.attempts;
  if (pull?.kind === 'ok') {
    const { imageIds, digests, isDoubtful } = pull;
    const unchecked = isDoubtful ? uncheckedImages(Object.values(imageIds), checksOf(facts)) : [];
    if (unchecked.length > 0) return { kind: 'check_images', imageIds: unchecked };
    const failure = damageOf({ ...operation.to, imageIds }, { ...facts.images, rebuilding: facts.journal.rebuilding });
    if (failure === null) return switchTo(facts, operation, { imageIds, digests });
    const fetched = imagesOf({ images: operation.to.images, imageIds });
    return record({ kind: 'fail', failure, bringUpAgain: operation.kind === 'bootstrap', fetched });
  }
  if (pull && isFinal(pull))
    return makeRoom(facts, pull) ?? endDoubt(facts, operation, pull) ?? failed(operation, pull);
  // Layers fetched in another boot may not have reached the disk, including those of an earlier operation.
  const { fetchingSince } = facts.journal;
  return { kind: 'pull', delayMs: delayAfter(pull), suspect: fetchingSince !== null && fetchingSince !== facts.bootId };
}

/** The release that runs now is looked at first: the new one has to show what it shows. */
function switchTo(
  { journal, attempts: { surface } }: Facts,
  operation: OperationRecord,
  { imageIds, digests }: { imageIds: Record<string, string>; digests: Record<string, string> },
): Step {
  if (!isCompared(operation, journal)) return record({ kind: 'switch', imageIds, digests });
  if (surface === null) return { kind: 'learn_surface' };
  return record({ kind: 'switch', imageIds, digests, surface });
}

/**
 * Who goes back to an older release knows that it may show less, and leaves one that may be broken. Who asks again for a release that
 * has failed here wants it as it is.
 */
function isCompared({ kind, from, to }: OperationRecord, { quarantined }: Journal): boolean {
  if (kind !== 'update' || from === null || quarantined.some(({ version }) => version === to.version)) return false;
  return from.version === null || isNewer(to.version, from.version);
}

/**
 * The disk is full: images of failed tries of other releases and unused images are removed before the release is given
 * up. Images that this release has fetched stay.
 */
function makeRoom({ journal, attempts }: Facts, failure: StepFailure): Step | null {
  if (failure.code !== 'disk_space_low') return null;
  const own = Object.values(journal.operation?.to.images ?? {});
  const wanted = wantedImages(journal);
  const spare = Object.keys(journal.fetched).filter((id) => !own.includes(ownValue(journal.fetched, id) ?? ''));
  const imageIds = [...spare, ...Object.keys(journal.retired)].filter(
    (id) => !wanted.has(id) && !attempts.tidied.remove_images.includes(id),
  );
  return imageIds.length > 0 ? { kind: 'remove_images', imageIds } : null;
}

/**
 * Suspect images that never have enough space to be verified would block every release: they are removed and
 * fetched again. Images of the installed release were on disk before the doubt began, so they stay.
 */
function endDoubt({ journal, attempts }: Facts, { from }: OperationRecord, { unread }: StepFailure): Step | null {
  if (!unread) return null;
  const inUse = Object.values(from?.imageIds ?? {});
  const imageIds = unread.filter((id) => !inUse.includes(id));
  const wanted = wantedImages(journal);
  const stay = imageIds.some((id) => wanted.has(id) || attempts.tidied.remove_images.includes(id));
  return stay ? null : { kind: 'discard', imageIds };
}

/**
 * After a boot the installed release is brought up before anything is fetched: a fetch may take long or never end,
 * and the engine may not have restarted the containers. Once is enough: failures show at the end.
 */
const isStackFirst = (facts: Facts, operation: OperationRecord): boolean =>
  operation.from !== null && operation.phaseBootId !== facts.bootId && facts.attempts.up === null;

function decideSwitching(facts: Facts, operation: OperationRecord): Step {
  if (operation.resumed >= interruptionsOfALoop)
    return giveUp(operation, { code: 'release_unhealthy', reason: 'interrupted too often' });
  const { up } = facts.attempts;
  if (up?.kind === 'ok') return record({ kind: 'verify' });
  if (up && isFinal(up)) return giveUp(operation, up);
  return { kind: 'up', delayMs: delayAfter(up) };
}

function decideVerifying(facts: Facts, operation: OperationRecord): Step {
  if (operation.resumed >= interruptionsOfALoop)
    return giveUp(operation, { code: 'release_unhealthy', reason: 'interrupted too often' });
  const next = watchHealth(facts);
  if (next.kind === 'passed') return record({ kind: 'complete' });
  if (next.kind === 'failed') return giveUp(operation, next);
  return next.step;
}

function decideReverting(facts: Facts): Step {
  const { up } = facts.attempts;
  if (up?.kind === 'ok') return record({ kind: 'verify_revert' });
  if (up && isFinal(up)) return stuck(up);
  return { kind: 'up', delayMs: delayAfter(up) };
}

function decideVerifyingRevert(facts: Facts): Step {
  const next = watchHealth(facts);
  if (next.kind === 'passed') return record({ kind: 'reverted' });
  // The devices stay away from the previous release too, perhaps because the Wi-Fi is off: no release is to blame.
  if (next.kind === 'failed' && next.code === surfaceCodes.devices)
    return record({ kind: 'reverted', isBlameless: true });
  if (next.kind === 'failed') return stuck(next);
  return next.step;
}

/** Brings the pinned release up, once in each process, then samples its health until there is a verdict. */
function watchHealth(
  facts: Facts,
): { kind: 'passed' } | { kind: 'failed'; code: string; reason: string } | { kind: 'next'; step: Step } {
  const { watch } = facts;
  if (!watch) {
    const { up } = facts.attempts;
    if (up?.kind === 'failed' && isFinal(up)) return { kind: 'failed', code: 'release_unhealthy', reason: up.reason };
    return { kind: 'next', step: { kind: 'up', delayMs: delayAfter(up) } };
  }
  const verdict = judgeHealth(watch, facts.gate);
  if (verdict.kind !== 'wait') return verdict;
  return { kind: 'next', step: { kind: 'probe', delayMs: probeDelay(watch) } };
}

function probeDelay({ startedMs, lastSampleMs, passingSinceMs }: Watch): number {
  if (lastSampleMs === null) return 0;
  return passingSinceMs === null && lastSampleMs - startedMs < probeFastForMs ? probeFastMs : probeSlowMs;
}

function decideIdle(facts: Facts): Step {
  const { journal } = facts;
  if (facts.bringUpDue && journal.installed) return { kind: 'bring_up' };
  if (facts.checkDue) return { kind: 'check_next_image' };
  const wanted = wantedImages(journal);
  const { tidied } = facts.attempts;
  const unpinned = [...wanted].filter(
    (id) => facts.presentImages.includes(id) && !facts.pinnedImages.includes(id) && !tidied.pin_images.includes(id),
  );
  if (unpinned.length > 0) return { kind: 'pin_images', imageIds: unpinned };
  const pinnedForNothing = facts.pinnedImages.filter((id) => !wanted.has(id) && !tidied.unpin_images.includes(id));
  if (pinnedForNothing.length > 0) return { kind: 'unpin_images', imageIds: pinnedForNothing };
  const retired = Object.keys(journal.retired).filter((id) => !tidied.remove_images.includes(id));
  if (retired.length > 0) return { kind: 'remove_images', imageIds: retired };
  return { kind: 'idle' };
}

/** How many of a release's services have a running container. One that the engine keeps restarting is not down: nobody has stopped it. */
export type RunningPart = 'all' | 'some' | 'none';

export function runningPart(containers: readonly ContainerFact[], services: readonly string[]): RunningPart {
  const isIn = (service: string, states: readonly string[]): boolean =>
    containers.some((one) => one.service === service && states.includes(one.state));
  if (services.every((service) => isIn(service, ['running']))) return 'all';
  return services.some((service) => isIn(service, ['running', 'restarting'])) ? 'some' : 'none';
}

/**
 * Whether the installed release must be brought up: after a failed operation always; after a boot unless BOOTSTRAP_ON_START is off and
 * the stack was found down; at each start of the agent when BOOTSTRAP_ON_START is on and not all of it runs.
 * @param found what ran at the agent's start; null: not read yet, and the answer `look` asks for it.
 */
export function decideBringUp(
  at: { upInBoot: string | null; bootId: string; bootstrapOnStart: boolean; isStart: boolean },
  found: RunningPart | null,
): 'due' | 'not_due' | 'look' {
  if (at.upInBoot === null) return 'due';
  if (at.upInBoot === at.bootId) {
    if (!at.isStart || !at.bootstrapOnStart) return 'not_due';
    return found === null ? 'look' : found === 'all' ? 'not_due' : 'due';
  }
  if (at.bootstrapOnStart) return 'due';
  return found === null ? 'look' : found === 'none' ? 'not_due' : 'due';
}

/** The release failed: roll back to the previous release, if there is a different one. */
function giveUp(operation: OperationRecord, failure: { code: string; reason: string }): Step {
  const { code, reason } = failure;
  if (operation.kind === 'bootstrap' || operation.from === null) {
    return record({ kind: 'fail', failure: { code, reason }, bringUpAgain: true });
  }
  return record({ kind: 'revert', failure: { code, reason } });
}

/** Neither release became healthy: the installed one stays pinned and is brought up again repeatedly. */
const stuck = ({ code, reason }: { code: string; reason: string }): Step =>
  record({ kind: 'fail', failure: { code, reason }, bringUpAgain: true });

/** The operation ends before the stack was touched. */
const failed = (operation: OperationRecord, { code, reason, fetched = {} }: StepFailure): Step =>
  record({ kind: 'fail', failure: { code, reason }, bringUpAgain: operation.kind === 'bootstrap', fetched });

const record = (change: Change): Step => ({ kind: 'record', change });
const isFinal = (attempt: StepFailure): boolean => !attempt.transient || attempt.failures >= tries;
const delayAfter = (attempt: StepFailure | { kind: 'ok' } | null): number =>
  attempt?.kind === 'failed'
    ? Math.max(
        retryDelaysMs[attempt.failures - 1] ?? retryDelaysMs[2],
        Math.min(attempt.retryAfterMs ?? 0, longestAskedWaitMs),
      )
    : 0;
