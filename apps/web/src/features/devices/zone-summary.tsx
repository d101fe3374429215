import { PowerOff } from 'lucide-react';
import { useCallback, useContext, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import type { DeviceTypeMap } from '../../api/devices.ts';
import { everySecond } from '../../api/second-clock.ts';
import { useServices } from '../../api/services.ts';
import { numberFormat } from '../../i18n/formats.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { DeviceControlContext } from './device-control.ts';
import { type OffCommand, offCommandOf, temperatureOf } from './zone-off.ts';

/** The tile that was tapped is painted first: with thousands of devices they are not counted within a frame. */
const afterTapMs = 100;

/** How many devices of a zone are on, how warm it is there, and what switches them off. */
export function ZoneSummary({
  name,
  devices,
  types,
}: {
  name: string;
  devices: readonly Device[];
  types: DeviceTypeMap;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { devices: known } = useServices();
  const control = useContext(DeviceControlContext);
  const subscribe = useCallback(
    (listener: () => void) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const soon = (): void => {
        timer ??= setTimeout(() => {
          timer = undefined;
          listener();
        }, afterTapMs);
      };
      // Devices report far more often than somebody looks here: once a second is enough.
      const stops = [everySecond(listener), control?.commands.subscribe(soon), () => clearTimeout(timer)];
      return () => stops.forEach((stop) => stop?.());
    },
    [control],
  );
  const offOf = ({ id }: Device): OffCommand | null => {
    const device = known.get(id);
    return device ? offCommandOf(device, types.of(device), control?.commands.get().get(id)) : null;
  };
  // As text: the same text draws nothing again.
  const summary = useSyncExternalStore(subscribe, () => {
    const on = devices.filter((device) => offOf(device) !== null).length;
    return `${on} ${temperatureOf(devices.flatMap(({ id }) => known.get(id) ?? [])) ?? ''}`;
  });
  const [on = 0, temperature] = summary.split(' ').filter(Boolean).map(Number);
  const facts = [
    ...(on > 0 ? [t('home.zone.on', { number: on })] : []),
    ...(temperature === undefined ? [] : [degreesWords(locale, temperature)]),
  ];
  const switchOff = (): void => {
    for (const off of devices.map(offOf)) if (off) void control?.send(off.id, off.request, off.values);
  };
  return (
    <>
      <p className="shrink-0 pl-1 text-small text-ink-soft tabular-nums empty:hidden">{facts.join(dot)}</p>
      {on > 0 && control && (
        <button
          type="button"
          aria-label={t('home.zone.offOf', { name })}
          onClick={switchOff}
          className="ml-auto inline-flex min-h-11 shrink-0 items-center gap-2 rounded-xl px-3 text-small font-strong text-accent hover:bg-accent-soft"
        >
          <PowerOff aria-hidden className="size-4" />
          {t('home.zone.off')}
        </button>
      )}
    </>
  );
}

const degreesWords = (locale: string, degrees: number): string =>
  `${numberFormat(locale, { maximumFractionDigits: 1 }).format(degrees)}\u00a0°C`;
