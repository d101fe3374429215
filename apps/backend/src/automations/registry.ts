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
  /** Those of the device, and those of the zone that it is in. */
  ofDevice(deviceId: string): readonly ArmedTrigger[];
  schedules(): readonly ArmedTrigger[];
};

/** Published automations, in memory: every report of every device is checked against them. */
export function createRegistry(store: Pick<AutomationStore, 'list' | 'fingerprint' | 'zonesOfDevices'>): Registry {
  let byDevice = new Map<string, ArmedTrigger[]>();
  let byZone = new Map<string, ArmedTrigger[]>();
  let zoneOf: ReadonlyMap<string, string> = new Map();
  let schedules: ArmedTrigger[] = [];
  let fingerprint = '';

  const reload = async (): Promise<void> => {
    // Reads the fingerprint first: the next check then detects a change in between.
    const seen = await store.fingerprint();
    const armed = (await store.list()).flatMap((row) => triggersOf(row));
    const ofDevices = new Map<string, ArmedTrigger[]>();
    const ofZones = new Map<string, ArmedTrigger[]>();
    for (const trigger of armed) {
      const { data } = trigger;
      if (data.kind === 'schedule') continue;
      if (data.kind === 'zone_state_changed') put(ofZones, data.config.zoneId, trigger);
      else put(ofDevices, data.config.deviceId, trigger);
    }
    // Who is in which zone matters only when there are triggers of zones.
    zoneOf = ofZones.size === 0 ? new Map() : await store.zonesOfDevices();
    byDevice = ofDevices;
    byZone = ofZones;
    schedules = armed.filter(({ data }) => data.kind === 'schedule');
    fingerprint = seen;
  };
  return {
    reload,
    refresh: async () => {
      if ((await store.fingerprint()) !== fingerprint) await reload();
      else if (byZone.size > 0) zoneOf = await store.zonesOfDevices();
    },
    ofDevice: (deviceId) => {
      const own = byDevice.get(deviceId) ?? [];
      const ofZone = byZone.get(zoneOf.get(deviceId) ?? '');
      return ofZone === undefined ? own : [...own, ...ofZone];
    },
    schedules: () => schedules,
  };
}

const put = (map: Map<string, ArmedTrigger[]>, key: string, trigger: ArmedTrigger): void =>
  void map.set(key, [...(map.get(key) ?? []), trigger]);

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
