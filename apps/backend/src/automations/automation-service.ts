import { checkFlow, isPublishable, type FlowContext } from '@station/protocol/automation-flow-check';
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
import type { DeviceTypes } from '../core/device-types.ts';
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
  unpublish(id: string, user: RequestUser): Promise<Automation>;
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
  types: DeviceTypes;
  timeZone: () => Promise<string>;
  newId: () => string;
  /** An automation was added, changed or removed. */
  onChanged: (automationId: string) => void;
  onRun: (run: RunRow) => void;
  clock: Clock;
};

const limitedShownMs = 5 * 60_000;
/** An answer has the draft and the published flow (contracts, section 9). */
const maxFlowBytes = 96 * 1024;
const maxShownFaults = 100;

function checkSize(flow: Flow): void {
  const bytes = Buffer.byteLength(JSON.stringify(flow));
  if (bytes <= maxFlowBytes) return;
  throw new StationError('payload_too_large', `The flow has ${bytes} bytes; at most ${maxFlowBytes} are possible.`);
}

const emptyFlow: Flow = { nodes: [], edges: [] };

export function createAutomationService(parts: ServiceParts): AutomationService {
  const { automations, runs, clock } = parts;
  return {
    list: async () => {
      const factsOf = await readSummaryFacts(parts, await surroundingsOf(parts));
      return (await automations.list()).map((row) => toSummary(row, factsOf(row)));
    },
    get: async (id, user) => toBody(parts, await find(parts, id), user),
    add: async ({ name, mode = 'restart', flow = emptyFlow }, user) => {
      if ((await automations.count()) >= maxAutomations) {
        throw new StationError('conflict', `There are ${maxAutomations} automations already.`);
      }
      checkSize(flow);
      const row = await automations.add({ name: name.trim(), mode, flow });
      return toBody(parts, await announceChange(parts, row), user);
    },
    change: async (id, { name, mode, flow, revision = null }, user) => {
      await find(parts, id);
      if (flow !== undefined) checkSize(flow);
      const change = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(mode === undefined ? {} : { mode }),
        ...(flow === undefined ? {} : { flow }),
      };
      const row = await automations.change(id, change, revision);
      return toBody(parts, await announceChange(parts, row), user);
    },
    publish: async (id, user) => {
      const { mode, flow, revision } = await find(parts, id);
      soundFlow(flow, await surroundingsOf(parts));
      const row = await automations.change(id, { published: { mode, flow } }, revision);
      return toBody(parts, await announceChange(parts, row), user);
    },
    unpublish: async (id, user) => {
      await find(parts, id);
      const row = await announceChange(parts, await automations.change(id, { published: null }, null));
      for (const stopped of await runs.stop(id, 'unpublished', clock.now())) parts.onRun(stopped);
      return toBody(parts, row, user);
    },
    remove: async (id) => {
      const row = await find(parts, id);
      await automations.remove(id);
      await announceChange(parts, row);
    },
    run: (id, nodeId, user) => runManually(parts, id, nodeId, user),
    runs: async (id, before, limit) => {
      await find(parts, id);
      const page = await runs.page(id, before, limit);
      const steps = await runs.stepsOf(page.map((run) => run.id));
      return page.map((run) => toRun(run, steps));
    },
  };
}

async function find({ automations }: ServiceParts, id: string): Promise<AutomationRow> {
  const row = await automations.find(id);
  if (row === null) throw new StationError('not_found', 'There is no such automation.');
  return row;
}

async function surroundingsOf({ devices, types }: ServiceParts): Promise<FlowContext> {
  const known = new Map((await devices.list()).map(({ id, type }) => [id, { type: types.find(type) }]));
  return { device: (id) => known.get(id) ?? null, cronProblem };
}

/** Reads the data for all summaries at once. */
async function readSummaryFacts(
  { runs, timeZone: readTimeZone, clock }: ServiceParts,
  around: FlowContext,
): Promise<(row: AutomationRow) => SummaryFacts> {
  const newest = new Map((await runs.newest()).map((run) => [run.automation_id, run]));
  const limited = new Set(await runs.limitedSince(clock.now() - limitedShownMs));
  const timeZone = await readTimeZone();
  return (row) => {
    const published = publishedOf(row);
    return {
      conditions: published === null ? [] : conditionsOf(published, limited.has(row.id), around),
      nextRunAt: published === null ? null : nextOf(published.flow, clock.now(), timeZone),
      lastRun: newest.get(row.id) ?? null,
    };
  };
}

async function toBody(parts: ServiceParts, row: AutomationRow, { role }: RequestUser): Promise<Automation> {
  const around = await surroundingsOf(parts);
  const facts = (await readSummaryFacts(parts, around))(row);
  const faults = checkFlow(JSON.parse(row.flow) as Flow, around).slice(0, maxShownFaults);
  return toAutomation(row, facts, faults, role);
}

/** Called after a change is on disk. @param row null: someone else changed it first. */
async function announceChange(parts: ServiceParts, row: AutomationRow | null): Promise<AutomationRow> {
  if (row === null) throw new StationError('conflict', 'Someone else has changed the automation: load it again.');
  await parts.registry.reload();
  parts.onChanged(row.id);
  return row;
}

async function runManually(
  parts: ServiceParts,
  id: string,
  nodeId: string | null,
  { userId, role }: RequestUser,
): Promise<RunSummary> {
  const row = await find(parts, id);
  if (row.published_flow === null && role === 'member') {
    throw new StationError('forbidden', 'Only the owner and admins may try a draft.');
  }
  const automation = publishedOf(row) ?? (await draftOf(parts, row));
  const isTrigger = automation.flow.nodes.some((node) => node.id === nodeId && node.type === 'trigger');
  if (nodeId !== null && !isTrigger) throw new StationError('bad_request', '"nodeId" must name a trigger of it.');
  const trigger = { kind: 'manual', nodeId, deviceId: null, userId, data: {} } as const;
  const run = await parts.runner.start({ automation, trigger, cause: parts.newId() });
  if (run !== null) return toRunSummary(run);
  // Either it was removed meanwhile (`find` throws), or the backend is stopping.
  await find(parts, id);
  throw new StationError('shutting_down', 'The station is restarting: try again in a moment.');
}

/** @throws 422 with every fault when it cannot be published. */
function soundFlow(text: string, around: FlowContext): CheckedFlow {
  const flow = JSON.parse(text) as Flow;
  const faults = checkFlow(flow, around);
  if (isPublishable(flow, faults)) return flow;
  throw new StationError('automation_invalid', 'The automation has faults and cannot be run.', { details: { faults } });
}

async function draftOf(parts: ServiceParts, row: AutomationRow): Promise<Published> {
  const flow = soundFlow(row.flow, await surroundingsOf(parts));
  return { id: row.id, name: row.name, mode: row.mode, flow, publishedAt: 0 };
}

function conditionsOf({ flow }: Published, isLimited: boolean, around: FlowContext): AutomationCondition[] {
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
