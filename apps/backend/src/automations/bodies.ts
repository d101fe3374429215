import type { Flow, FlowNode } from '@station/protocol/automation-flow';
import type { FlowFault } from '@station/protocol/automations';
import type {
  Automation,
  AutomationCondition,
  AutomationRun,
  AutomationSummary,
  RunStep,
  RunSummary,
  RunTrigger,
  StepSeen,
} from '@station/protocol/automations';
import { isManager, type Role } from '@station/protocol/roles';
import { isoTime } from '@station/kit/clock';
import type { AutomationRow } from './automation-store.ts';
import type { RunRow, StepRow } from './run-store.ts';

/** Converts stored records to API answers. */

const time = (at: number | null): string | null => (at === null ? null : isoTime(at));

export const toRunSummary = (row: RunRow): RunSummary => ({
  id: row.id,
  automationId: row.automation_id,
  status: row.status,
  reason: row.reason,
  trigger: triggerOf(row.trigger),
  startedAt: isoTime(row.started_at),
  endedAt: time(row.ended_at),
});

/** Longer values are not shown, so that a run fits into an answer. */
const maxShownBytes = 4 * 1024;

function triggerOf(text: string): RunTrigger {
  const trigger = JSON.parse(text) as RunTrigger;
  if (Buffer.byteLength(text) <= maxShownBytes) return trigger;
  const isShort = ([, value]: [string, unknown]): boolean =>
    Buffer.byteLength(JSON.stringify(value) ?? '') <= maxShownBytes;
  const short = Object.entries(trigger.data).filter(isShort);
  return { ...trigger, data: Object.fromEntries(short.slice(0, maxShownValues)) };
}
/** Of a trigger whose data is long. */
const maxShownValues = 8;

export const toRun = (row: RunRow, steps: readonly StepRow[]): AutomationRun => ({
  ...toRunSummary(row),
  steps: steps.filter(({ run_id }) => run_id === row.id).map(toStep),
});

const toStep = (row: StepRow): RunStep => ({
  nodeId: row.node_id,
  kind: row.kind,
  status: row.status,
  startedAt: isoTime(row.started_at),
  endedAt: time(row.ended_at),
  dueAt: time(row.due_at),
  lateMs: row.late_ms,
  detail: row.detail,
  seen: row.seen === null ? null : (JSON.parse(row.seen) as StepSeen),
});

export type SummaryFacts = { conditions: AutomationCondition[]; nextRunAt: number | null; lastRun: RunRow | null };

export const toSummary = (row: AutomationRow, { conditions, nextRunAt, lastRun }: SummaryFacts): AutomationSummary => ({
  id: row.id,
  name: row.name,
  status: row.published_flow === null ? 'draft' : 'published',
  mode: row.mode,
  revision: row.revision,
  hasUnpublishedChanges:
    row.published_flow !== null && (row.published_flow !== row.flow || row.published_mode !== row.mode),
  conditions,
  nextRunAt: time(nextRunAt),
  lastRun: lastRun && toRunSummary(lastRun),
  createdAt: isoTime(row.created_at),
  updatedAt: isoTime(row.updated_at),
  publishedAt: time(row.published_at),
});

export function toAutomation(row: AutomationRow, facts: SummaryFacts, faults: FlowFault[], role: Role): Automation {
  const flow = JSON.parse(row.flow) as Flow;
  const published = row.published_flow === null ? null : (JSON.parse(row.published_flow) as Flow);
  const shown = (one: Flow): Flow => (isManager(role) ? one : withoutSecrets(one));
  return { ...toSummary(row, facts), flow: shown(flow), publishedFlow: published && shown(published), faults };
}

/** Hides webhook addresses, which often contain a secret. */
const withoutSecrets = ({ nodes, edges }: Flow): Flow => ({ nodes: nodes.map(hideWebhook), edges });

function hideWebhook(node: FlowNode): FlowNode {
  const { kind, config } = node.data;
  if (kind !== 'webhook') return node;
  const { url, method } = config;
  const origin = typeof url === 'string' ? (URL.parse(url)?.origin ?? null) : null;
  const shown = { url: `${origin ?? 'https://'}/…`, ...(method === undefined ? {} : { method }) };
  return { ...node, data: { kind, config: shown } };
}
