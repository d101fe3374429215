import { type QueryClient, useQueries } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type {
  Automation,
  AutomationPatch,
  AutomationSummary,
  NewAutomation,
  RunRequest,
  RunSummary,
  TestRequest,
  TestTrace,
} from '@station/protocol/automations';
import type { Flow } from '@station/protocol/automation-flow';
import type { Capability, DeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import type { Scene } from '@station/protocol/scenes';
import { type Command, useCommand } from '../../api/command.ts';
import { type DeviceTypeMap, useDevices, useDeviceTypes, useZones } from '../../api/devices.ts';
import { type Reading, useReading } from '../../api/reading.ts';
import { useScenes } from '../../api/scenes.ts';
import { useServices } from '../../api/services.ts';
import { stationKey } from '../../api/station.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { automationKey, automationsKey, runsKey } from './follow-automations.ts';

export const useAutomations = (): Reading<AutomationSummary[]> => useReading(automationsKey, 'GET /api/automations');

export const useAutomation = (id: string): Reading<Automation> =>
  useReading(automationKey(id), 'GET /api/automations/:id', {}, { params: { id } });

/** The flow of each automation, by its id; the list does not contain it. Read once for each revision. */
export function useDetails(summaries: readonly AutomationSummary[]): ReadonlyMap<string, Automation> {
  const { session } = useServices();
  return useQueries({
    queries: summaries.map(({ id, revision, status }) => ({
      queryKey: ['automation-details', id, revision, status],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        session.call('GET /api/automations/:id', { params: { id }, signal }),
      staleTime: Infinity,
      retry: 5,
    })),
    combine: (results) =>
      new Map(results.flatMap(({ data }) => (data === undefined ? [] : [[data.id, data] as const]))),
  });
}

const noDevices: readonly Device[] = [];

/** Null until the devices are known: a sentence needs their names. */
export function useSurroundings(): Surroundings | null {
  const { t } = useTranslation();
  const locale = useLocale();
  const view = useDevices();
  const types = useDeviceTypes();
  const zones = useZones();
  const scenes = useScenes();
  const station = useReading(stationKey, 'GET /api/station');
  if (view.kind === 'loading' || types === null || zones === null || scenes === null) return null;
  if (station.kind === 'loading') return null;
  const hasPlace = station.kind === 'shown' && station.value.place !== null;
  return { t, locale, devices: view.kind === 'shown' ? view.value : noDevices, types, zones, scenes, hasPlace };
}

/** As in the protocol. */
export const longestName = 100;

/** Creates or changes an automation; with `publish` it is published at once. If only that fails, the draft is kept. */
export function useSave(
  existing: Automation | null,
): Command<Automation, { change: AutomationPatch & NewAutomation; publish: boolean }> {
  // If only the publishing fails, another try must not create a second automation.
  const kept = useRef(existing);
  return useCommand(
    async (session, { change, publish }) => {
      const before = kept.current;
      const saved =
        before === null
          ? await session.call('POST /api/automations', { body: change })
          : await session.call('PATCH /api/automations/:id', {
              params: { id: before.id },
              body: { ...change, revision: before.revision },
            });
      kept.current = saved;
      if (!publish || saved.faults.some(({ severity }) => severity === 'error')) return saved;
      return session.call('POST /api/automations/:id/publish', { params: { id: saved.id } });
    },
    { reads: automationsKey, keep: keepAutomation },
  );
}

const keepAutomation = (queries: QueryClient, changed: Automation): unknown =>
  queries.setQueryData(automationKey(changed.id), changed);

/** Publishes it, or turns it back into a draft. */
export const useSwitch = (id: string, to: 'publish' | 'draft'): Command<Automation> =>
  useCommand((session) => session.call(`POST /api/automations/:id/${to}`, { params: { id } }), {
    reads: automationsKey,
    keep: keepAutomation,
  });

export const hasConditions = ({ nodes }: Flow): boolean => nodes.some(({ type }) => type === 'condition');

export const useRunNow = (id: string): Command<RunSummary, RunRequest> =>
  useCommand((session, body) => session.call('POST /api/automations/:id/run', { params: { id }, body }), {
    reads: runsKey(id),
  });

/** A draft with the same flow. Its name says that it is a copy; without a name it stays without one. */
export function useDuplicate({ name, mode, flow }: Automation): Command<Automation> {
  const { t } = useTranslation();
  const copied = name === '' ? '' : t('automations.page.copyName', { name }).slice(0, longestName);
  return useCommand((session) => session.call('POST /api/automations', { body: { name: copied, mode, flow } }), {
    reads: automationsKey,
    keep: keepAutomation,
  });
}

/** What a flow would do now. */
export const useTest = (): Command<TestTrace, TestRequest> =>
  useCommand((session, body) => session.call('POST /api/automations/test', { body }));

export const useDelete = (id: string): Command<void> =>
  useCommand((session) => session.call('DELETE /api/automations/:id', { params: { id } }), {
    keep: (queries) =>
      queries.setQueryData<readonly AutomationSummary[]>(automationsKey, (all) => all?.filter((one) => one.id !== id)),
  });

/** Adds an automation again that was removed, on if it was on. Its runs are not kept. */
export function useAddAgain(): (removed: Automation) => Promise<void> {
  const { session, queries } = useServices();
  return async ({ name, mode, flow, status, publishedFlow, hasUnpublishedChanges }) => {
    let added = await session.call('POST /api/automations', { body: { name, mode, flow: publishedFlow ?? flow } });
    const params = { id: added.id };
    if (status === 'published') added = await session.call('POST /api/automations/:id/publish', { params });
    if (hasUnpublishedChanges) {
      await session.call('PATCH /api/automations/:id', { params, body: { flow, revision: added.revision } });
    }
    await queries.invalidateQueries({ queryKey: automationsKey });
  };
}

/** What sentences need: the language, and the devices with their names. */
export type Surroundings = {
  t: TFunction;
  /** BCP 47. */
  locale: string;
  devices: readonly Device[];
  types: DeviceTypeMap;
  zones: readonly Zone[];
  scenes: readonly Scene[];
  /** Whether the station knows where it is. */
  hasPlace: boolean;
};

export const zoneOf = ({ zones }: Surroundings, id: string): Zone | undefined => zones.find((zone) => zone.id === id);

export const sceneOf = ({ scenes }: Surroundings, id: string): Scene | undefined =>
  scenes.find((scene) => scene.id === id);

export const devicesOfZone = ({ devices }: Surroundings, zoneId: string): readonly Device[] =>
  devices.filter((device) => device.zoneId === zoneId);

export const typesOfZone = (around: Surroundings, zoneId: string): readonly DeviceType[] =>
  devicesOfZone(around, zoneId).flatMap(({ id }) => typeOf(around, id) ?? []);

export const deviceOf = ({ devices }: Surroundings, id: string): Device | undefined =>
  devices.find((device) => device.id === id);

export function typeOf(around: Surroundings, id: string): DeviceType | undefined {
  const device = deviceOf(around, id);
  return device && around.types.of(device);
}

/** The description of a device's value; for an unknown value it is derived from the value itself. */
export function capabilityOf(around: Surroundings, deviceId: string, key: string, value?: unknown): Capability {
  const known = typeOf(around, deviceId)?.capabilities.find((one) => one.key === key);
  const kind = typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'text';
  return known ?? { key, kind };
}
