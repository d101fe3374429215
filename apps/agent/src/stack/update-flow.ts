import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { Backoff } from '@station/kit/retry';
import type { Waker } from '@station/kit/wakeable';
import type { HistoryEntry } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import type { AgentConditions } from '@station/kit/conditions';
import type { StartAnswer } from '../core/stack-port.ts';
import { refusals, type Blockers } from './blockers.ts';
import type { OperationRequest } from './journal-keeper.ts';
import { rollbackTarget } from './operation-decide.ts';
import {
  chooseManual,
  findKept,
  nothingToRollBack,
  refused,
  refusedCheck,
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
 * for (`request`, `update`, `rollback`); and how an operation is brought to its end (`operate`, `settle`: observe → decide → apply).
 */

export type StackParts = Omit<StepContext, 'alive'> &
  Omit<ReleasePollParts, 'keeper'> & { conditions: AgentConditions; random: () => number };

/** What the functions below share. */
export type Flow = StackParts & {
  alive: () => void;
  blockers: Blockers;
  poll: ReleasePoll;
  told: StackConditions;
  /** Polls, requests and recovery never overlap. */
  runner: ExclusiveRunner;
  waker: Waker;
  installRetry: Backoff;
  bringUpRetry: Backoff;
  /** Whoever waits for the end of an operation, by its id. */
  waiting: Map<string, (entry: HistoryEntry | null) => void>;
  /** Resolves when the journal was first read, or first could not be. */
  firstLook: PromiseWithResolvers<void>;
  state: {
    /** Null before the loop runs. */
    signal: AbortSignal | null;
    /** A request is being answered; no other is let through meanwhile. */
    starting: boolean;
    installDueMs: number;
    bringUpDueMs: number;
    /** True until the loop has first looked whether the stack is to be brought up. */
    isStart: boolean;
    /** How much of the stack ran at the agent's start; null when nobody had to look. */
    foundAtStart: RunningPart | null;
    aliveMs: number;
  };
};

// The loop: recover once, then look at what is due, for ever.

/** How often the loop looks whether something is due; nothing waits longer than this for its time. */
const longestTickMs = 30_000;

export async function run(flow: Flow, signal: AbortSignal): Promise<void> {
  const { runner, state, waker } = flow;
  state.signal = signal;
  signal.addEventListener('abort', () => stopWaiting(flow), { once: true });
  await runner.run(() => recover(flow, signal));
  for (;;) {
    await runner.run(() => tick(flow, signal));
    flow.alive();
    await waker.sleep(nextTickMs(flow), signal);
  }
}

function stopWaiting({ waiting, firstLook }: Flow): void {
  firstLook.resolve();
  for (const resolve of waiting.values()) resolve(null);
  waiting.clear();
}

/** Reads the journal and ends what a crash has interrupted. */
async function recover(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, blockers, told } = flow;
  await blockers.untilDone(() => keeper.load(), signal, flow.firstLook.resolve);
  told.noteClock(keeper.journal());
  await settleAndTell(flow, signal);
}

/** The loop's own signal; requests before the loop runs do not come so far. */
function signalOf({ state }: Flow): AbortSignal {
  if (!state.signal) throw new Error('the loop does not run');
  return state.signal;
}

async function tick(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, blockers, poll, told, lock, clock } = flow;
  told.noteClock(keeper.journal());
  if (lock.isTaken()) return;
  // A request that failed half-way leaves its operation behind: it is ended like one that a crash has left.
  if (keeper.isUnsettled()) await settleAndTell(flow, signal);
  await blockers.untilDone(() => bringUp(flow, signal), signal);
  if (clock.monotonic() >= poll.dueMs()) {
    await blockers.untilDone(async () => void (await check(flow, signal)), signal);
    // Somebody may have removed what is pinned, or what is kept to go back to.
    await settleAndTell(flow, signal);
  }
  const manifest = poll.latest();
  if (manifest) await install(flow, manifest, signal);
}

function nextTickMs({ clock, lock, poll, state }: Flow): number {
  const now = clock.monotonic();
  if (lock.isTaken()) return longestTickMs;
  // The other two are only due when something failed before: their past times wait for nothing.
  const retries = [state.installDueMs, state.bringUpDueMs].filter((due) => due > now);
  const waits = [poll.dueMs(), ...retries].map((due) => due - now);
  return Math.max(10, Math.min(longestTickMs, ...waits));
}

/** Asks for the release manifest. */
async function check({ poll, told, keeper }: Flow, signal: AbortSignal): Promise<ReleaseCheck> {
  const answer = await poll.check(signal);
  if (answer.kind === 'ok') told.noteWanted(poll.wanted(), keeper.journal());
  if (answer.kind === 'rejected') told.fail('manifest_rejected', answer.reason);
  if (answer.kind === 'unavailable') told.fail('manifest_unavailable', answer.reason);
  return answer;
}

/** Installs the manifest's release, if that is to be done automatically and now. */
async function install(flow: Flow, manifest: ReleaseManifest, signal: AbortSignal): Promise<void> {
  const { poll, clock, state, installRetry } = flow;
  const choice = poll.choose(manifest);
  if (choice.kind !== 'install' || clock.monotonic() < state.installDueMs || state.starting) return;
  const entry = await operate(flow, { kind: 'update', trigger: 'automatic', to: choice.release }, signal);
  if (entry?.result === 'failed') state.installDueMs = clock.monotonic() + installRetry.nextMs();
  else installRetry.reset();
}

/**
 * Brings the installed release up when it must be: after a failed operation always, after a boot unless BOOTSTRAP_ON_START is off and
 * the stack was found down, and at each start of the agent when BOOTSTRAP_ON_START is on.
 */
async function bringUp(flow: Flow, signal: AbortSignal): Promise<void> {
  const { keeper, clock, state, bringUpRetry } = flow;
  const { installed } = keeper.journal();
  const isDue = installed !== null && (await isBringUpDue(flow, installed));
  state.isStart = false;
  if (!isDue || clock.monotonic() < state.bringUpDueMs) return;
  await settleAndTell(flow, signal, { bringUpDue: true });
  if (keeper.journal().upInBoot === null) state.bringUpDueMs = clock.monotonic() + bringUpRetry.nextMs();
  else bringUpRetry.reset();
}

async function isBringUpDue({ keeper, engine, state, bootId, bootstrapOnStart }: Flow, installed: Release) {
  const { upInBoot } = keeper.journal();
  const at = { upInBoot, bootId, bootstrapOnStart, isStart: state.isStart };
  const due = decideBringUp(at, state.foundAtStart);
  if (due !== 'look') return due === 'due';
  state.foundAtStart = runningPart(await engine.containers(), Object.keys(installed.imageIds));
  return decideBringUp(at, state.foundAtStart) === 'due';
}

// Requests: what people and the web app ask for.

/** Lets one request at a time through, and none while an operation is under way. */
export async function request(flow: Flow, answer: () => Promise<StartAnswer>): Promise<StartAnswer> {
  const { keeper, blockers, lock, state, waker } = flow;
  await untilFirstLook(flow);
  if (state.signal?.aborted) return refused('shutting_down', 'The agent is stopping.');
  if (state.starting || keeper.operation()) return busy;
  // A request would wait behind the loop, which waits for the end of the fault.
  const refusal = findRefusal(flow);
  if (refusal) return refused(refusal.code, refusal.message);
  if (lock.isTaken()) return refused('unavailable', 'The hotspot is on: the station has no network now.');
  state.starting = true;
  try {
    return await answer();
  } catch (error) {
    if (!blockers.note(error)) throw error;
    // What it left behind is put right by the loop, which waits for the end of the fault; later requests are told at once.
    waker.wake();
    const { code, message } = findRefusal(flow) ?? tryAgain;
    return refused(code, message);
  } finally {
    state.starting = false;
  }
}

const busy = refused('update_in_progress', 'An update or a rollback is under way.');
const tryAgain = { code: 'internal', message: 'It could not be begun. Try again.' } as const;
const notLooked = { code: 'unavailable', message: 'The agent is still starting. Try again in a minute.' } as const;

/** How long a request waits for the agent to know its state: an engine may take long to answer. */
const longestFirstLookMs = 10_000;

/** Right after the agent's start a request waits until the journal was read, or is known not to be readable now. */
async function untilFirstLook({ keeper, blockers, firstLook, clock }: Flow): Promise<void> {
  if (keeper.isLoaded() || blockers.current() !== null) return;
  const looked = new AbortController();
  void firstLook.promise.then(() => looked.abort());
  await clock.sleep(longestFirstLookMs, looked.signal).catch(() => undefined);
}

/** Why nothing can be asked of the stack now; null when something can. */
function findRefusal({ keeper, blockers }: Flow): Pick<Refusal, 'code' | 'message'> | null {
  const blocker = blockers.current();
  if (blocker !== null) return refusals[blocker];
  return keeper.isLoaded() ? null : notLooked;
}

export async function update(flow: Flow, text: string | null): Promise<StartAnswer> {
  const version = requestedVersion(text);
  if (version === undefined) return refused('version_invalid', 'The version is not SemVer 2.0.0.');
  const { keeper, runner, poll } = flow;
  const journal = keeper.journal();
  if (version !== null && version === journal.installed?.version) return { kind: 'already_current', version };
  const kept = version === null ? null : findKept(journal, version);
  if (kept) return start(flow, { kind: 'update', trigger: 'manual', to: kept });
  const answer = await runner.run(() => check(flow, signalOf(flow)));
  const manifest = answer.kind === 'ok' ? answer.manifest : version === null ? null : poll.latest();
  if (!manifest) return refusedCheck(answer);
  const choice = chooseManual(manifest, journal, version);
  if (choice.kind === 'current') return { kind: 'already_current', version: choice.version };
  if (choice.kind === 'refused') return choice;
  return start(flow, { kind: 'update', trigger: 'manual', to: choice.release });
}

export async function rollback(flow: Flow): Promise<StartAnswer> {
  const journal = flow.keeper.journal();
  const target = rollbackTarget(journal);
  if (!target) return nothingToRollBack(journal);
  return start(flow, { kind: 'rollback', trigger: 'manual', to: target.release });
}

/** Answers once the operation is written down; its end may be far off. */
function start(flow: Flow, wanted: OperationRequest): Promise<StartAnswer> {
  const { keeper, runner, waiting } = flow;
  const signal = signalOf(flow);
  return new Promise((resolve, reject) => {
    const job = async (): Promise<void> => {
      const begun = await keeper.begin(wanted);
      if (!begun) return resolve(busy);
      const ended = new Promise<HistoryEntry | null>((tell) => waiting.set(begun.id, tell));
      resolve({ kind: 'started', operationId: begun.id, ended });
      await settleAndTell(flow, signal);
    };
    void runner.run(() => job().catch((error: unknown) => (signal.aborted ? undefined : reject(error as Error))));
  });
}

export async function checkNow(flow: Flow): Promise<ReleaseCheck> {
  const { runner, state, waker } = flow;
  await untilFirstLook(flow);
  const refusal = findRefusal(flow);
  if (refusal) return { kind: 'unavailable', reason: refusal.message };
  const answer = await runner.run(() => check(flow, signalOf(flow)));
  state.installDueMs = -Infinity;
  waker.wake();
  return answer;
}

// Operations: each is brought to its end, however long the engine or the disk do not let it.

async function operate(flow: Flow, wanted: OperationRequest, signal: AbortSignal): Promise<HistoryEntry | null> {
  let id: string | null = null;
  await flow.blockers.untilDone(async () => {
    id = (await flow.keeper.begin(wanted))?.id ?? id;
  }, signal);
  await settleAndTell(flow, signal);
  return id === null ? null : flow.keeper.outcome(id);
}

/** Settles the stack, then says what is the matter with it and who was waiting for it. */
async function settleAndTell(flow: Flow, signal: AbortSignal, { bringUpDue = false } = {}): Promise<void> {
  const { blockers, keeper, told } = flow;
  const onStep = blockers.stepTaken;
  await blockers.untilDone(() => settle(flow, { signal, bringUpDue, onStep }), signal);
  tellEnd(flow);
  await told.noteSettled(keeper.journal());
}

/** Says what is the matter now that an operation has ended, then tells who waits for it. */
export function tellEnd({ keeper, told, waiting }: Flow): void {
  told.noteEnd(keeper.journal());
  for (const [id, resolve] of waiting) {
    if (keeper.operation()?.id === id) continue;
    waiting.delete(id);
    resolve(keeper.outcome(id));
  }
}

/**
 * Observe → decide → apply, until nothing is left to do: ends the operation under way, however it stands, then tidies up. After a crash
 * the same loop goes on from what the journal says.
 */
export async function settle(
  context: StepContext,
  options: { signal: AbortSignal; bringUpDue?: boolean; onStep?: (taken: Step['kind']) => void },
): Promise<void> {
  const { keeper, alive } = context;
  const { signal, onStep = () => undefined } = options;
  let due = options.bringUpDue ?? false;
  // Pins and images that could not be tidied before may have become others since.
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
