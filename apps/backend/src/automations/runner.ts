import { randomUUID } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import { maxRunsPerMinute, type RunReason } from '@station/protocol/automations';
import type { EffectResult, PerformEffect } from './actions.ts';
import type { ConditionFacts, Judgement } from './flow-conditions.ts';
import { type BegunEffect, type Progress, progressRun, type RunTime } from './progress.ts';
import { createRecordLimiter, type RecordLimiter } from './record-limiter.ts';
import {
  endStep,
  ignoresConditions,
  newRow,
  nowOf,
  publicTrigger,
  skippedRow,
  type Start,
  timeOf,
  triggersOf,
} from './run-rows.ts';
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
  /** Continues a run that waits for a condition, at this node, which was seen to be met. */
  meet(run: RunRow, nodeId: string, judgement: Judgement, time: RunTime): Promise<void>;
  /** Continues a run whose owner is dead. */
  recover(run: RunRow): Promise<void>;
  isDoing(runId: string): boolean;
  /** The time of the station, and what waits in the database, were corrected by `stepMs`. */
  noteStep(stepMs: number): void;
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
  /** A run waits for a condition. */
  onCondition: () => void;
  /** The run waits, and this process has released it. */
  onWaiting: (runId: string, until: number, time: RunTime) => void;
  clock: Clock;
  logger: BackendLogger;
};

const leaseMs = 30_000;
/** How long running actions may take when the backend stops. */
const settleMs = 1_000;
const saveAttempts = 5;
const saveRetryMs = 1_000;

/** A run that this process executes. */
type LiveRun = {
  row: RunRow;
  name: string;
  flow: CheckedFlow;
  steps: Map<string, StepRow>;
  time: RunTime;
  turn: ExclusiveRunner;
  /** Timer for a delay while another action runs. */
  alarm: AbortController;
};

type RunnerState = RunnerParts & {
  owner: string;
  liveRuns: Map<string, LiveRun>;
  /** What must settle before the runner is disposed. */
  working: Set<Promise<unknown>>;
  mayRecord: RecordLimiter;
  stopping: AbortController;
  isAccepting: boolean;
};

/** Executes runs: each step is on disk before it starts, and its outcome is on disk before the next step. */
export function createRunner(parts: RunnerParts): Runner {
  const { runs, clock } = parts;
  const state: RunnerState = {
    ...parts,
    owner: randomUUID(),
    liveRuns: new Map(),
    working: new Set(),
    mayRecord: createRecordLimiter(clock),
    stopping: new AbortController(),
    isAccepting: true,
  };
  const { owner, liveRuns } = state;
  return {
    owner,
    start: async (start) => (state.isAccepting ? track(state, openRun(state, start), 'the start of a run') : null),
    skip: async (start, reason) => {
      await recordSkipped(state, start, reason);
    },
    wake: (row, time) => track(state, resume(state, row, time), 'the end of a delay'),
    meet: (row, nodeId, judgement, time) =>
      track(state, meet(state, row, time, new Map([[nodeId, judgement]])), 'a condition that became true'),
    recover: (row) => track(state, resume(state, row, timeOf(clock), { abandoned: true }), 'a run that was broken off'),
    isDoing: (runId) => liveRuns.has(runId),
    noteStep: (stepMs) => {
      for (const run of liveRuns.values()) void track(state, rebase(run, stepMs), 'a corrected time');
    },
    renew: async () => {
      if (liveRuns.size > 0) await runs.renew([...liveRuns.keys()], owner, clock.now() + leaseMs);
    },
    [Symbol.asyncDispose]: () => settle(state),
  };
}

/** Its steps in the database moved by as much. */
const rebase = (run: LiveRun, stepMs: number): Promise<void> =>
  run.turn.run(async () => {
    run.time = { ...run.time, wallMs: run.time.wallMs + stepMs };
    for (const [id, step] of run.steps) {
      if (step.status === 'waiting' && step.due_at !== null)
        run.steps.set(id, { ...step, due_at: step.due_at + stepMs });
    }
  });

async function openRun(state: RunnerState, start: Start): Promise<RunRow | null> {
  const { runs, owner, clock } = state;
  const { automation } = start;
  const row = { ...newRow(start, state.newId(), clock.now()), owner, lease_until: clock.now() + leaseMs };
  const run = newLiveRun(row, automation.name, [], timeOf(clock));
  const { change, effects, until } = await progress(state, run, {});
  const opened = { ...row, ...change.run };
  if (opened.reason === 'conditions_not_met') {
    if (!state.mayRecord(`conditions ${automation.id}`, maxRunsPerMinute)) return opened;
    const isKept = await runs.record(opened, change.begun);
    if (isKept) state.onRun(opened);
    return isKept ? opened : null;
  }
  const opening = await runs.open(opened, change, automation.mode);
  switch (opening.kind) {
    case 'not_ours':
      return null;
    case 'skipped':
      return recordSkipped(state, start, opening.reason);
    case 'opened':
      for (const replaced of opening.replaced) {
        const old = state.liveRuns.get(replaced.id);
        if (old !== undefined) forget(state, old);
        state.onRun(replaced);
      }
      follow(state, run, change, effects, until);
      return run.row;
  }
}

async function recordSkipped(state: RunnerState, start: Start, reason: RunReason): Promise<RunRow | null> {
  const { id: automationId } = start.automation;
  const row = skippedRow(start, state.newId(), state.clock.now(), reason);
  if (!state.mayRecord(`${reason} ${automationId}`, 1)) return row;
  state.logger.event('automation_skipped', { automationId, reason });
  if (!(await state.runs.record(row, []))) return null;
  state.onRun(row);
  return row;
}

/** What is known when a run continues. */
type Known = { abandoned?: boolean; met?: ReadonlyMap<string, Judgement> };

async function meet(
  state: RunnerState,
  row: RunRow,
  time: RunTime,
  met: ReadonlyMap<string, Judgement>,
): Promise<void> {
  const live = state.liveRuns.get(row.id);
  if (live !== undefined) await advance(state, live, null, met);
  // A run that another process executes is judged by that process.
  else if (row.status === 'waiting') await resume(state, row, time, { met });
}

async function resume(state: RunnerState, row: RunRow, time: RunTime, known: Known = {}): Promise<void> {
  const { runs, owner, clock } = state;
  const isMet = known.met !== undefined;
  const claim = { owner, leaseUntil: clock.now() + leaseMs, now: nowOf(time, clock), from: row.owner, isMet };
  if (!state.isAccepting || !(await runs.claim(row, claim))) return;
  const claimed: RunRow = { ...row, status: 'running', owner, lease_until: claim.leaseUntil, wake_at: null };
  const name = await state.nameOf(row.automation_id);
  const steps = await runs.steps(row.id);
  const run = newLiveRun(claimed, name, steps, time);
  state.liveRuns.set(row.id, run);
  await run.turn.run(() => progressAndSave(state, run, known, []));
}

const newLiveRun = (row: RunRow, name: string, steps: readonly StepRow[], time: RunTime): LiveRun => ({
  row,
  name,
  flow: JSON.parse(row.flow) as CheckedFlow,
  steps: new Map(steps.map((step) => [step.node_id, step])),
  time,
  turn: createExclusiveRunner(),
  alarm: new AbortController(),
});

const progress = (state: RunnerState, run: LiveRun, { abandoned = false, met = new Map() }: Known): Promise<Progress> =>
  progressRun({
    ...run,
    triggers: triggersOf(run.row, run.flow),
    ignoresConditions: ignoresConditions(run.row),
    abandoned,
    met,
    leaseUntil: state.clock.now() + leaseMs,
    factsOf: state.factsOf,
    newId: state.newId,
    clock: state.clock,
  });

async function progressAndSave(
  state: RunnerState,
  run: LiveRun,
  known: Known,
  ended: RunChange['ended'],
): Promise<void> {
  try {
    const { change, effects, until } = await progress(state, run, known);
    const whole = { ...change, ended: [...ended, ...change.ended] };
    if (await saveWithRetries(state, run.row.id, whole)) follow(state, run, whole, effects, until);
    else forget(state, run);
  } catch (error) {
    // Its lease expires, and then a process resumes it as an interrupted run.
    forget(state, run);
    throw error;
  }
}

/**
 * Retries, because the database may be offline for a moment and the outcome must not be lost. Unlike the kit's `retry` it tries once
 * also while the runner is stopping.
 */
async function saveWithRetries(state: RunnerState, runId: string, change: RunChange): Promise<boolean> {
  const { runs, owner, clock, stopping } = state;
  for (let attempt = 1; ; attempt++) {
    try {
      return await runs.save(runId, owner, change);
    } catch (error) {
      if (attempt === saveAttempts || stopping.signal.aborted) throw error;
      await clock.sleep(saveRetryMs, stopping.signal);
    }
  }
}

/** Called after the outcome is on disk. */
function follow(
  state: RunnerState,
  run: LiveRun,
  change: Pick<RunChange, 'run' | 'begun' | 'notifications'>,
  effects: readonly BegunEffect[],
  until: number | null,
): void {
  const { liveRuns } = state;
  if (change.begun.some(({ kind, status }) => kind === 'wait_until' && status === 'waiting')) state.onCondition();
  const before = run.row.status;
  run.row = { ...run.row, ...change.run };
  for (const notification of change.notifications) state.onNotification(notification);
  if (run.row.status !== before || !liveRuns.has(run.row.id)) state.onRun(run.row);
  run.alarm.abort();
  if (run.row.status !== 'running') {
    liveRuns.delete(run.row.id);
    if (run.row.status === 'waiting' && until !== null) state.onWaiting(run.row.id, until, run.time);
    return;
  }
  liveRuns.set(run.row.id, run);
  for (const effect of effects) void track(state, perform(state, run, effect), 'an action of an automation');
  if (until !== null) void track(state, waitUntil(state, run, until), 'a delay of an automation');
}

async function perform(state: RunnerState, run: LiveRun, { node, effect }: BegunEffect): Promise<void> {
  const { logger, stopping } = state;
  const { id, automation_id, trigger, started_at } = run.row;
  const about = {
    automation: { id: automation_id, name: run.name },
    run: { id, startedAt: isoTime(started_at) },
    trigger: publicTrigger(trigger),
  };
  let result: EffectResult;
  try {
    result = await state.perform(effect, { about, automationId: automation_id, signal: stopping.signal });
  } catch (error) {
    // The started step stays in the record: the next start marks its outcome as unknown.
    if (stopping.signal.aborted) return;
    logger.failed(`action ${effect.kind}`, error);
    result = { status: 'failed', detail: 'Something went wrong in the station.' };
  }
  await advance(state, run, { node, result });
}

async function waitUntil(state: RunnerState, run: LiveRun, until: number): Promise<void> {
  const { clock, stopping } = state;
  run.alarm = new AbortController();
  const waitMs = Math.max(0, until - nowOf(run.time, clock));
  const signal = AbortSignal.any([stopping.signal, run.alarm.signal]);
  const isOver = await clock.sleep(waitMs, signal).then(
    () => true,
    () => false,
  );
  if (isOver) await advance(state, run, null);
}

/** Serialises the work of each run. */
const advance = (
  state: RunnerState,
  run: LiveRun,
  ended: { node: CheckedNode; result: EffectResult } | null,
  met: ReadonlyMap<string, Judgement> = new Map(),
): Promise<void> =>
  run.turn.run(async () => {
    // A run that was replaced meanwhile still stores the outcome of its action.
    if (ended === null && !state.liveRuns.has(run.row.id)) return;
    const first = ended === null ? [] : endStep(run.steps, ended.node.id, ended.result, state.clock.now());
    await progressAndSave(state, run, { met }, first);
  });

function forget({ liveRuns }: RunnerState, run: LiveRun): void {
  run.alarm.abort();
  liveRuns.delete(run.row.id);
}

/** Logs a failure of `work`; disposing the runner waits for it. @returns `work`. */
function track<T>({ working, stopping, logger }: RunnerState, work: Promise<T>, where: string): Promise<T> {
  const tracked = work
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) logger.failed(where, error);
    })
    .finally(() => working.delete(tracked));
  working.add(tracked);
  return work;
}

async function settle(state: RunnerState): Promise<void> {
  const { working, liveRuns, stopping, clock } = state;
  state.isAccepting = false;
  const settled = (async (): Promise<void> => {
    while (working.size > 0) await Promise.all(working);
  })();
  // Alarms are for delays, which continue after the next start.
  for (const { alarm } of liveRuns.values()) alarm.abort();
  const patience = new AbortController();
  await Promise.race([settled, clock.sleep(settleMs, patience.signal).catch(() => undefined)]);
  patience.abort();
  stopping.abort(new Error('The backend is stopping'));
  await settled;
}
