import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { Stopping } from '@station/kit/lifecycle';
import type { Backoff } from '@station/kit/retry';
import type { Waker } from '@station/kit/wakeable';
import type { HistoryEntry } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import type { AgentConditions } from '@station/kit/conditions';
import type { Blockers } from './blockers.ts';
import { cleanStop, isCheckDue } from './image-care-decide.ts';
import type { Journal } from './journal.ts';
import type { OperationRequest } from './journal-keeper.ts';
import { wantedImages } from './operation-decide.ts';
import type { Probation } from './probation.ts';
import type { ReleasePoll, ReleasePollParts } from './release-poll.ts';
import type { ReleaseCheck } from './release-source.ts';
import type { StackConditions } from './stack-conditions.ts';
import { decide, decideBringUp, runningPart, type RunningPart, type Step } from './stack-decide.ts';
import { type Facts, type HealthGate, noAttempts } from './stack-facts.ts';
import type { StackEngine } from './stack-ports.ts';
import { apply } from './stack-steps.ts';
import type { StepContext } from './step-context.ts';
import { findStaleFiles } from './state-files.ts';

/*
 * How an update runs, in reading order: the loop (`run`, `recover`, `tick`) and what it does (`check`, `install`, `bringUp`); and how an
 * operation runs to its end (`operate`, `settle`: observe → decide → apply). What people ask for is in `stack-requests.ts`.
 */

export type StackParts = Omit<StepContext, 'alive'> &
  Omit<ReleasePollParts, 'keeper'> & { conditions: AgentConditions; random: () => number };

/** What the functions below share. */
export type Flow = StackParts & {
  alive: () => void;
  blockers: Blockers;
  poll: ReleasePoll;
  stackConditions: StackConditions;
  probation: Probation;
  /** Polls, requests and recovery never overlap. */
  runner: ExclusiveRunner;
  waker: Waker;
  installRetry: Backoff;
  bringUpRetry: Backoff;
  /** Callers that wait for the end of an operation, by its id. */
  waiters: Map<string, (entry: HistoryEntry | null) => void>;
  /** Resolves when the first read of the journal has succeeded or failed. */
  firstRead: PromiseWithResolvers<void>;
  state: {
    /** Null before the loop runs. */
    signal: AbortSignal | null;
    /** A request is being answered; others are refused meanwhile. */
    starting: boolean;
    installDueMs: number;
    bringUpDueMs: number;
    checkDueMs: number;
    /** True until the loop has first checked whether the stack must be brought up. */
    isStart: boolean;
    /** How much of the stack ran when the agent started; null when this was not checked. */
    foundAtStart: RunningPart | null;
    aliveMs: number;
  };
};

// The loop: recover once, then do what is due, until the signal aborts.

/** The loop checks at least this often whether something is due. */
const longestTickMs = 30_000;
const shortestTickMs = 10;
/** Damaged images that cannot be healed now are looked at again after this time. */
const recheckMs = 3600_000;

export async function run(flow: Flow, signal: AbortSignal): Promise<void> {
  const { runner, state, waker } = flow;
  state.signal = signal;
  signal.addEventListener('abort', () => releaseWaiters(flow), { once: true });
  await runner.run(() => recover(flow, signal));
  try {
    for (;;) {
      await runner.run(() => tick(flow, signal));
      flow.alive();
      await waker.sleep(nextTickMs(flow), signal);
    }
  } finally {
    await noteCleanStop(flow, signal);
  }
}

/** Without it the next boot counts as one after a power cut. A mark that cannot be written is no fault. */
async function noteCleanStop({ keeper, bootId, runner }: Flow, signal: AbortSignal): Promise<void> {
  if (!signal.aborted || !(signal.reason instanceof Stopping)) return;
  await runner
    .run(async () => {
      if (keeper.journal().imagesTrustedIn === bootId) await keeper.remember({ imagesTrustedIn: cleanStop });
    })
    .catch(() => undefined);
}

function releaseWaiters({ waiters, firstRead }: Flow): void {
  firstRead.resolve();
  for (const resolve of waiters.values()) resolve(null);
  waiters.clear();
}

/** Reads the journal and finishes an operation that a crash interrupted. */
async function recover(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, blockers, stackConditions } = flow;
  await blockers.untilDone(() => keeper.load(), signal, flow.firstRead.resolve);
  if (keeper.journal().imagesTrustedIn === cleanStop) {
    await blockers.untilDone(() => keeper.remember({ imagesTrustedIn: flow.bootId }), signal);
  }
  stackConditions.noteClock(keeper.journal());
  await settleAndReport(flow, signal);
}

/** The loop's own signal. Requests wait for the first read, so they get here only after the loop has started. */
export function signalOf({ state }: Flow): AbortSignal {
  if (!state.signal) throw new Error('the loop does not run');
  return state.signal;
}

async function tick(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, blockers, poll, stackConditions, lock, clock } = flow;
  stackConditions.noteClock(keeper.journal());
  if (lock.isTaken()) return;
  // A request that failed half-way leaves its operation unfinished: finish it as after a crash.
  if (keeper.isUnsettled()) await settleAndReport(flow, signal);
  await blockers.untilDone(() => checkNextImage(flow, signal), signal);
  await blockers.untilDone(() => bringUp(flow, signal), signal);
  await lookAtProbation(flow, signal);
  if (clock.monotonic() >= poll.dueMs()) {
    await blockers.untilDone(async () => void (await check(flow, signal)), signal);
    // Pinned images or images of the rollback target may have been removed manually.
    await settleAndReport(flow, signal);
  }
  const manifest = poll.latest();
  if (manifest) await install(flow, manifest, signal);
}

/** A release that turns out bad after its verdict goes back by itself, or a condition offers the way back. */
async function lookAtProbation(flow: Flow, signal: AbortSignal): Promise<void> {
  const { probation, blockers, state } = flow;
  if (state.starting) return;
  const found: OperationRequest[] = [];
  await blockers.untilDone(async () => {
    const wayBack = await probation.look(signal);
    if (wayBack !== null) found.push(wayBack);
  }, signal);
  for (const wayBack of found) await operate(flow, wayBack, signal);
}

/** One image at a time: requests need not wait for all of them. */
async function checkNextImage(flow: Flow, signal: AbortSignal): Promise<void> {
  if (!isImageDue(flow)) return;
  await settleAndReport(flow, signal, { checkDue: true });
  const { keeper, clock, state } = flow;
  // The last one was checked, and some stay damaged.
  if (keeper.run.images.tried.length === 0) state.checkDueMs = clock.monotonic() + recheckMs;
}

const isImageDue = ({ keeper, bootId, clock, state }: Flow): boolean =>
  isCheckDue(keeper.journal(), bootId) && clock.monotonic() >= state.checkDueMs;

function nextTickMs(flow: Flow): number {
  const { clock, lock, poll, probation, state } = flow;
  const now = clock.monotonic();
  if (lock.isTaken()) return longestTickMs;
  if (isImageDue(flow)) return shortestTickMs;
  // The other two are retry times: once they have passed, there is nothing to wait for.
  const retries = [state.installDueMs, state.bringUpDueMs].filter((due) => due > now);
  const waits = [poll.dueMs(), probation.dueMs() ?? Infinity, ...retries].map((due) => due - now);
  return Math.max(shortestTickMs, Math.min(longestTickMs, ...waits));
}

/** Asks for the release manifest. */
export async function check({ poll, stackConditions, keeper }: Flow, signal: AbortSignal): Promise<ReleaseCheck> {
  const answer = await poll.check(signal);
  if (answer.kind === 'ok') stackConditions.noteWanted(poll.wanted(), keeper.journal());
  if (answer.kind === 'rejected') stackConditions.fail('manifest_rejected', answer.reason);
  if (answer.kind === 'unavailable') stackConditions.fail('manifest_unavailable', answer.reason);
  return answer;
}

/** Installs the manifest's release if it should be installed automatically and now. */
async function install(flow: Flow, manifest: ReleaseManifest, signal: AbortSignal): Promise<void> {
  const { poll, clock, state, installRetry } = flow;
  const choice = poll.choose(manifest);
  if (choice.kind !== 'install' || clock.monotonic() < state.installDueMs || state.starting) return;
  const entry = await operate(flow, { kind: 'update', trigger: 'automatic', to: choice.release }, signal);
  if (entry?.result === 'failed') state.installDueMs = clock.monotonic() + installRetry.nextMs();
  else installRetry.reset();
}

/**
 * Brings the installed release up when it is due: after a failed operation always; after a boot unless BOOTSTRAP_ON_START is off and
 * the stack was found down; at each start of the agent when BOOTSTRAP_ON_START is on.
 */
async function bringUp(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, clock, state, bringUpRetry } = flow;
  const { installed } = keeper.journal();
  const isDue = installed !== null && (await isBringUpDue(flow, installed));
  state.isStart = false;
  if (!isDue || clock.monotonic() < state.bringUpDueMs) return;
  await settleAndReport(flow, signal, { bringUpDue: true });
  if (keeper.journal().upInBoot === null) state.bringUpDueMs = clock.monotonic() + bringUpRetry.nextMs();
  else bringUpRetry.reset();
}

async function isBringUpDue({ keeper, engine, state, bootId, bootstrapOnStart }: Flow, installed: Release) {
  const { upInBoot } = keeper.journal();
  const at = { upInBoot, bootId, bootstrapOnStart, isStart: state.isStart };
  const due = decideBringUp(at, state.foundAtStart);
  if (due !== 'look') return due === 'due';
  const { running } = await engine.services();
  const services = Object.keys(installed.imageIds).filter((service) => running.includes(service));
  state.foundAtStart = runningPart(await engine.containers(), services);
  return decideBringUp(at, state.foundAtStart) === 'due';
}

// Operations: each one is retried until it ends, however long the engine or the disk is unavailable.

async function operate(flow: Flow, wanted: OperationRequest, signal: AbortSignal): Promise<HistoryEntry | null> {
  let id: string | null = null;
  await flow.blockers.untilDone(async () => {
    id = (await flow.keeper.begin(await pinned(flow, wanted)))?.id ?? id;
  }, signal);
  await settleAndReport(flow, signal);
  return id === null ? null : flow.keeper.outcome(id);
}

/** Settles the stack, then updates its conditions and resolves the callers that wait. */
export async function settleAndReport(
  flow: Flow,
  signal: AbortSignal,
  due: { bringUpDue?: boolean; checkDue?: boolean } = {},
): Promise<void> {
  const { blockers, keeper, stackConditions } = flow;
  const onStep = blockers.stepTaken;
  await blockers.untilDone(() => settle(flow, { signal, ...due, onStep }), signal);
  reportEnd(flow);
  await stackConditions.noteSettled(keeper.journal(), keeper.run.images.unhealed);
}

/** Updates the conditions after an operation has ended, then resolves the callers that wait for it. */
export function reportEnd({ keeper, stackConditions, waiters }: Flow): void {
  stackConditions.noteEnd(keeper.journal());
  for (const [id, resolve] of waiters) {
    if (keeper.operation()?.id === id) continue;
    waiters.delete(id);
    resolve(keeper.outcome(id));
  }
}

/**
 * Observe → decide → apply until nothing is left to do: finishes the operation under way, then cleans up. After a crash
 * the same loop continues from the journal.
 */
export async function settle(
  context: StepContext,
  options: { signal: AbortSignal; bringUpDue?: boolean; checkDue?: boolean; onStep?: (taken: Step['kind']) => void },
): Promise<void> {
  const { keeper, alive } = context;
  const { signal, onStep = () => undefined } = options;
  let { bringUpDue = false, checkDue = false } = options;
  // What could not be cleaned up or healed before gets another try.
  if (!keeper.journal().operation) {
    const { tidied, rebuild } = noAttempts();
    keeper.run.attempts = { ...keeper.run.attempts, tidied, rebuild };
  }
  for (;;) {
    signal.throwIfAborted();
    alive();
    const step = decide(await observe(context, { bringUpDue, checkDue }));
    if (step.kind === 'idle') return;
    if (step.kind === 'bring_up') bringUpDue = false;
    if (step.kind === 'check_next_image') checkDue = false;
    await apply(context, step, signal);
    alive();
    onStep(step.kind);
  }
}

/** With a key a version means the images that it meant when it was first fetched. */
export async function pinned({ seenImages }: Flow, wanted: OperationRequest): Promise<OperationRequest> {
  return seenImages ? { ...wanted, to: await seenImages.pin(wanted.to) } : wanted;
}

/** Reads everything that a decision needs. */
async function observe(context: StepContext, due: Pick<Facts, 'bringUpDue' | 'checkDue'>): Promise<Facts> {
  const { engine, disk, dataDir, bootId, gate, keeper } = context;
  const { run } = keeper;
  const journal = keeper.journal();
  const isIdle = journal.operation === null;
  const readsImages = isIdle || journal.operation?.phase === 'preparing';
  return {
    bootId,
    gate: slowerGate(gate, journal),
    journal,
    ...due,
    images: run.images,
    journalInDoubt: run.journalInDoubt,
    presentImages: readsImages ? await presentImages(engine, journal) : [],
    pinnedImages: isIdle ? await engine.pinnedImages() : [],
    staleFiles: await findStaleFiles(disk, dataDir, journal),
    watch: run.watch,
    attempts: run.attempts,
  };
}

/** On a slow card a good release takes long: the limit grows with what the last good start took. */
const lastStartFactor = 3;
const longestTimeoutMs = 15 * 60_000;

function slowerGate(gate: HealthGate, { lastStartMs = 0 }: Journal): HealthGate {
  const timeoutMs = Math.max(gate.timeoutMs, Math.min(longestTimeoutMs, lastStartFactor * lastStartMs));
  return { ...gate, timeoutMs };
}

async function presentImages(engine: StackEngine, journal: Journal): Promise<string[]> {
  const ids = [...wantedImages(journal), ...Object.keys(journal.retired)];
  const found = await Promise.all(ids.map((id) => engine.imageId(id)));
  return ids.filter((_, index) => found[index] !== null);
}
