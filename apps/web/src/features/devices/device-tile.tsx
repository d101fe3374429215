import { type CSSProperties, lazy, memo, Suspense, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { type DeviceTypeMap, useDevice } from '../../api/devices.ts';
import { readingWords, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { classNames } from '../../ui/class-names.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { DeviceIcon } from './device-icon.tsx';
import { DeviceNote } from './device-parts.tsx';
import { type ControlledDevice, useControlledDevice } from './device-view.ts';

const DeviceSheet = lazy(async () => ({ default: (await import('./device-sheet.tsx')).DeviceSheet }));

/** Where a tile stands in a list of which only a part is in the page. */
type Place = { row: number; column: number; position: number; count: number };

/** A tile of home. It is drawn again when its device changes, and not with the others. */
export const LiveTile = memo(function LiveTile({
  id,
  types,
  usable,
  ...place
}: {
  /** Of the device. */
  id: string;
  types: DeviceTypeMap;
  /** False while the station cannot be reached. */
  usable: boolean;
} & Partial<Place>) {
  const device = useDevice(id);
  return (
    device && (
      <ErrorBoundary instead={<BrokenTile device={device} style={styleOf(place)} />}>
        <DeviceTile device={device} type={types.of(device)} usable={usable} {...place} />
      </ErrorBoundary>
    )
  );
});

const tile = 'relative flex h-18 items-center gap-3 rounded-2xl border bg-surface px-3 shadow-lift';

const styleOf = ({ row, column }: Partial<Place>): CSSProperties =>
  row === undefined || column === undefined ? {} : { gridRow: row + 1, gridColumn: column + 1 };

/** One device that cannot be drawn takes no other away. */
function BrokenTile({ device, style }: { device: Device; style: CSSProperties }) {
  const { t } = useTranslation();
  return (
    <li style={style} className={classNames(tile, 'overflow-hidden border-line')}>
      <Link href={`/devices/${device.id}`} className="text-small break-words text-ink-soft underline">
        {t('device.broken', { name: device.name })}
      </Link>
    </li>
  );
}

/** One device in one line: its icon is its main action, the tile opens its controls, or its page when it has none. */
export function DeviceTile({
  device,
  type,
  usable,
  ...place
}: { device: Device; type: DeviceType | undefined; usable: boolean } & Partial<Place>) {
  const shown = useControlledDevice(device, type);
  const id = useId();
  const isOffline = device.status === 'offline';
  const isOn = shown.toggle?.value === true && !isOffline;
  // Why a command was taken back is more important than the state, and longer.
  const isRefused = shown.command !== undefined && shown.command.refusal !== null;
  return (
    <li
      data-row={place.row}
      aria-posinset={place.position}
      aria-setsize={place.count}
      style={styleOf(place)}
      className={classNames(
        tile,
        'transition-colors has-[.tile-action:hover]:border-line-strong',
        !isOn ? 'border-line' : type?.icon === 'lightbulb' ? 'border-glow' : 'border-accent',
      )}
    >
      <OpenAction id={id} device={device} type={type} shown={shown} usable={usable} />
      <MainAction id={id} type={type} shown={shown} disabled={isOffline || !usable} isOn={isOn} />
      <div className="pointer-events-none relative min-w-0 flex-1">
        <p id={`${id}-name`} className="truncate font-strong" title={device.name}>
          {device.name}
        </p>
        <div id={`${id}-more`} className="flex gap-2 overflow-hidden text-small text-ink-soft">
          {!isOffline && !isRefused && <State shown={shown} />}
          <div className={isRefused ? 'min-w-0 [&_.refusal]:line-clamp-2' : 'h-5 truncate'}>
            <DeviceNote device={device} shown={shown} />
          </div>
        </div>
      </div>
    </li>
  );
}

/** The main value, and the next one: "On · Brightness 40 %". */
function State({ shown: { main, slider, readings, settings } }: { shown: ControlledDevice }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const second =
    slider ?? readings.find(({ capability, value }) => capability.key !== main?.capability.key && value !== undefined);
  const isSettable = settings.some(({ capability }) => capability.key === second?.capability.key);
  return (
    <p className="shrink-0">
      <span>{main ? valueWords(t, locale, main) : '–'}</span>
      {second && second.value !== undefined && (
        <>
          {dot}
          <span>{readingWords(t, locale, second, isSettable)}</span>
        </>
      )}
    </p>
  );
}

type ActionProps = { id: string; type: DeviceType | undefined; shown: ControlledDevice };

/** Covers the tile, below the icon. */
function OpenAction({ id, device, type, shown, usable }: ActionProps & { device: Device; usable: boolean }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const className = 'tile-action absolute inset-0 rounded-2xl';
  const words = { 'aria-label': t('device.details', { name: device.name }), 'aria-describedby': `${id}-more` };
  if (shown.settings.length + shown.actions.length === 0)
    return <Link {...words} href={`/devices/${device.id}`} className={className} />;
  return (
    <>
      <button {...words} type="button" aria-haspopup="dialog" onClick={() => setOpen(true)} className={className} />
      {isOpen && (
        <Suspense>
          <DeviceSheet device={device} type={type} usable={usable} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The icon: a switch for what can be switched. */
function MainAction({
  id,
  type,
  shown: { toggle, isPending, send },
  disabled,
  isOn,
}: ActionProps & { disabled: boolean; isOn: boolean }) {
  const icon = <DeviceIcon icon={type?.icon} on={isOn} />;
  if (!toggle) return <span className="pointer-events-none relative">{icon}</span>;
  return (
    <button
      type="button"
      role="switch"
      aria-checked={toggle.value === true}
      aria-disabled={disabled || undefined}
      aria-busy={isPending || undefined}
      aria-labelledby={`${id}-name`}
      aria-describedby={`${id}-more`}
      onClick={() => !disabled && send(toggle, toggle.value !== true)}
      className="relative -m-1 grid size-12 shrink-0 place-items-center rounded-full hover:bg-sunken"
    >
      {icon}
    </button>
  );
}
