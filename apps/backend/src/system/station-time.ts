import { nextTurn } from '@station/kit/timers';
import type { Clock } from '@station/kit/clock';
import { createEmitter, type Emitter } from '@station/kit/emitter';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import type { Boot } from './adapters/boot.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { ClockPeriod, ClockStore } from './clock-store.ts';
import type { AgentClock } from './agent-clock.ts';
import {
  agentGraceMs,
  type ClockWord,
  decideEarlierSteps,
  decideStart,
  decideTime,
  isTakenBack,
  type KeptTime,
  stepLimitMs,
} from './station-time-decide.ts';

export type StationTimeParts = {
  /** Of the machine; its wall clock may jump at any time. */
  machine: Clock;
  boot: Boot;
  store: ClockStore;
  /** Null: there is no agent. Never rejects. */
  askAgent: (() => Promise<AgentClock>) | null;
  /** Sums up the hours from this time on again: samples were moved there. @param nowMs of the station. */
  sumUpAgain: (fromMs: number, nowMs: number, signal: AbortSignal) => Promise<void>;
  logger: BackendLogger;
  /** Time for messages that are just being written. */
  settleMs?: number;
};

export type StationTime = AsyncDisposable & {
  /** The time of the station: it never falls behind what is stored, and jumps only when the right time becomes known. */
  clock: Clock;
  trusted: TrustedTime;
  source(): AgentClock['source'];
  /** Whether the clock needs a person or NTP, and since when its times are provisional. */
  isDoubtful(): boolean;
  /** Looks again now. @throws (rejects) when the database fails. */
  check(): Promise<void>;
  /** A person says that the clock of the machine is right, until it is set again. */
  confirm(): Promise<void>;
  /** Calls `listener` when `isDoubtful` may have changed. */
  onChange(listener: () => void): Disposable;
};

const checkEveryMs = 10_000;
/** Each is a commit, about 40 kB of wear of the card. While the clock is not right, what is left of a grace is kept as well. */
const keepEveryMs = { trusted: 600_000, unsure: 60_000 } as const;
const retryMs = 5_000;
const defaultSettleMs = 5_000;
/** Rows that are written while the correction begins still belong to the period. Far less than the smallest step. */
const lateMs = 2_000;

type State = StationTimeParts & {
  timeline: { atMs: number; monotonicMs: number };
  isTrusted: boolean;
  judgedOffsetMs: number;
  /** Monotonic time since which the timeline goes on without a gap: since the machine, or this process, started. */
  beganMs: number;
  /** Sum of the jumps that were followed without a word of the agent or a person. */
  followedMs: number;
  /** Time of the station right after a step forward: later times may turn out to be too late. */
  aheadFromMs: number | null;
  isLateReturn: boolean;
  /** `isJump`: the clock jumped while the backend ran. */
  hold: { sinceMs: number; ms: number; isJump: boolean };
  answer: AgentClock;
  isConfirmed: boolean;
  /** The one that lasts. */
  period: ClockPeriod | null;
  /** All that are on disk. */
  periods: ClockPeriod[];
  /** Monotonic time of the last write, and of the last correction. */
  keptMs: number;
  correctedMs: number;
  steps: Emitter<number>;
  changes: Emitter<undefined>;
  waker: Waker;
  corrector: Waker;
};

/**
 * Opens the station's time. Resolved means: the agent was asked once, and an unsure period is on disk.
 * @throws (rejects) when the database cannot be read.
 */
export async function openStationTime(parts: StationTimeParts): Promise<StationTime> {
  const { machine, logger } = parts;
  const state = await readState(parts);
  const stopping = new AbortController();
  const { signal } = stopping;
  const onFailure = ({ error }: { error: unknown }): void => logger.failed('the time of the station', error);
  let turning = Promise.resolve();
  const check = (): Promise<void> => {
    const next = turning.then(() => turn(state));
    turning = next.catch(() => undefined);
    return next;
  };
  // A full disk must not prevent the start; the loop tries again.
  await check().catch((error: unknown) => onFailure({ error }));
  const common = { clock: machine, signal, backoff: constantBackoff(retryMs), onFailure };
  const running = [
    runLoop({ ...common, turn: () => check().then(() => checkEveryMs), waker: state.waker }),
    runLoop({ ...common, turn: () => correctHistory(state, signal).then(() => Infinity), waker: state.corrector }),
  ];
  return {
    clock: { ...machine, now: () => now(state), monotonic: machine.monotonic, sleep: machine.sleep },
    trusted: trustedOf(state),
    source: () => (state.isConfirmed ? 'person' : state.answer.source),
    isDoubtful: () => !state.isTrusted && (state.answer.word === 'wrong' || state.hold.isJump || isApart(state)),
    check,
    confirm: () => {
      state.isConfirmed = true;
      return check();
    },
    onChange: (listener) => state.changes.subscribe(listener),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all(running);
      await keep(state).catch((error: unknown) => onFailure({ error }));
    },
  };
}

/** The station's time is not the clock's. While both agree, nobody needs to do anything. */
const isApart = (state: State): boolean => Math.abs(state.machine.now() - now(state)) > stepLimitMs;

async function readState(parts: StationTimeParts): Promise<State> {
  const { machine, boot, store, askAgent } = parts;
  const kept = await store.kept();
  const newestMs = await store.newest();
  const periods = await store.periods();
  const facts = { wallMs: machine.now(), bootId: boot.id, uptimeMs: boot.uptimeMs(), kept, newestMs };
  const { timelineMs, holdMs, ...start } = decideStart(facts);
  const monotonicMs = machine.monotonic();
  return {
    ...parts,
    timeline: { atMs: timelineMs, monotonicMs },
    isTrusted: false,
    isConfirmed: false,
    ...start,
    periods,
    beganMs: kept?.bootId === boot.id ? monotonicMs - boot.uptimeMs() : monotonicMs,
    hold: {
      sinceMs: monotonicMs,
      ms: Math.max(holdMs, askAgent === null ? 0 : agentGraceMs),
      isJump: kept !== null && kept.holdMs > 0 && kept.followedMs !== 0,
    },
    answer: { word: 'unknown', source: 'unknown' },
    period: periods.find(({ boot_id, to_at }) => boot_id === boot.id && to_at === null) ?? null,
    keptMs: -Infinity,
    // What an earlier run wrote is on disk.
    correctedMs: -Infinity,
    steps: createEmitter<number>(),
    changes: createEmitter<undefined>(),
    waker: createWaker(machine),
    corrector: createWaker(machine),
  };
}

function trustedOf(state: State): TrustedTime {
  return {
    isTrusted: () => state.isTrusted,
    areAgesTrue: () => state.isTrusted && state.periods.length === 0,
    unsureSince: () => {
      const from = state.periods.map(({ from_at, step_ms }) => from_at + Math.min(0, step_ms ?? 0));
      if (!state.isTrusted && state.period === null) from.push(state.timeline.atMs);
      return from.length === 0 ? null : Math.min(...from);
    },
    subscribe: (listener) => state.steps.subscribe(listener),
  };
}

const timelineOf = ({ timeline, machine }: State): number =>
  Math.floor(timeline.atMs + machine.monotonic() - timeline.monotonicMs);

/** A jump of the wall clock is noticed here, before anything is written with its time. */
function now(state: State): number {
  const timelineMs = timelineOf(state);
  if (!state.isTrusted) return timelineMs;
  const wallMs = state.machine.now();
  if (Math.abs(wallMs - timelineMs) <= stepLimitMs) return wallMs;
  doubt(state, timelineMs);
  return timelineMs;
}

/** The clock was set, or the agent does not trust it any more. */
function doubt(state: State, timelineMs: number): void {
  setTimeline(state, timelineMs);
  state.isTrusted = false;
  state.isConfirmed = false;
  state.judgedOffsetMs = 0;
  state.hold = { sinceMs: state.timeline.monotonicMs, ms: 0, isJump: false };
  state.waker.wake();
}

function setTimeline(state: State, atMs: number): void {
  state.timeline = { atMs, monotonicMs: state.machine.monotonic() };
}

async function turn(state: State): Promise<void> {
  const { machine, askAgent, changes } = state;
  const before = { wasTrusted: state.isTrusted, word: state.answer.word };
  const offsetMs = (): number => machine.now() - machine.monotonic();
  const askedAtMs = offsetMs();
  state.answer = (await askAgent?.()) ?? { word: 'unknown', source: 'unknown' };
  const { word } = state.answer;
  const nowMs = now(state);
  // The clock was set meanwhile: the answer may be about the time before.
  if (Math.abs(offsetMs() - askedAtMs) > stepLimitMs) return state.waker.wake();
  if (state.isTrusted && word === 'wrong' && !state.isConfirmed) doubt(state, nowMs);
  if (state.isTrusted) setTimeline(state, nowMs);
  else await judge(state, state.isConfirmed ? 'right' : word);
  const isChanged = before.wasTrusted !== state.isTrusted || before.word !== word;
  const everyMs = state.isTrusted ? keepEveryMs.trusted : keepEveryMs.unsure;
  if (isChanged || machine.monotonic() - state.keptMs >= everyMs) await keep(state);
  if (isChanged) changes.emit(undefined);
}

async function judge(state: State, word: ClockWord): Promise<void> {
  const { machine, store, boot, hold, logger } = state;
  const { judgedOffsetMs, followedMs, isLateReturn } = state;
  const facts = {
    word,
    wallMs: machine.now(),
    timelineMs: timelineOf(state),
    judgedOffsetMs,
    followedMs,
    isLateReturn,
  };
  const step = decideTime({ ...facts, steadyMs: machine.monotonic() - hold.sinceMs, holdMs: hold.ms });
  if (step.kind === 'wait') {
    if (state.period !== null) return;
    state.period = await store.begin(boot.id, state.timeline.atMs, timeOf(state));
    state.periods = await store.periods();
    logger.event('clock_untrusted', { stationTimeMs: timelineOf(state), wallMs: facts.wallMs });
    return;
  }
  await beginAhead(state, step.stepMs);
  await endPeriods(state, step.stepMs);
  const jumpMs = machine.now() - timelineOf(state);
  setTimeline(state, machine.now());
  state.judgedOffsetMs = 0;
  state.isLateReturn = false;
  state.isTrusted = step.kind === 'trust';
  noteJump(state, word, jumpMs);
  if (step.kind === 'follow') {
    state.hold = { sinceMs: machine.monotonic(), ms: step.holdMs, isJump: true };
    state.period = await store.begin(boot.id, state.timeline.atMs, timeOf(state));
    state.periods = await store.periods();
  }
  if (Math.abs(jumpMs) > stepLimitMs) {
    logger.event('clock_corrected', { stepMs: jumpMs, trusted: state.isTrusted, by: state.answer.source });
    state.steps.emit(jumpMs);
  }
  state.corrector.wake();
}

function noteJump(state: State, word: ClockWord, jumpMs: number): void {
  const before = state.followedMs;
  state.followedMs = word === 'right' ? 0 : before + jumpMs;
  if (Math.abs(jumpMs) <= stepLimitMs) return;
  const isFurther = before > stepLimitMs && state.followedMs > stepLimitMs && state.aheadFromMs !== null;
  // Of several jumps that nobody confirms the first counts; a step back moved what was written since then.
  if (isFurther) state.aheadFromMs = (state.aheadFromMs ?? 0) + Math.min(0, jumpMs);
  else state.aheadFromMs = jumpMs > 0 ? state.timeline.atMs : null;
  // It must be on disk when the process is killed.
  state.keptMs = -Infinity;
}

/** The clock was ahead, although it was believed: what was written since then is a period, too. */
async function beginAhead(state: State, stepMs: number): Promise<void> {
  const { store, boot, period, aheadFromMs, followedMs } = state;
  if (aheadFromMs === null || (period !== null && period.from_at <= aheadFromMs)) return;
  if (!isTakenBack(stepMs, followedMs) && timelineOf(state) + stepMs >= aheadFromMs) return;
  state.period = await store.begin(boot.id, aheadFromMs, timeOf(state));
  state.periods = await store.periods();
}

/** Everything but the history is corrected before the time changes, so that no wait ends early or late. */
async function endPeriods(state: State, stepMs: number): Promise<void> {
  const { store, period, machine } = state;
  const open = state.periods.filter(({ step_ms }) => step_ms === null);
  if (open.length === 0 && Math.abs(stepMs) < stepLimitMs) return;
  // Whole seconds, rounded down: the samples of a second share a row, and corrected rows never follow those of the right time.
  const wholeMs = Math.floor(stepMs / 1000) * 1000;
  const toMs = timelineOf(state) + lateMs;
  const earlier = open.filter(({ id }) => id !== period?.id);
  const newest = earlier.length === 0 ? null : await store.newest();
  const periods = earlier.map(({ id, from_at, to_at }) => ({
    id,
    fromMs: from_at,
    toMs: to_at ?? Math.max(from_at, newest ?? 0),
  }));
  const beganMs = (period?.from_at ?? state.timeline.atMs) + wholeMs;
  const steps = decideEarlierSteps(beganMs, periods);
  const ofEarlier = periods.map(({ id, toMs: endMs }) => ({ id, toMs: endMs, stepMs: steps.get(id) ?? 0 }));
  // Whole, as the columns of PostgreSQL are.
  const waitsFromMs = Math.floor(timelineOf(state) - (machine.monotonic() - state.beganMs));
  const ends = [
    ...ofEarlier.map((end) => ({ ...end, waitsFromMs: null })),
    { id: period?.id ?? null, toMs, stepMs: wholeMs, waitsFromMs },
  ];
  state.periods = await store.end(ends, stepLimitMs);
  state.period = null;
  state.correctedMs = state.machine.monotonic();
}

/** A jump that somebody confirmed is no matter of the next process. */
function timeOf(state: State): KeptTime {
  const { boot, machine, hold, isTrusted, followedMs } = state;
  const leftMs = hold.ms - (machine.monotonic() - hold.sinceMs);
  return {
    bootId: boot.id,
    uptimeMs: boot.uptimeMs(),
    atMs: now(state),
    wallMs: machine.now(),
    isTrusted,
    followedMs,
    aheadFromMs: followedMs > stepLimitMs ? state.aheadFromMs : null,
    holdMs: isTrusted ? 0 : Math.max(0, Math.ceil(leftMs)),
  };
}

async function keep(state: State): Promise<void> {
  await state.store.keep(timeOf(state));
  state.keptMs = state.machine.monotonic();
}

/** In small transactions, so that messages of devices are written meanwhile. */
async function correctHistory(state: State, signal: AbortSignal): Promise<void> {
  const { machine, store, logger, sumUpAgain, settleMs = defaultSettleMs } = state;
  for (const period of state.periods.filter(({ step_ms }) => step_ms !== null)) {
    const leftMs = state.correctedMs + settleMs - machine.monotonic();
    if (leftMs > 0) await machine.sleep(leftMs, signal);
    while (!(await store.correct(period))) {
      await nextTurn();
      signal.throwIfAborted();
    }
    const stepMs = period.step_ms ?? 0;
    if (stepMs < 0) await sumUpAgain(period.from_at + stepMs, now(state), signal);
    signal.throwIfAborted();
    await store.forget(period.id);
    state.periods = state.periods.filter(({ id }) => id !== period.id);
    logger.event('history_corrected', { fromMs: period.from_at, stepMs });
  }
}
