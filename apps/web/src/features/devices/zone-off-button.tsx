import { PowerOff } from 'lucide-react';
import { useCallback, useContext, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import type { DeviceTypeMap } from '../../api/devices.ts';
import { everySecond } from '../../api/second-clock.ts';
import { useServices } from '../../api/services.ts';
import { DeviceControlContext } from './device-control.ts';
import { type OffCommand, offCommandOf } from './zone-off.ts';

/** Switches off what is on in a zone; shown only while something is. */
export function ZoneOffButton({
  name,
  devices,
  types,
}: {
  name: string;
  devices: readonly Device[];
  types: DeviceTypeMap;
}) {
  const { t } = useTranslation();
  const { devices: known } = useServices();
  const control = useContext(DeviceControlContext);
  const subscribe = useCallback(
    (listener: () => void) => {
      // Devices report far more often than somebody looks here: once a second is enough, and at once after a tap.
      const stops = [everySecond(listener), control?.commands.subscribe(listener)];
      return () => stops.forEach((stop) => stop?.());
    },
    [control],
  );
  const offOf = ({ id }: Device): OffCommand | null => {
    const device = known.get(id);
    return device ? offCommandOf(device, types.of(device), control?.commands.get().get(id)) : null;
  };
  const isOn = useSyncExternalStore(subscribe, () => devices.some((device) => offOf(device) !== null));
  if (!isOn || !control) return null;
  const switchOff = (): void => {
    for (const off of devices.map(offOf)) if (off) void control.send(off.id, off.request, off.values);
  };
  return (
    <button
      type="button"
      aria-label={t('home.zone.offOf', { name })}
      onClick={switchOff}
      className="ml-auto inline-flex min-h-11 shrink-0 items-center gap-2 rounded-xl px-3 text-small font-strong text-accent hover:bg-accent-soft"
    >
      <PowerOff aria-hidden className="size-4" />
      {t('home.zone.off')}
    </button>
  );
}
