import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import { createWaker } from '@station/kit/wakeable';
import type { BackendLogger } from '@station/kit/logger';
import type { Leadership } from '../core/leadership.ts';
import type { RunTime } from './progress.ts';
import type { Registry } from './registry.ts';
import { nowOf, timeOf } from './run-rows.ts';
import type { RunRow, RunStore } from './run-store.ts';
import type { Runner } from './runner.ts';
import { createSchedulePlan } from './schedule.ts';

export type TimerParts = {
  runs: RunStore;
  runner: Runner;
  registry: Registry;
  leadership: Leadership;
  timeZone: () => Promise<string>;
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
  /** A run of this process started to wait. */
  noteWaiting(runId: string, untilMs: number, time: RunTime): void;
};

/** A regular check finds clock changes and abandoned runs. */
const lookEveryMs = 10_000;
/** Other processes may store waiting runs without notice. */
const lookEverySharedMs = 1_000;
const retryMs = 1_000;

/** Handles ended delays, due schedules and interrupted runs; only the leader does. */
export function startTimer(parts: TimerParts): Timer {
  const { runs, runner, registry, leadership, clock, logger } = parts;
  const anchors = new Map<string, { untilMs: number; time: RunTime }>();
  const plan = createSchedulePlan();
  const everyMs = parts.isShared ? lookEverySharedMs : lookEveryMs;
  const stopping = new AbortController();
  const waker = createWaker(clock);

  const recover = async (rows: readonly RunRow[]): Promise<void> => {
    for (const row of rows) if (!runner.isDoing(row.id)) await runner.recover(row);
  };
  const wakeDue = async (): Promise<void> => {
    const isEarly = ({ id }: RunRow): boolean => {
      const anchor = anchors.get(id);
      return anchor !== undefined && nowOf(anchor.time, clock) < anchor.untilMs;
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
  };
  const startDue = async (): Promise<void> => {
    const schedules = registry.schedules();
    const timeZone = schedules.length === 0 ? 'UTC' : await parts.timeZone();
    for (const { start, isMissed } of plan.take(schedules, clock.now(), timeZone)) {
      await (isMissed ? runner.skip(start, 'schedule_missed') : runner.start(start));
    }
  };
  const untilNext = async (): Promise<number> => {
    const now = clock.now();
    const wakeAt = await runs.nextWake(now);
    const left = [everyMs];
    if (wakeAt !== null) left.push(wakeAt - now);
    const scheduled = plan.next();
    if (scheduled !== null) left.push(scheduled - now);
    for (const { untilMs, time } of anchors.values()) left.push(untilMs - nowOf(time, clock));
    return Math.max(0, Math.min(...left));
  };
  const check = async (): Promise<number> => {
    // Renews this process's leases first: after a stall its own runs would seem abandoned.
    await runner.renew();
    if (parts.isShared) await registry.refresh();
    if (!leadership.isLeader()) {
      plan.clear();
      anchors.clear();
      return everyMs;
    }
    await recover(await runs.abandoned({ leaseBefore: clock.now() }));
    await wakeDue();
    await startDue();
    return untilNext();
  };

  const run = async (): Promise<void> => {
    // With a single backend, no other process can own a running run.
    if (!parts.isShared) await recover(await runs.abandoned({ notBy: runner.owner })).catch(report);
    while (!stopping.signal.aborted) {
      const sleepMs = await check().catch((error: unknown) => {
        report(error);
        return retryMs;
      });
      await waker.sleep(sleepMs, stopping.signal).catch(() => undefined);
    }
  };
  const report = (error: unknown): void => {
    if (stopping.signal.aborted) return;
    logger.event('unexpected_error', { where: 'the timer of automations', message: describeError(error) });
  };
  const leading = leadership.subscribe(waker.wake);
  const running = run().catch(report);
  return {
    check,
    nudge: waker.wake,
    noteWaiting: (runId, untilMs, time) => {
      anchors.set(runId, { untilMs, time });
      waker.wake();
    },
    [Symbol.asyncDispose]: async () => {
      leading[Symbol.dispose]();
      stopping.abort();
      await running;
    },
  };
}
