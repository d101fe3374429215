import { checkFlow, isPublishable, takesCommand, type FlowContext } from '@station/protocol/automation-flow-check';
import { type CheckedFlow, type Flow, type FlowNode, nodeConfigs } from '@station/protocol/automation-flow';
import {
  maxAutomations,
  type Automation,
  type AutomationCondition,
  type AutomationPatch,
  type AutomationRun,
  type AutomationSummary,
  type FlowFault,
  type NewAutomation,
  type RunRequest,
  type RunSummary,
  type TestRequest,
  type TestTrace,
} from '@station/protocol/automations';
import { ownValue } from '@station/protocol/own-value';
import type { Scene } from '@station/protocol/scenes';
import { isManager } from '@station/protocol/roles';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { normalize } from '@station/kit/validator-compiler';
import type { TSchema } from 'typebox';
import type { DeviceTypes } from '../core/type-registry.ts';
import type { DeviceRow, DeviceStore } from '../store/device-store.ts';
import type { SceneStore } from '../store/scene-store.ts';
import type { RequestUser } from '../http/caller.ts';
import type { AutomationRow, AutomationStore } from './automation-store.ts';
import { toAutomation, toRun, toRunSummary, toSummary, type SummaryFacts } from './bodies.ts';
import type { ConditionFacts } from './flow-conditions.ts';
import { dryRun, type DryRunParts } from './dry-run.ts';
import { publishedOf, type Published, type Registry } from './registry.ts';
import type { RunRow, RunStore } from './run-store.ts';
import type { Runner } from './runner.ts';
import { cronProblem, nextDue, type Whereabouts } from './schedule.ts';

/** The operations of /api/automations. Every method throws a StationError for a caller's mistake. */
export type AutomationService = {
  list(): Promise<AutomationSummary[]>;
  get(id: string, user: RequestUser): Promise<Automation>;
  add(automation: NewAutomation, user: RequestUser): Promise<Automation>;
  change(id: string, patch: AutomationPatch, user: RequestUser): Promise<Automation>;
  publish(id: string, user: RequestUser): Promise<Automation>;
  unpublish(id: string, user: RequestUser): Promise<Automation>;
  remove(id: string): Promise<void>;
  /** Published ones that no longer work, for example because a device was removed. */
  broken(): Promise<{ id: string; name: string }[]>;
  run(id: string, how: RunRequest, user: RequestUser): Promise<RunSummary>;
  /** What a flow would do now. Nothing is done. */
  test(request: TestRequest): Promise<TestTrace>;
  runs(id: string, before: string | null, limit: number): Promise<AutomationRun[]>;
};

export type ServiceParts = {
  automations: AutomationStore;
  runs: RunStore;
  runner: Pick<Runner, 'start'>;
  registry: Pick<Registry, 'reload'>;
  devices: Pick<DeviceStore, 'list'>;
  types: DeviceTypes;
  scenes: Pick<SceneStore, 'list'>;
  where: () => Promise<Whereabouts>;
  factsOf: (deviceId: string | null) => Promise<ConditionFacts>;
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

/** Of objects and lists in one another: what reads and writes them recurses. */
const maxDepth = 100;

/** @returns the flow as it is kept: ids in one form. @throws {StationError} `bad_request`, `payload_too_large`. */
function taken(flow: Flow): Flow {
  if (isDeeperThan(flow, maxDepth))
    throw new StationError('bad_request', `The flow is nested deeper than ${maxDepth} levels.`);
  const bytes = Buffer.byteLength(JSON.stringify(flow));
  if (bytes > maxFlowBytes)
    throw new StationError('payload_too_large', `The flow has ${bytes} bytes; at most ${maxFlowBytes} are possible.`);
  return { ...flow, nodes: flow.nodes.map(withNormalIds) };
}

function withNormalIds(node: FlowNode): FlowNode {
  const { kind, config } = node.data;
  const configs: Readonly<Record<string, TSchema>> = nodeConfigs[node.type];
  const normal = normalize(ownValue(configs, kind) ?? {}, config, false) as typeof config;
  return { ...node, data: { kind, config: normal } };
}

/** Does not recurse. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? (Object.values(one) as unknown[]) : []));
  }
  return false;
}

const emptyFlow: Flow = { nodes: [], edges: [] };

export function createAutomationService(parts: ServiceParts): AutomationService {
  const { automations, runs } = parts;
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
      const row = await automations.add({ name: name.trim(), mode, flow: taken(flow) });
      return toBody(parts, await announceChange(parts, row), user);
    },
    change: async (id, changes, user) => toBody(parts, await changeAutomation(parts, id, changes), user),
    publish: async (id, user) => {
      const { mode, flow, revision } = await find(parts, id);
      soundFlow(JSON.parse(flow) as Flow, await surroundingsOf(parts));
      const row = await automations.change(id, { published: { mode, flow } }, revision);
      return toBody(parts, await announceChange(parts, row), user);
    },
    unpublish: async (id, user) => toBody(parts, await unpublish(parts, id), user),
    remove: async (id) => {
      const row = await find(parts, id);
      await automations.remove(id);
      await announceChange(parts, row);
    },
    broken: async () => {
      const around = await surroundingsOf(parts);
      return (await automations.list()).filter((row) => {
        const published = publishedOf(row);
        return published !== null && errorsOf(published, around).length > 0;
      });
    },
    run: (id, how, user) => runManually(parts, id, how, user),
    test: async ({ flow, ignoreConditions = false }) => {
      return dryRun({
        flow: soundFlow(taken(flow), await surroundingsOf(parts)),
        ignoresConditions: ignoreConditions,
        factsOf: parts.factsOf,
        targetsOf: targetsIn(await parts.devices.list(), await parts.scenes.list(), parts.types),
      });
    },
    runs: async (id, before, limit) => {
      await find(parts, id);
      const page = await runs.page(id, before, limit);
      const steps = await runs.stepsOf(page.map((run) => run.id));
      return page.map((run) => toRun(run, steps));
    },
  };
}

async function changeAutomation(
  parts: ServiceParts,
  id: string,
  { name, mode, flow, revision }: Parameters<AutomationService['change']>[1],
): Promise<AutomationRow> {
  await find(parts, id);
  const change = {
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(mode === undefined ? {} : { mode }),
    ...(flow === undefined ? {} : { flow: taken(flow) }),
  };
  return announceChange(parts, await parts.automations.change(id, change, revision ?? null));
}

async function unpublish(parts: ServiceParts, id: string): Promise<AutomationRow> {
  const { automations, runs, clock } = parts;
  await find(parts, id);
  const row = await announceChange(parts, await automations.change(id, { published: null }, null));
  for (const stopped of await runs.stop(id, 'unpublished', clock.now())) parts.onRun(stopped);
  return row;
}

async function find({ automations }: ServiceParts, id: string): Promise<AutomationRow> {
  const row = await automations.find(id);
  if (row === null) throw new StationError('not_found', 'There is no such automation.');
  return row;
}

async function surroundingsOf({ automations, devices, scenes, types, where }: ServiceParts): Promise<FlowContext> {
  const all = (await devices.list()).map((device) => {
    return { id: device.id, zone: device.zone_id, type: types.of(device) };
  });
  const known = new Map(all.map(({ id, type }) => [id, { type }]));
  const zones = new Set(await automations.zones());
  const sceneIds = new Set((await scenes.list()).map(({ id }) => id));
  return {
    device: (id) => known.get(id) ?? null,
    zone: (id) => (zones.has(id) ? all.filter(({ zone }) => zone === id).map(({ type }) => type) : null),
    scene: (id) => sceneIds.has(id),
    hasPlace: (await where()).place !== null,
    cronProblem,
  };
}

/** The devices of a command or scene; null for what is neither. */
const targetsIn =
  (devices: readonly DeviceRow[], scenes: readonly Scene[], types: DeviceTypes): DryRunParts['targetsOf'] =>
  ({ data }) => {
    if (data.kind === 'scene') {
      const commands = scenes.find(({ id }) => id === data.config.sceneId)?.commands ?? [];
      return [...new Set(commands.map(({ deviceId }) => deviceId))].map((deviceId) => {
        return { deviceId, isOnline: devices.some(({ id, status }) => id === deviceId && status === 'online') };
      });
    }
    if (data.kind !== 'device_command' && data.kind !== 'zone_command') return null;
    const isMeant = (device: DeviceRow): boolean =>
      data.kind === 'device_command'
        ? device.id === data.config.deviceId
        : device.zone_id === data.config.zoneId && takesCommand(types.of(device), data.config);
    return devices.filter(isMeant).map(({ id, status }) => ({ deviceId: id, isOnline: status === 'online' }));
  };

/** Reads the data for all summaries at once. */
async function readSummaryFacts(
  { runs, where: readWhere, clock }: ServiceParts,
  around: FlowContext,
): Promise<(row: AutomationRow) => SummaryFacts> {
  const newest = new Map((await runs.newest()).map((run) => [run.automation_id, run]));
  const limited = new Set(await runs.limitedSince(clock.now() - limitedShownMs));
  const where = await readWhere();
  return (row) => {
    const published = publishedOf(row);
    return {
      conditions: published === null ? [] : conditionsOf(published, limited.has(row.id), around),
      nextRunAt: published === null ? null : nextOf(published.flow, clock.now(), where),
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
  how: RunRequest,
  { userId, role }: RequestUser,
): Promise<RunSummary> {
  const { ignoreConditions = false } = how;
  const nodeId = how.nodeId ?? null;
  const row = await find(parts, id);
  if (row.published_flow === null && !isManager(role)) {
    throw new StationError('forbidden', 'Only the owner and admins may try a draft.');
  }
  if (ignoreConditions && !isManager(role)) {
    throw new StationError('forbidden', 'Only the owner and admins may run an automation without its conditions.');
  }
  const automation = publishedOf(row) ?? (await draftOf(parts, row));
  const isTrigger = automation.flow.nodes.some((node) => node.id === nodeId && node.type === 'trigger');
  if (nodeId !== null && !isTrigger) throw new StationError('bad_request', '"nodeId" must name a trigger of it.');
  const ignoring = ignoreConditions ? { ignoresConditions: true } : {};
  const trigger = { kind: 'manual', nodeId, deviceId: null, userId, ...ignoring, data: {} } as const;
  const run = await parts.runner.start({ automation, trigger, cause: parts.newId() });
  if (run !== null) return toRunSummary(run);
  // Either it was removed meanwhile (`find` throws), or the backend is stopping.
  await find(parts, id);
  throw new StationError('shutting_down', 'The station is restarting: try again in a moment.');
}

/** @throws 422 with every fault when it cannot be published. */
function soundFlow(flow: Flow, around: FlowContext): CheckedFlow {
  const faults = checkFlow(flow, around);
  if (isPublishable(flow, faults)) return flow;
  throw new StationError('automation_invalid', 'The automation has faults and cannot be run.', { details: { faults } });
}

async function draftOf(parts: ServiceParts, row: AutomationRow): Promise<Published> {
  const flow = soundFlow(JSON.parse(row.flow) as Flow, await surroundingsOf(parts));
  return { id: row.id, name: row.name, mode: row.mode, flow, publishedAt: 0 };
}

const errorsOf = ({ flow }: Published, around: FlowContext): FlowFault[] =>
  checkFlow(flow as Flow, around).filter(({ severity }) => severity === 'error');

function conditionsOf(published: Published, isLimited: boolean, around: FlowContext): AutomationCondition[] {
  const conditions: AutomationCondition[] = [];
  if (isLimited) {
    const message = 'It was started too often and runs were skipped: it may start itself in a loop.';
    conditions.push({ code: 'rate_limited', message });
  }
  const broken = errorsOf(published, around);
  if (broken.length > 0) {
    const message = [...new Set(broken.map((fault) => fault.message))].join(' ').slice(0, 500);
    conditions.push({ code: 'flow_broken', message });
  }
  return conditions;
}

function nextOf({ nodes }: CheckedFlow, nowMs: number, where: Whereabouts): number | null {
  const times = nodes.flatMap((node) =>
    node.type === 'trigger' && node.data.kind === 'schedule' ? (nextDue(node.data.config, nowMs, where) ?? []) : [],
  );
  return times.length === 0 ? null : Math.min(...times);
}
