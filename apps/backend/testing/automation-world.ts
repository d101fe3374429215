import type { FlowEdge, FlowNode } from '@station/protocol/automation-flow';
import type { RunMode, RunTrigger } from '@station/protocol/automations';
import type { Effect, EffectResult, PerformEffect } from '../src/automations/actions.ts';
import { createAutomationStore } from '../src/automations/automation-store.ts';
import { publishedOf, createRegistry, type Published } from '../src/automations/registry.ts';
import { createRunStore, type NotificationRow, type RunRow, type RunStore } from '../src/automations/run-store.ts';
import { createRunner, type Runner } from '../src/automations/runner.ts';
import { startTimer, type Timer } from '../src/automations/timer.ts';
import type { ConditionFacts } from '../src/automations/flow-conditions.ts';
import { watchConditionWaits } from '../src/automations/condition-waits.ts';
import { createDeviceEvents } from '../src/core/device-events.ts';
import { createEventIds } from '../src/core/event-ids.ts';
import { alwaysLeader, type Leadership } from '../src/core/leadership.ts';
import type { Store } from '../src/store/database.ts';
import { manualClock } from './manual-clock.ts';
import { recordedLog } from './recorded-log.ts';
import { openTestStore } from './test-store.ts';

export const node = (
  id: string,
  type: FlowNode['type'],
  kind: string,
  config: Record<string, unknown> = {},
): FlowNode => ({ id, type, data: { kind, config } });
/** An action whose effect is identified by its name. */
export const act = (id: string): FlowNode => node(id, 'action', 'webhook', { url: `https://example.org/${id}` });
export const delay = (id: string, seconds: number): FlowNode => node(id, 'action', 'delay', { seconds });
export const start: FlowNode = node('start', 'trigger', 'schedule', { time: '12:00' });
/** `a-b` is an edge from a to b. */
export const edges = (...names: string[]): FlowEdge[] =>
  names.map((id) => ({ id, source: id.split('-')[0] ?? '', target: id.split('-')[1] ?? '' }));
export const chain = (nodes: readonly FlowNode[]): { nodes: FlowNode[]; edges: FlowEdge[] } => ({
  nodes: [...nodes],
  edges: edges(...nodes.slice(1).map(({ id }, index) => `${nodes[index]?.id}-${id}`)),
});
/** The device of `report`. */
const deviceId = '01890000-0000-7000-8000-000000000001';
/** Waits until the device reports this motion. */
export const untilMotion = (id: string, value: boolean, seconds: number): FlowNode =>
  node(id, 'condition', 'wait_until', {
    until: { kind: 'state_equals', config: { deviceId, capability: 'motion', value } },
    seconds,
  });
export const manual: RunTrigger = { kind: 'manual', nodeId: null, deviceId: null, userId: 'u', data: {} };

/** The automations of one backend process, from its start to its end. */
type Life = AsyncDisposable & { runner: Runner; timer: Timer; reported: RunRow[]; notified: NotificationRow[] };

export type AutomationWorld = AsyncDisposable & {
  store: Store;
  runs: RunStore;
  clock: ReturnType<typeof manualClock>;
  logger: ReturnType<typeof recordedLog>;
  /** Names of the effects that were performed. */
  performed: string[];
  /** Results of the next effects, by name; others succeed. */
  results: Map<string, Promise<EffectResult> | EffectResult>;
  facts: ConditionFacts;
  /** A device reports this, after `facts.state`; it is on disk. */
  report(state: Record<string, unknown>): void;
  publish(flow: { nodes: FlowNode[]; edges: FlowEdge[] }, mode?: RunMode): Promise<Published>;
  live(options?: { runs?: RunStore; perform?: PerformEffect; leadership?: Leadership; isShared?: boolean }): Life;
  run(id: string): Promise<RunRow>;
  all(automation: Published): Promise<RunRow[]>;
  /** `<node> <status>` of each step. */
  steps(runId: string): Promise<string[]>;
};

const nameOf = (effect: Exclude<Effect, { kind: 'webhook' }>): string =>
  effect.kind === 'scene' ? effect.config.sceneId : effect.config.action;

/** A real store and a manual clock; effects are recorded instead of performed. */
export async function automationWorld(): Promise<AutomationWorld> {
  const store = await openTestStore();
  const clock = manualClock();
  const logger = recordedLog();
  const runs = createRunStore(store);
  const automations = createAutomationStore({ db: store.db, clock });
  const newId = createEventIds(() => clock.now());
  const performed: string[] = [];
  const results: AutomationWorld['results'] = new Map();
  const facts: ConditionFacts = { state: null, time: { weekday: 'mon', minutes: 0 }, sun: null };
  const perform: PerformEffect = async (effect) => {
    const name = effect.kind === 'webhook' ? effect.config.url.split('/').at(-1)! : nameOf(effect);
    performed.push(name);
    return (await results.get(name)) ?? { status: 'done', detail: null };
  };

  const events = createDeviceEvents(logger);

  const live: AutomationWorld['live'] = (options = {}) => {
    const { leadership = alwaysLeader, isShared = false } = options;
    const life = { reported: [] as RunRow[], notified: [] as NotificationRow[] };
    const registry = createRegistry(automations);
    const runner = createRunner({
      runs: options.runs ?? runs,
      perform: options.perform ?? perform,
      factsOf: async () => facts,
      nameOf: async () => 'One',
      newId,
      onRun: (run) => void life.reported.push(run),
      onNotification: (notification) => void life.notified.push(notification),
      onCondition: () => conditions.note(),
      onWaiting: (id, until, time) => timer.noteWaiting(id, until, time),
      clock,
      logger,
    });
    const conditions = watchConditionWaits({
      runs: options.runs ?? runs,
      events,
      factsOf: async () => facts,
      meet: (run, nodeId, judgement) => runner.meet(run, nodeId, judgement, timer.takeTime(run.id)),
      clock,
      logger,
    });
    const timer = startTimer({
      runs: options.runs ?? runs,
      runner,
      registry,
      leadership,
      where: async () => ({ timeZone: 'Europe/Kyiv', place: null }),
      conditions,
      isShared,
      clock,
      logger,
    });
    const dispose = async (): Promise<void> => {
      await timer[Symbol.asyncDispose]();
      conditions[Symbol.dispose]();
      await runner[Symbol.asyncDispose]();
    };
    return { ...life, runner, timer, [Symbol.asyncDispose]: dispose };
  };
  return {
    store,
    runs,
    clock,
    logger,
    performed,
    results,
    facts,
    live,
    report: (state) => {
      const before = new Map([[deviceId, JSON.stringify(facts.state ?? {})]]);
      facts.state = { ...facts.state, ...state };
      events.emit({ kind: 'reports', reports: [{ kind: 'state', deviceId, at: clock.now(), state }], before });
    },
    publish: async (flow, mode = 'restart') => {
      const { id } = await automations.add({ name: 'One', mode, flow });
      const row = await automations.change(id, { published: { mode, flow: JSON.stringify(flow) } }, null);
      return publishedOf(row!)!;
    },
    run: async (id) => (await runs.find(id))!,
    all: (automation) => runs.page(automation.id, null, 1_000),
    steps: async (runId) => (await runs.steps(runId)).map(({ node_id, status }) => `${node_id} ${status}`),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
