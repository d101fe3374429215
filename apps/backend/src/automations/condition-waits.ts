import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import type { CheckedFlow, InstantCondition } from '@station/protocol/automation-flow';
import type { DeviceEvents, DeviceReport, StatesBefore } from '../core/device-events.ts';
import { readState, type State } from '../core/device-state.ts';
import { type ConditionFacts, deviceOf, instantOf, judge, type Judgement } from './flow-conditions.ts';
import type { RunRow, RunStore } from './run-store.ts';

export type ConditionWaitsParts = {
  runs: Pick<RunStore, 'conditionWaits'>;
  events: DeviceEvents;
  factsOf: (deviceId: string | null) => Promise<ConditionFacts>;
  /** Continues the run. */
  meet: (run: RunRow, nodeId: string, judgement: Judgement) => Promise<void>;
  clock: Clock;
  logger: BackendLogger;
};

export type ConditionWaits = Disposable & {
  /** Reads which runs wait for a condition, and judges each by what is on disk. */
  check(): Promise<void>;
  /** A run of this process started to wait for a condition. */
  note(): void;
  /** Milliseconds until a condition about the time can become true; null: none waits. */
  untilNextMs(): number | null;
};

type Wait = { run: RunRow; nodeId: string; condition: InstantCondition };
const minuteMs = 60_000;

/**
 * Runs that wait for a condition (`wait_until`). The process that wrote a report judges it, so that a value counts that is true for a moment
 * only. Regular checks find what other processes, or a restart, missed.
 */
export function watchConditionWaits(parts: ConditionWaitsParts): ConditionWaits {
  const { runs, events, factsOf, clock, logger } = parts;
  const turn = createExclusiveRunner();
  let waits: readonly Wait[] = [];

  const meet = (wait: Wait, judgement: Judgement): Promise<void> => {
    waits = waits.filter((one) => one !== wait);
    return parts.meet(wait.run, wait.nodeId, judgement);
  };
  const report = (error: unknown): void => logger.failed('a wait of an automation', error);
  const check = (): Promise<void> =>
    turn.run(async () => {
      waits = (await runs.conditionWaits()).flatMap(waitOf);
      for (const wait of waits) {
        const judgement = judge(wait.condition, await factsOf(deviceOf(wait.condition)));
        if (judgement.met) await meet(wait, judgement);
      }
    });
  const onReports = (reports: readonly DeviceReport[], before: StatesBefore): void => {
    for (const { deviceId, state } of statesAfter(reports, before)) {
      for (const wait of waits) {
        if (wait.condition.kind === 'time_range' || wait.condition.config.deviceId !== deviceId) continue;
        const judgement = judge(wait.condition, { state, time: noTime, sun: null });
        if (judgement.met) meet(wait, judgement).catch(report);
      }
    }
  };
  const subscription = events.subscribe((event) => {
    if (waits.length > 0 && event.kind === 'reports' && event.before !== undefined) {
      onReports(event.reports, event.before);
    }
  });
  return {
    check,
    note: () => void check().catch(report),
    untilNextMs: () =>
      waits.some(({ condition }) => condition.kind === 'time_range') ? minuteMs - (clock.now() % minuteMs) : null,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

/** Conditions of devices do not look at the time. */
const noTime: ConditionFacts['time'] = { weekday: 'mon', minutes: 0 };

function waitOf({ run, nodeId }: { run: RunRow; nodeId: string }): Wait[] {
  const node = (JSON.parse(run.flow) as CheckedFlow).nodes.find(({ id }) => id === nodeId);
  return node?.type === 'condition' ? [{ run, nodeId, condition: instantOf(node.data) }] : [];
}

/** The state of each device after each report of it. */
function statesAfter(
  reports: readonly DeviceReport[],
  before: StatesBefore,
): readonly { deviceId: string; state: State }[] {
  const states = new Map<string, State>();
  return reports.flatMap((report) => {
    if (report.kind !== 'state') return [];
    const { deviceId } = report;
    const state = { ...(states.get(deviceId) ?? readState(before.get(deviceId) ?? '{}')), ...report.state };
    states.set(deviceId, state);
    return [{ deviceId, state }];
  });
}
