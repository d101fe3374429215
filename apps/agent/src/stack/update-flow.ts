import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { Backoff } from '@station/kit/retry';
import type { Waker } from '@station/kit/wakeable';
import type { HistoryEntry } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import type { AgentConditions } from '@station/kit/conditions';
import type { StartAnswer } from '../core/stack-port.ts';
import { refusals, type Blockers } from './blockers.ts';
import type { Journal } from './journal.ts';
import type { OperationRequest } from './journal-keeper.ts';
import { rollbackTarget } from './operation-decide.ts';
import {
  chooseManual,
  findKept,
  nothingToRollBack,
  refused,
  refusedCheck,
  refusedVersion,
  releaseOf,
  requestedVersion,
  type Refusal,
} from './release-decide.ts';
import type { ReleasePoll, ReleasePollParts } from './release-poll.ts';
import type { ReleaseCheck } from './release-source.ts';
import type { StackConditions } from './stack-conditions.ts';
import { decide, decideBringUp, runningPart, type RunningPart, type Step } from './stack-decide.ts';
import { noAttempts } from './stack-facts.ts';
import { observe } from './stack-observe.ts';
import { apply, type StepContext } from './stack-steps.ts';

/*
 * How an update runs, in reading order: the loop (`run`, `recover`, `tick`) and what it does (`check`, `install`, `bringUp`); what people ask
 * for (`request`, `update`, `rollback`); and how an operation runs to its end (`operate`, `settle`: observe → decide → apply).
 */

export type StackParts = Omit<StepContext, 'alive'> &
  Omit<ReleasePollParts, 'keeper'> & { conditions: AgentConditions; random: () => number };

/** What the functions below share. */
export type Flow = StackParts & {
  alive: () => void;
  blockers: Blockers;
  poll: ReleasePoll;
  stackConditions: StackConditions;
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

export async function run(flow: Flow, signal: AbortSignal): Promise<void> {
  const { runner, state, waker } = flow;
  state.signal = signal;
  signal.addEventListener('abort', () => releaseWaiters(flow), { once: true });
  await runner.run(() => recover(flow, signal));
  for (;;) {
    await runner.run(() => tick(flow, signal));
    flow.alive();
    await waker.sleep(nextTickMs(flow), signal);
  }
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
  stackConditions.noteClock(keeper.journal());
  await settleAndReport(flow, signal);
}

/** The loop's own signal. Requests wait for the first read, so they get here only after the loop has started. */
function signalOf({ state }: Flow): AbortSignal {
  if (!state.signal) throw new Error('the loop does not run');
  return state.signal;
}

async function tick(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, blockers, poll, stackConditions, lock, clock } = flow;
  stackConditions.noteClock(keeper.journal());
  if (lock.isTaken()) return;
  // A request that failed half-way leaves its operation unfinished: finish it as after a crash.
  if (keeper.isUnsettled()) await settleAndReport(flow, signal);
  await blockers.untilDone(() => bringUp(flow, signal), signal);
  if (clock.monotonic() >= poll.dueMs()) {
    await blockers.untilDone(async () => void (await check(flow, signal)), signal);
    // Pinned images or images of the rollback target may have been removed manually.
    await settleAndReport(flow, signal);
  }
  const manifest = poll.latest();
  if (manifest) await install(flow, manifest, signal);
}

function nextTickMs({ clock, lock, poll, state }: Flow): number {
  const now = clock.monotonic();
  if (lock.isTaken()) return longestTickMs;
  // The other two are retry times: once they have passed, there is nothing to wait for.
  const retries = [state.installDueMs, state.bringUpDueMs].filter((due) => due > now);
  const waits = [poll.dueMs(), ...retries].map((due) => due - now);
  return Math.max(10, Math.min(longestTickMs, ...waits));
}

/** Asks for the release manifest. */
async function check({ poll, stackConditions, keeper }: Flow, signal: AbortSignal): Promise<ReleaseCheck> {
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

// Requests of people and of the web app.

/** Runs one request at a time, and none while an operation is under way. */
export async function request<Answer>(flow: Flow, answer: () => Promise<Answer>): Promise<Answer | Refusal> {
  const { keeper, blockers, lock, state, waker } = flow;
  await untilFirstRead(flow);
  if (state.signal?.aborted) return refused('shutting_down', 'The agent is stopping.');
  if (state.starting || keeper.operation()) return busy;
  // The loop is waiting until the fault is over; a request would wait behind it.
  const refusal = findRefusal(flow);
  if (refusal) return refused(refusal.code, refusal.message);
  if (lock.isTaken()) return refused('unavailable', 'The hotspot is on: the station has no network now.');
  state.starting = true;
  try {
    return await answer();
  } catch (error) {
    if (!blockers.note(error)) throw error;
    // The loop finishes the interrupted operation when the fault is over; until then requests are refused at once.
    waker.wake();
    const { code, message } = findRefusal(flow) ?? tryAgain;
    return refused(code, message);
  } finally {
    state.starting = false;
  }
}

const busy = refused('update_in_progress', 'An update or a rollback is under way.');
const tryAgain = { code: 'internal', message: 'The operation could not be started. Try again.' } as const;
const stillStarting = { code: 'unavailable', message: 'The agent is still starting. Try again in a minute.' } as const;

/** How long a request waits for the first read of the journal: an engine may answer slowly. */
const longestFirstReadMs = 10_000;

/** Right after the agent's start a request waits until the journal was read or the read has failed. */
async function untilFirstRead({ keeper, blockers, firstRead, clock }: Flow): Promise<void> {
  if (keeper.isLoaded() || blockers.current() !== null) return;
  const wasRead = new AbortController();
  void firstRead.promise.then(() => wasRead.abort());
  await clock.sleep(longestFirstReadMs, wasRead.signal).catch(() => undefined);
}

/** Why requests must be refused now; null when they can be accepted. */
function findRefusal({ keeper, blockers }: Flow): Pick<Refusal, 'code' | 'message'> | null {
  const blocker = blockers.current();
  if (blocker !== null) return refusals[blocker];
  return keeper.isLoaded() ? null : stillStarting;
}

/** @param id of the operation, when there will be one. */
export async function update(flow: Flow, text: string | null, id = flow.newId()): Promise<StartAnswer> {
  const version = requestedVersion(text);
  if (version === undefined) return refused('version_invalid', 'The version is not SemVer 2.0.0.');
  const { keeper, runner, poll } = flow;
  if (version !== null && version === keeper.journal().installed?.version) return { kind: 'already_current', version };
  const kept = version === null ? null : findKept(keeper.journal(), version);
  const manualUpdate = (to: Release): OperationRequest => ({ kind: 'update', trigger: 'manual', to, id });
  if (kept) return start(flow, () => manualUpdate(kept));
  const answer = await runner.run(() => check(flow, signalOf(flow)));
  const manifest = answer.kind === 'ok' ? answer.manifest : version === null ? null : poll.latest();
  if (!manifest) return refusedCheck(answer);
  const choose = (journal: Journal) => chooseManual(manifest, { journal, isSigned: flow.source.isSigned }, version);
  const choice = choose(keeper.journal());
  if (choice.kind === 'find') return updateToSigned(flow, choice.version, manualUpdate);
  return start(flow, (journal) => {
    const chosen = choose(journal);
    switch (chosen.kind) {
      case 'install':
        return manualUpdate(chosen.release);
      case 'current':
        return { kind: 'already_current', version: chosen.version };
      case 'refused':
        return chosen;
      case 'find':
        throw new Error('a version is looked up before the runner’s turn');
    }
  });
}

/** To a version that is neither the latest one nor on this machine: by its own signed manifest. */
async function updateToSigned(
  flow: Flow,
  version: string,
  manualUpdate: (to: Release) => OperationRequest,
): Promise<StartAnswer> {
  const { runner, source } = flow;
  const own = await runner.run(() => source.find(version, signalOf(flow)));
  if (own.kind !== 'ok') return refusedVersion(version, own);
  return start(flow, () => manualUpdate(releaseOf(version, own.manifest.images)));
}

export async function rollback(flow: Flow, id = flow.newId()): Promise<StartAnswer> {
  return start(flow, (journal) => {
    const target = rollbackTarget(journal);
    return target ? { id, kind: 'rollback', trigger: 'manual', to: target.release } : nothingToRollBack(journal);
  });
}

type NotStarted = Exclude<StartAnswer, { kind: 'started' }>;

/**
 * Resolves once the operation is in the journal, not when it has ended.
 * @param choose decides from the journal inside the runner's turn: an operation that ran until then may have changed it.
 */
function start(flow: Flow, choose: (journal: Journal) => OperationRequest | NotStarted): Promise<StartAnswer> {
  const { keeper, runner, waiters } = flow;
  const signal = signalOf(flow);
  return new Promise((resolve, reject) => {
    const job = async (): Promise<void> => {
      const wanted = choose(keeper.journal());
      if (!('to' in wanted)) return resolve(wanted);
      const begun = await keeper.begin(await pinned(flow, wanted));
      if (!begun) return resolve(busy);
      const ended = new Promise<HistoryEntry | null>((resolveEnd) => waiters.set(begun.id, resolveEnd));
      resolve({ kind: 'started', operationId: begun.id, ended });
      await settleAndReport(flow, signal);
    };
    void runner.run(() => job().catch((error: unknown) => (signal.aborted ? undefined : reject(error as Error))));
  });
}

/** With a key a version means the images that it meant when it was first fetched. */
async function pinned({ seenImages }: Flow, wanted: OperationRequest): Promise<OperationRequest> {
  return seenImages ? { ...wanted, to: await seenImages.pin(wanted.to) } : wanted;
}

export async function checkNow(flow: Flow): Promise<ReleaseCheck> {
  const { runner, state, waker } = flow;
  await untilFirstRead(flow);
  const refusal = findRefusal(flow);
  if (refusal) return { kind: 'unavailable', reason: refusal.message };
  const answer = await runner.run(() => check(flow, signalOf(flow)));
  state.installDueMs = -Infinity;
  waker.wake();
  return answer;
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
async function settleAndReport(flow: Flow, signal: AbortSignal, { bringUpDue = false } = {}): Promise<void> {
  const { blockers, keeper, stackConditions } = flow;
  const onStep = blockers.stepTaken;
  await blockers.untilDone(() => settle(flow, { signal, bringUpDue, onStep }), signal);
  reportEnd(flow);
  await stackConditions.noteSettled(keeper.journal());
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
  options: { signal: AbortSignal; bringUpDue?: boolean; onStep?: (taken: Step['kind']) => void },
): Promise<void> {
  const { keeper, alive } = context;
  const { signal, onStep = () => undefined } = options;
  let due = options.bringUpDue ?? false;
  // Pins and images that could not be cleaned up before get another try.
  if (!keeper.journal().operation) keeper.run.attempts = { ...keeper.run.attempts, tidied: noAttempts().tidied };
  for (;;) {
    signal.throwIfAborted();
    alive();
    const step = decide(await observe(context, due));
    if (step.kind === 'idle') return;
    if (step.kind === 'bring_up') due = false;
    await apply(context, step, signal);
    alive();
    onStep(step.kind);
  }
}
