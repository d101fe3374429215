import { ChevronRight } from 'lucide-react';
import { memo, useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { useDevice } from '../../api/devices.ts';
import { valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { classNames } from '../../ui/class-names.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { DeviceIcon } from './device-icon.tsx';
import { DeviceNote } from './device-parts.tsx';
import { BrokenTile, DetailsLink, type LiveTileProps, MainAction, tileBorder } from './device-tile.tsx';
import { type ControlledDevice, useControlledDevice } from './device-view.ts';

type Place = { row: number; column: number; position: number; count: number };

/** A tile in one line, always of the same height. The slider and the second value are on the device's page. */
export const CompactTile = memo(function CompactTile({ id, types, usable, ...place }: LiveTileProps & Place) {
  const device = useDevice(id);
  const style = { gridRow: place.row + 1, gridColumn: place.column + 1 };
  return (
    device && (
      <ErrorBoundary instead={<BrokenTile device={device} className="px-3" style={style} />}>
        <Tile device={device} types={types} usable={usable} {...place} />
      </ErrorBoundary>
    )
  );
});

function Tile({
  device,
  types,
  usable,
  row,
  column,
  position,
  count,
}: { device: Device } & Omit<LiveTileProps, 'id'> & Place) {
  const type = types.of(device);
  const shown = useControlledDevice(device, type);
  const id = useId();
  const isOffline = device.status === 'offline';
  const isOn = shown.toggle?.value === true && !isOffline;
  return (
    <li
      data-row={row}
      aria-posinset={position}
      aria-setsize={count}
      style={{ gridRow: row + 1, gridColumn: column + 1 }}
      className={classNames(
        'relative flex items-center gap-3 rounded-2xl border bg-surface px-3 shadow-lift has-[.tile-action:hover]:border-line-strong',
        tileBorder(type, isOn),
      )}
    >
      <MainAction id={id} device={device} shown={shown} disabled={isOffline || !usable} />
      <DeviceIcon icon={type?.icon} on={isOn} />
      <div className="pointer-events-none relative min-w-0 flex-1">
        <p id={`${id}-name`} className="truncate font-strong" title={device.name}>
          {device.name}
        </p>
        <div id={`${id}-more`} className="max-h-5 overflow-hidden text-small text-ink-soft *:truncate">
          <DeviceNote device={device} shown={shown} />
        </div>
      </div>
      <MainValue id={`${id}-value`} shown={shown} isOffline={isOffline} />
      {shown.toggle ? (
        <span className="relative shrink-0 pt-2">
          <DetailsLink device={device} />
        </span>
      ) : (
        <ChevronRight aria-hidden className="size-4 shrink-0 text-ink-soft" />
      )}
    </li>
  );
}

function MainValue({ id, shown: { main }, isOffline }: { id: string; shown: ControlledDevice; isOffline: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  return (
    <p
      id={id}
      className={classNames('pointer-events-none relative shrink-0 font-strong', isOffline && 'text-ink-soft')}
    >
      {main ? valueWords(t, locale, main) : '–'}
    </p>
  );
}
