import type { CheckedFlow, TriggerData } from '@station/protocol/automation-flow';
import type { RunMode } from '@station/protocol/automations';
import type { AutomationRow, AutomationStore } from './automation-store.ts';

/** The published form of an automation. */
export type Published = { id: string; name: string; mode: RunMode; flow: CheckedFlow; publishedAt: number };

/** A trigger of a published automation. */
export type ArmedTrigger = { automation: Published; nodeId: string; data: TriggerData };

export type Registry = {
  /** Reloads the published automations. */
  reload(): Promise<void>;
  /** Reloads if another process changed something. */
  refresh(): Promise<void>;
  ofDevice(deviceId: string): readonly ArmedTrigger[];
  schedules(): readonly ArmedTrigger[];
};

/** Published automations, in memory: every report of every device is checked against them. */
export function createRegistry(store: Pick<AutomationStore, 'list' | 'fingerprint'>): Registry {
  let byDevice = new Map<string, ArmedTrigger[]>();
  let schedules: ArmedTrigger[] = [];
  let fingerprint = '';

  const reload = async (): Promise<void> => {
    // Reads the fingerprint first: the next check then detects a change in between.
    const seen = await store.fingerprint();
    const armed = (await store.list()).flatMap((row) => triggersOf(row));
    const next = new Map<string, ArmedTrigger[]>();
    for (const trigger of armed) {
      const { data } = trigger;
      if (data.kind === 'schedule') continue;
      next.set(data.config.deviceId, [...(next.get(data.config.deviceId) ?? []), trigger]);
    }
    byDevice = next;
    schedules = armed.filter(({ data }) => data.kind === 'schedule');
    fingerprint = seen;
  };
  return {
    reload,
    refresh: async () => {
      if ((await store.fingerprint()) !== fingerprint) await reload();
    },
    ofDevice: (deviceId) => byDevice.get(deviceId) ?? [],
    schedules: () => schedules,
  };
}

/** Null for a draft. */
export function publishedOf({
  id,
  name,
  published_mode,
  published_flow,
  published_at,
}: AutomationRow): Published | null {
  if (published_mode === null || published_flow === null) return null;
  return {
    id,
    name,
    mode: published_mode,
    flow: JSON.parse(published_flow) as CheckedFlow,
    publishedAt: published_at ?? 0,
  };
}

function triggersOf(row: AutomationRow): ArmedTrigger[] {
  const automation = publishedOf(row);
  if (automation === null) return [];
  return automation.flow.nodes.flatMap((node) =>
    node.type === 'trigger' ? [{ automation, nodeId: node.id, data: node.data }] : [],
  );
}
