import type { Clock } from '@station/kit/clock';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
import type { BackendLogger } from '@station/kit/logger';
import type { Leadership } from '../core/leadership.ts';
import type { ConditionWaits } from './condition-waits.ts';
import type { RunTime } from './progress.ts';
import type { Registry } from './registry.ts';
import { nowOf, timeOf } from './run-rows.ts';
import type { RunRow, RunStore } from './run-store.ts';
import type { Runner } from './runner.ts';
import { createSchedulePlan, type SchedulePlan, type Whereabouts } from './schedule.ts';

export type TimerParts = {
  runs: RunStore;
  runner: Runner;
  registry: Registry;
  leadership: Leadership;
  where: () => Promise<Whereabouts>;
  /** Runs that wait for a condition. */
  conditions: Pick<ConditionWaits, 'check' | 'untilNextMs'>;
  /** Whether other processes work on the same database. */
  isShared: boolean;
  clock: Clock;
  logger: BackendLogger;
};

export type Timer = AsyncDisposable & {
  /** Runs what is due. @returns milliseconds until the next check. The timer calls it automatically. */
  check(): Promise<number>;
  /** Something may be due earlier than planned. */
  nudge(): void;
  /** The time of the station was corrected, and the ends of waits in the database with it. */
  noteStep(): void;
  /** The time of a run that waits, by the clock with which it began in this process. The run is about to continue. */
  takeTime(runId: string): RunTime;
  /** A run of this process started to wait. */
  noteWaiting(runId: string, untilMs: number, time: RunTime): void;
};

/** A regular check finds clock changes and abandoned runs. */
const checkEveryMs = 10_000;
/** Other processes may store waiting runs without notice. */
const checkEverySharedMs = 1_000;
const retryMs = 1_000;

type TimerState = TimerParts & {
  /** Ends of delays that began in this process, by its monotonic clock. */
  anchors: Map<string, { untilMs: number; time: RunTime }>;
  plan: SchedulePlan;
  everyMs: number;
};

/** Handles ended delays, due schedules and interrupted runs; only the leader does. */
export function startTimer(parts: TimerParts): Timer {
  const { leadership, clock, logger } = parts;
  const state: TimerState = {
    ...parts,
    anchors: new Map(),
    plan: createSchedulePlan(),
    everyMs: parts.isShared ? checkEverySharedMs : checkEveryMs,
  };
  const stopping = new AbortController();
  const { signal } = stopping;
  const waker = createWaker(clock);
  const report = (error: unknown): void => {
    if (signal.aborted) return;
    logger.failed('the timer of automations', error);
  };
  const leading = leadership.subscribe(waker.wake);
  const running = recoverAtStart(state)
    .catch(report)
    .then(() =>
      runLoop({
        turn: () => check(state),
        waker,
        clock,
        signal,
        backoff: constantBackoff(retryMs),
        onFailure: ({ error }) => report(error),
      }),
    );
  return {
    check: () => check(state),
    nudge: waker.wake,
    noteStep: () => {
      state.anchors.clear();
      waker.wake();
    },
    takeTime: (runId) => {
      const time = state.anchors.get(runId)?.time ?? timeOf(clock);
      state.anchors.delete(runId);
      return time;
    },
    noteWaiting: (runId, untilMs, time) => {
      state.anchors.set(runId, { untilMs, time });
      waker.wake();
    },
    [Symbol.asyncDispose]: async () => {
      leading[Symbol.dispose]();
      stopping.abort();
      await running;
    },
  };
}

async function recoverAtStart(state: TimerState): Promise<void> {
  // With a single backend, no other process can own a running run.
  if (!state.isShared) await recover(state, await state.runs.abandoned({ notBy: state.runner.owner }));
}

/** @returns milliseconds until the next check. */
async function check(state: TimerState): Promise<number> {
  const { runs, runner, registry, leadership, anchors, plan, clock } = state;
  // Renews this process's leases first: after a stall its own runs would seem abandoned.
  await runner.renew();
  if (state.isShared) await registry.refresh();
  await state.conditions.check();
  if (!leadership.isLeader()) {
    plan.clear();
    anchors.clear();
    return state.everyMs;
  }
  await recover(state, await runs.abandoned({ leaseBefore: clock.now() }));
  await wakeDueRuns(state);
  await startDueSchedules(state);
  return untilNextMs(state);
}

async function recover({ runner }: TimerState, rows: readonly RunRow[]): Promise<void> {
  for (const row of rows) if (!runner.isDoing(row.id)) await runner.recover(row);
}

async function wakeDueRuns({ runs, runner, anchors, clock }: TimerState): Promise<void> {
  const isEarly = ({ id, wake_at }: RunRow): boolean => {
    const anchor = anchors.get(id);
    // Another process may have continued the run meanwhile, to another wait.
    return anchor !== undefined && anchor.untilMs === wake_at && nowOf(anchor.time, clock) < anchor.untilMs;
  };
  const rows = (await runs.due(clock.now())).filter((row) => !isEarly(row));
  // The wall clock was set back: by the monotonic clock they are over.
  for (const [id, { untilMs, time }] of anchors) {
    if (nowOf(time, clock) < untilMs || rows.some((row) => row.id === id)) continue;
    const row = await runs.find(id);
    if (row?.status === 'waiting') rows.push(row);
    else anchors.delete(id);
  }
  for (const row of rows) {
    const time = anchors.get(row.id)?.time ?? timeOf(clock);
    anchors.delete(row.id);
    await runner.wake(row, time);
  }
}

async function startDueSchedules({ registry, runner, plan, where, clock }: TimerState): Promise<void> {
  const schedules = registry.schedules();
  const here = schedules.length === 0 ? { timeZone: 'UTC', place: null } : await where();
  for (const { start, isMissed } of plan.take(schedules, clock.now(), here)) {
    // The cause stays free: after a clock that was ahead, the same time comes again.
    const missed = { ...start, cause: `missed ${start.cause}` };
    await (isMissed ? runner.skip(missed, 'schedule_missed') : runner.start(start));
  }
}

async function untilNextMs({ runs, plan, anchors, conditions, everyMs, clock }: TimerState): Promise<number> {
  const now = clock.now();
  const wakeAt = await runs.nextWake(now);
  const left = [everyMs, conditions.untilNextMs() ?? everyMs];
  if (wakeAt !== null) left.push(wakeAt - now);
  const scheduled = plan.next();
  if (scheduled !== null) left.push(scheduled - now);
  for (const { untilMs, time } of anchors.values()) left.push(untilMs - nowOf(time, clock));
  return Math.max(0, Math.min(...left));
}
