import { LayoutGrid, Power, PowerOff, ToggleRight } from 'lucide-react';
import { useContext, useDeferredValue, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { noDeviceTypes, useDevices, useDeviceTypes, useZones } from '../../api/devices.ts';
import { useStore } from '../../api/services.ts';
import { typeName, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import type { FindEntry } from '../../ui/find-entry.ts';
import { DeviceControlContext } from './device-control.ts';
import { refusalWords } from './device-parts.tsx';
import { viewOf } from './device-view.ts';
import { offCommands } from './zone-off.ts';

/** What the search finds of devices and zones: their pages, switching, and "all off". */
export function useDeviceEntries(open: (path: string) => void): FindEntry[] {
  const { t } = useTranslation();
  const locale = useLocale();
  const control = useContext(DeviceControlContext);
  if (!control) throw new Error('useDeviceEntries outside of DeviceControlContext');
  const view = useDevices();
  const types = useDeviceTypes() ?? noDeviceTypes;
  const zones = useZones();
  const commands = useStore(control.commands);
  const isUsable = view.kind === 'shown' && view.freshness.kind !== 'stale';
  // Typing comes before the states of devices that report all the time.
  const devices = useDeferredValue(view.kind === 'shown' ? view.value : null);
  return useMemo(() => {
    const zoneNames = new Map((zones ?? []).map(({ id, name }) => [id, name] as const));
    const entries: FindEntry[] = [];
    for (const zone of zones ?? []) {
      const inside = (devices ?? []).filter(({ zoneId }) => zoneId === zone.id);
      const detail = t('find.devices', { count: inside.length });
      const path = `/devices?zone=${zone.id}`;
      entries.push({
        id: `zone:${zone.id}`,
        group: 'zone',
        title: zone.name,
        detail,
        icon: LayoutGrid,
        run: () => open(path),
      });
      const offs = isUsable ? offCommands(inside, types, commands) : [];
      if (offs.length === 0) continue;
      entries.push({
        id: `off:${zone.id}`,
        group: 'action',
        title: t('find.zoneOff', { name: zone.name }),
        detail: t('find.devices', { count: offs.length }),
        icon: PowerOff,
        staysOpen: true,
        run: () => offs.forEach(({ id, request, values }) => void control.send(id, request, values)),
      });
    }
    for (const device of devices ?? []) {
      const { id, name } = device;
      const type = types.of(device);
      const command = commands.get(id);
      const { toggle, main } = viewOf(device, type, command);
      const words = `${zoneNames.get(device.zoneId ?? '') ?? ''} ${typeName(locale, device.type, type)}`;
      const isOffline = device.status === 'offline';
      const refusal = command?.refusal ?? null;
      const value = main && main.value !== undefined ? valueWords(t, locale, main) : null;
      const state = isOffline ? t('device.status.offline') : refusal ? refusalWords(t, locale, refusal) : value;
      const detail = [zoneNames.get(device.zoneId ?? ''), state].filter(Boolean).join(' · ');
      entries.push({
        id,
        group: 'device',
        title: name,
        words,
        detail,
        icon: ToggleRight,
        run: () => open(`/devices/${id}`),
      });
      if (!toggle || isOffline || !isUsable) continue;
      const next = toggle.value !== true;
      entries.push({
        id: `switch:${id}`,
        group: 'action',
        title: t(next ? 'find.turnOn' : 'find.turnOff', { name }),
        words: `${words} ${t('find.switchWords')}`,
        detail,
        icon: Power,
        staysOpen: true,
        run: () => void control.send(id, toggle.request(next), { [toggle.capability.key]: next }),
      });
    }
    return entries;
  }, [t, locale, control, devices, types, zones, commands, isUsable, open]);
}
