import { randomUUID } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import { maxRunsPerMinute, type RunReason } from '@station/protocol/automations';
import type { EffectResult, PerformEffect } from './actions.ts';
import type { ConditionFacts } from './conditions.ts';
import { type BegunEffect, progressRun, type RunTime } from './progress.ts';
import { endStep, newRow, nowOf, publicTrigger, skippedRow, type Start, timeOf, triggersOf } from './run-rows.ts';
import type { NotificationRow, RunChange, RunRow, RunStore, StepRow } from './run-store.ts';

export type Runner = AsyncDisposable & {
  /**
   * Resolves once the run is on disk or refused; its execution continues.
   * @returns the state of the run, also when it is not stored because of the record limit; null when this process must not run it: another
   * process does, the automation was removed or unpublished, or this process is stopping.
   */
  start(start: Start): Promise<RunRow | null>;
  /** Stores a run that does not start. */
  skip(start: Start, reason: RunReason): Promise<void>;
  /** Continues a run whose delay ended. @param time by the clock of the run. */
  wake(run: RunRow, time: RunTime): Promise<void>;
  /** Continues a run whose owner is dead. */
  recover(run: RunRow): Promise<void>;
  isDoing(runId: string): boolean;
  /** Renews the leases of running runs. */
  renew(): Promise<void>;
  /** Id of this process in the records. */
  owner: string;
};

type RunnerParts = {
  runs: RunStore;
  perform: PerformEffect;
  factsOf: (deviceId: string | null) => Promise<ConditionFacts>;
  /** Id of the automation. */
  nameOf: (automationId: string) => Promise<string>;
  newId: () => string;
  /** A run started, waits, or ended. */
  onRun: (run: RunRow) => void;
  onNotification: (notification: NotificationRow) => void;
  /** The run waits, and this process has released it. */
  onWaiting: (runId: string, until: number, time: RunTime) => void;
  clock: Clock;
  logger: BackendLogger;
};

const leaseMs = 30_000;
/** How long running actions may take when the backend stops. */
const settleMs = 1_000;

type Live = {
  row: RunRow;
  name: string;
  flow: CheckedFlow;
  steps: Map<string, StepRow>;
  time: RunTime;
  turn: ExclusiveRunner;
  /** Timer for a delay while another action runs. */
  alarm: AbortController;
};

/** Executes runs: each step is on disk before it starts, and its outcome is on disk before the next step. */
export function createRunner(parts: RunnerParts): Runner {
  const { runs, clock, logger } = parts;
  const owner = randomUUID();
  const lives = new Map<string, Live>();
  const working = new Set<Promise<unknown>>();
  const mayRecord = createRecordLimiter(clock);
  const stopping = new AbortController();
  let accepting = true;

  const track = (work: Promise<unknown>, where: string): void => {
    const tracked = work
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) logger.event('unexpected_error', { where, message: describeError(error) });
      })
      .finally(() => working.delete(tracked));
    working.add(tracked);
  };
  const newLive = (row: RunRow, name: string, steps: readonly StepRow[], time: RunTime): Live => ({
    row,
    name,
    flow: JSON.parse(row.flow) as CheckedFlow,
    steps: new Map(steps.map((step) => [step.node_id, step])),
    time,
    turn: createExclusiveRunner(),
    alarm: new AbortController(),
  });
  const progress = (live: Live, abandoned: boolean) =>
    progressRun({
      ...live,
      triggers: triggersOf(live.row, live.flow),
      abandoned,
      ...parts,
      leaseUntil: clock.now() + leaseMs,
    });

  /** Called after the outcome is on disk. */
  const follow = (live: Live, change: RunChange, effects: readonly BegunEffect[], until: number | null): void => {
    const before = live.row.status;
    live.row = { ...live.row, ...change.run };
    for (const notification of change.notifications) parts.onNotification(notification);
    if (live.row.status !== before || !lives.has(live.row.id)) parts.onRun(live.row);
    live.alarm.abort();
    if (live.row.status !== 'running') {
      lives.delete(live.row.id);
      if (live.row.status === 'waiting' && until !== null) parts.onWaiting(live.row.id, until, live.time);
      return;
    }
    lives.set(live.row.id, live);
    for (const effect of effects) track(carryOut(live, effect), 'an action of an automation');
    if (until !== null) track(ringAt(live, until), 'a delay of an automation');
  };

  const carryOut = async (live: Live, { node, effect }: BegunEffect): Promise<void> => {
    const { id, automation_id, trigger, started_at } = live.row;
    const about = {
      automation: { id: automation_id, name: live.name },
      run: { id, startedAt: isoTime(started_at) },
      trigger: publicTrigger(trigger),
    };
    let result: EffectResult;
    try {
      result = await parts.perform(effect, { about, signal: stopping.signal });
    } catch (error) {
      // The started step stays in the record: the next start marks its outcome as unknown.
      if (stopping.signal.aborted) return;
      logger.event('unexpected_error', { where: `action ${effect.kind}`, message: describeError(error) });
      result = { status: 'failed', detail: 'Something went wrong in the station.' };
    }
    await advance(live, { node, result });
  };

  const ringAt = async (live: Live, until: number): Promise<void> => {
    live.alarm = new AbortController();
    const wait = until - nowOf(live.time, clock);
    const signal = AbortSignal.any([stopping.signal, live.alarm.signal]);
    const rang = await clock.sleep(Math.max(0, wait), signal).then(
      () => true,
      () => false,
    );
    if (rang) await advance(live, null);
  };

  /** Serialises the work of each run. */
  const advance = (live: Live, ended: { node: CheckedNode; result: EffectResult } | null): Promise<void> =>
    live.turn.run(async () => {
      // A run that was replaced meanwhile still stores the outcome of its action.
      if (ended === null && !lives.has(live.row.id)) return;
      const first = ended === null ? [] : endStep(live.steps, ended.node.id, ended.result, clock.now());
      await goOn(live, false, first);
    });

  const goOn = async (live: Live, abandoned: boolean, ended: RunChange['ended']): Promise<void> => {
    try {
      const { change, effects, until } = await progress(live, abandoned);
      const whole = { ...change, ended: [...ended, ...change.ended] };
      if (await saveSurely(live.row.id, whole)) follow(live, whole, effects, until);
      else forget(live);
    } catch (error) {
      // Its lease expires, and then a process resumes it as an interrupted run.
      forget(live);
      throw error;
    }
  };

  const forget = (live: Live): void => {
    live.alarm.abort();
    lives.delete(live.row.id);
  };

  /** Retries, because the database may be offline for a moment and the outcome must not be lost. */
  const saveSurely = async (runId: string, change: RunChange): Promise<boolean> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await runs.save(runId, owner, change);
      } catch (error) {
        if (attempt === saveAttempts || stopping.signal.aborted) throw error;
        await clock.sleep(saveRetryMs, stopping.signal);
      }
    }
  };

  const resume = async (row: RunRow, time: RunTime, abandoned: boolean): Promise<void> => {
    const claim = { owner, leaseUntil: clock.now() + leaseMs, now: nowOf(time, clock), from: row.owner };
    if (!accepting || !(await runs.claim(row, claim))) return;
    const held: RunRow = { ...row, status: 'running', owner, lease_until: claim.leaseUntil, wake_at: null };
    const [name, steps] = [await parts.nameOf(row.automation_id), await runs.steps(row.id)];
    const live = newLive(held, name, steps, time);
    lives.set(row.id, live);
    await live.turn.run(() => goOn(live, abandoned, []));
  };
  const tracked = <T>(work: Promise<T>, where: string): Promise<T> => {
    track(work, where);
    return work;
  };

  return {
    owner,
    start: async (start) => {
      if (!accepting) return null;
      return tracked(open(start), 'the start of a run');
    },
    skip: async (start, reason) => {
      await keepSkipped(start, reason);
    },
    wake: (row, time) => tracked(resume(row, time, false), 'the end of a delay'),
    recover: (row) => tracked(resume(row, timeOf(clock), true), 'a run that was broken off'),
    isDoing: (runId) => lives.has(runId),
    renew: async () => {
      if (lives.size > 0) await runs.renew([...lives.keys()], owner, clock.now() + leaseMs);
    },
    [Symbol.asyncDispose]: async () => {
      accepting = false;
      const settled = (async (): Promise<void> => {
        while (working.size > 0) await Promise.all(working);
      })();
      // Alarms are for delays, which continue after the next start.
      for (const { alarm } of lives.values()) alarm.abort();
      const patience = new AbortController();
      await Promise.race([settled, clock.sleep(settleMs, patience.signal).catch(() => undefined)]);
      patience.abort();
      stopping.abort(new Error('The backend is stopping'));
      await settled;
    },
  };

  async function keepSkipped(start: Start, reason: RunReason): Promise<RunRow | null> {
    const { id: automationId } = start.automation;
    const row = skippedRow(start, parts.newId(), clock.now(), reason);
    if (!mayRecord(`${reason} ${automationId}`, 1)) return row;
    logger.event('automation_skipped', { automationId, reason });
    if (!(await runs.record(row, []))) return null;
    parts.onRun(row);
    return row;
  }

  async function open(start: Start): Promise<RunRow | null> {
    const { automation } = start;
    const row = { ...newRow(start, parts.newId(), clock.now()), owner, lease_until: clock.now() + leaseMs };
    const live = newLive(row, automation.name, [], timeOf(clock));
    const { change, effects, until } = await progress(live, false);
    const opened = { ...row, ...change.run };
    if (opened.reason === 'conditions_not_met') {
      if (!mayRecord(`conditions ${automation.id}`, maxRunsPerMinute)) return opened;
      const isKept = await runs.record(opened, change.begun);
      if (isKept) parts.onRun(opened);
      return isKept ? opened : null;
    }
    const opening = await runs.open(opened, change, automation.mode);
    switch (opening.kind) {
      case 'not_ours':
        return null;
      case 'skipped':
        return keepSkipped(start, opening.reason);
      case 'opened':
        for (const replaced of opening.replaced) {
          const old = lives.get(replaced.id);
          if (old !== undefined) forget(old);
          parts.onRun(replaced);
        }
        follow(live, change, effects, until);
        return live.row;
    }
  }
}

const saveAttempts = 5;
const saveRetryMs = 1_000;

const windowMs = 60_000;

/**
 * Limits how often in a minute a kind of record is stored, so that frequent records do not fill the database.
 * @returns whether this record may be stored.
 */
function createRecordLimiter(clock: Clock): (key: string, perMinute: number) => boolean {
  const windows = new Map<string, { sinceMs: number; count: number }>();
  return (key, perMinute) => {
    const now = clock.monotonic();
    const known = windows.get(key);
    const window = known !== undefined && now - known.sinceMs < windowMs ? known : { sinceMs: now, count: 0 };
    windows.delete(key);
    windows.set(key, window);
    // The least recently used entries come first.
    for (const [old, { sinceMs }] of windows) {
      if (now - sinceMs < windowMs) break;
      windows.delete(old);
    }
    window.count += 1;
    return window.count <= perMinute;
  };
}
