import { checkFlow, isSound, type FlowSurroundings } from '@station/protocol/automation-flow-check';
import type { CheckedFlow, Flow } from '@station/protocol/automation-flow';
import {
  maxAutomations,
  type Automation,
  type AutomationCondition,
  type AutomationPatch,
  type AutomationRun,
  type AutomationSummary,
  type FlowFault,
  type NewAutomation,
  type RunSummary,
} from '@station/protocol/automations';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { DeviceStore } from '../store/device-store.ts';
import type { RequestUser } from '../http/caller.ts';
import type { AutomationRow, AutomationStore } from './automation-store.ts';
import { toAutomation, toRun, toRunSummary, toSummary, type SummaryFacts } from './bodies.ts';
import { publishedOf, type Published, type Registry } from './registry.ts';
import type { RunRow, RunStore } from './run-store.ts';
import type { Runner } from './runner.ts';
import { cronProblem, nextDue } from './schedule.ts';

/** The operations of /api/automations. Every method throws a StationError for a caller's mistake. */
export type AutomationService = {
  list(): Promise<AutomationSummary[]>;
  get(id: string, user: RequestUser): Promise<Automation>;
  add(automation: NewAutomation, user: RequestUser): Promise<Automation>;
  change(id: string, patch: AutomationPatch, user: RequestUser): Promise<Automation>;
  publish(id: string, user: RequestUser): Promise<Automation>;
  takeBack(id: string, user: RequestUser): Promise<Automation>;
  remove(id: string): Promise<void>;
  /** @param nodeId the trigger to start from; null: all. */
  run(id: string, nodeId: string | null, user: RequestUser): Promise<RunSummary>;
  runs(id: string, before: string | null, limit: number): Promise<AutomationRun[]>;
};

export type ServiceParts = {
  automations: AutomationStore;
  runs: RunStore;
  runner: Pick<Runner, 'start'>;
  registry: Pick<Registry, 'reload'>;
  devices: Pick<DeviceStore, 'list'>;
  timeZone: () => Promise<string>;
  newId: () => string;
  /** An automation was added, changed or removed. */
  onChanged: (automationId: string) => void;
  onRun: (run: RunRow) => void;
  clock: Clock;
};

const limitedShownMs = 5 * 60_000;
const emptyFlow: Flow = { nodes: [], edges: [] };

export function createAutomationService(parts: ServiceParts): AutomationService {
  const { automations, runs, registry, clock } = parts;

  const find = async (id: string): Promise<AutomationRow> => {
    const row = await automations.find(id);
    if (row === null) throw new StationError('not_found', 'There is no such automation.');
    return row;
  };
  const surroundings = async (): Promise<FlowSurroundings> => {
    const types = new Map((await parts.devices.list()).map(({ id, type }) => [id, type]));
    return { deviceType: (id) => types.get(id) ?? null, cronProblem };
  };
  /** Reads the data for all summaries at once. */
  const summaries = async (around: FlowSurroundings): Promise<(row: AutomationRow) => SummaryFacts> => {
    const newest = new Map((await runs.newest()).map((run) => [run.automation_id, run]));
    const limited = new Set(await runs.limitedSince(clock.now() - limitedShownMs));
    const timeZone = await parts.timeZone();
    return (row) => {
      const published = publishedOf(row);
      return {
        conditions: published === null ? [] : conditionsOf(published, limited.has(row.id), around),
        nextRunAt: published === null ? null : nextOf(published.flow, clock.now(), timeZone),
        lastRun: newest.get(row.id) ?? null,
      };
    };
  };
  const show = async (row: AutomationRow, { role }: RequestUser): Promise<Automation> => {
    const around = await surroundings();
    const facts = (await summaries(around))(row);
    return toAutomation(row, facts, checkFlow(JSON.parse(row.flow) as Flow, around), role);
  };
  /** Called after a change is on disk. */
  const changed = async (row: AutomationRow | null): Promise<AutomationRow> => {
    if (row === null) throw new StationError('conflict', 'Someone else has changed the automation: load it again.');
    await registry.reload();
    parts.onChanged(row.id);
    return row;
  };

  return {
    list: async () => {
      const factsOf = await summaries(await surroundings());
      return (await automations.list()).map((row) => toSummary(row, factsOf(row)));
    },
    get: async (id, user) => show(await find(id), user),
    add: async ({ name, mode = 'restart', flow = emptyFlow }, user) => {
      if ((await automations.count()) >= maxAutomations) {
        throw new StationError('conflict', `There are ${maxAutomations} automations already.`);
      }
      return show(await changed(await automations.add({ name: name.trim(), mode, flow })), user);
    },
    change: async (id, { name, mode, flow, revision = null }, user) => {
      await find(id);
      const change = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(mode === undefined ? {} : { mode }),
        ...(flow === undefined ? {} : { flow }),
      };
      return show(await changed(await automations.change(id, change, revision)), user);
    },
    publish: async (id, user) => {
      const row = await find(id);
      soundFlow(row, await surroundings());
      const published = { mode: row.mode, flow: row.flow };
      return show(await changed(await automations.change(id, { published }, row.revision)), user);
    },
    takeBack: async (id, user) => {
      await find(id);
      const row = await changed(await automations.change(id, { published: null }, null));
      for (const stopped of await runs.stop(id, 'unpublished', clock.now())) parts.onRun(stopped);
      return show(row, user);
    },
    remove: async (id) => {
      const row = await find(id);
      await automations.remove(id);
      await changed(row);
    },
    run: async (id, nodeId, { userId, role }) => {
      const row = await find(id);
      if (row.published_flow === null && role === 'member') {
        throw new StationError('forbidden', 'Only the owner and admins may try a draft.');
      }
      const automation = publishedOf(row) ?? (await draftOf(row, surroundings));
      const isTrigger = automation.flow.nodes.some((node) => node.id === nodeId && node.type === 'trigger');
      if (nodeId !== null && !isTrigger) throw new StationError('bad_request', '"nodeId" must name a trigger of it.');
      const trigger = { kind: 'manual', nodeId, deviceId: null, userId, data: {} } as const;
      const run = await parts.runner.start({ automation, trigger, cause: parts.newId() });
      if (run !== null) return toRunSummary(run);
      // Either it was removed meanwhile (`find` throws), or the backend is stopping.
      await find(id);
      throw new StationError('shutting_down', 'The station is restarting: try again in a moment.');
    },
    runs: async (id, before, limit) => {
      await find(id);
      const page = await runs.page(id, before, limit);
      const steps = await runs.stepsOf(page.map((run) => run.id));
      return page.map((run) => toRun(run, steps));
    },
  };
}

/** @throws 422 with every fault when it cannot be published. */
function soundFlow(row: AutomationRow, around: FlowSurroundings): CheckedFlow {
  const flow = JSON.parse(row.flow) as Flow;
  const faults = checkFlow(flow, around);
  if (isSound(flow, faults)) return flow;
  throw new StationError('automation_invalid', 'The automation has faults and cannot be run.', { details: { faults } });
}

async function draftOf(row: AutomationRow, surroundings: () => Promise<FlowSurroundings>): Promise<Published> {
  const flow = soundFlow(row, await surroundings());
  return { id: row.id, name: row.name, mode: row.mode, flow, publishedAt: 0 };
}

function conditionsOf({ flow }: Published, isLimited: boolean, around: FlowSurroundings): AutomationCondition[] {
  const conditions: AutomationCondition[] = [];
  if (isLimited) {
    const message = 'It was started too often and runs were skipped: it may start itself in a loop.';
    conditions.push({ code: 'rate_limited', message });
  }
  const isError = ({ severity }: FlowFault): boolean => severity === 'error';
  const broken = checkFlow(flow as Flow, around).filter(isError);
  if (broken.length > 0) {
    const message = [...new Set(broken.map((fault) => fault.message))].join(' ').slice(0, 500);
    conditions.push({ code: 'flow_broken', message });
  }
  return conditions;
}

function nextOf({ nodes }: CheckedFlow, nowMs: number, timeZone: string): number | null {
  const times = nodes.flatMap((node) =>
    node.type === 'trigger' && node.data.kind === 'schedule' ? (nextDue(node.data.config, nowMs, timeZone) ?? []) : [],
  );
  return times.length === 0 ? null : Math.min(...times);
}
