import { ChevronRight, Ellipsis } from 'lucide-react';
import { type CSSProperties, memo, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import { type DeviceTypeMap, useDevice } from '../../api/devices.ts';
import { capabilityName, type CapabilityValue, readingWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { classNames } from '../../ui/class-names.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { DeviceIcon } from './device-icon.tsx';
import { BigValue, DeviceNote, ValueAge, ValueSlider } from './device-parts.tsx';
import { type ControlledDevice, useControlledDevice } from './device-view.ts';

/** A tile of home. It is drawn again when its device changes, and not with the others. */
export const LiveTile = memo(function LiveTile({ id, types, usable }: LiveTileProps) {
  const device = useDevice(id);
  return (
    device && (
      <ErrorBoundary instead={<BrokenTile device={device} className="min-h-40 p-4" />}>
        <DeviceTile device={device} type={types.of(device)} usable={usable} />
      </ErrorBoundary>
    )
  );
});

/** One device that cannot be drawn takes no other away. */
export function BrokenTile({ device, className, style }: { device: Device; className: string; style?: CSSProperties }) {
  const { t } = useTranslation();
  return (
    <li
      style={style}
      className={classNames(
        'relative overflow-hidden rounded-2xl border border-line bg-surface shadow-lift',
        className,
      )}
    >
      <p className="text-small break-words text-ink-soft">{t('device.broken', { name: device.name })}</p>
      <DetailsLink device={device} />
    </li>
  );
}

export type LiveTileProps = {
  /** Of the device. */
  id: string;
  types: DeviceTypeMap;
  /** False while the station cannot be reached. */
  usable: boolean;
};

/**
 * One device. The whole tile is its main action: it switches what can be switched, and otherwise leads to the details. Slider and ⋯ lie
 * above that.
 */
export function DeviceTile({
  device,
  type,
  usable,
}: {
  device: Device;
  type: DeviceType | undefined;
  usable: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const id = useId();
  const shown = useControlledDevice(device, type);
  const { toggle, slider, main } = shown;
  const [moved, setMoved] = useState<number | null>(null);
  const setting = slider && moved !== null ? { ...slider, value: moved } : slider;
  const isOffline = device.status === 'offline';
  const isOn = toggle?.value === true && !isOffline;
  const disabled = isOffline || !usable;
  return (
    <li
      className={classNames(
        'relative flex min-h-40 flex-col rounded-2xl border bg-surface p-4 shadow-lift transition-colors has-[.tile-action:hover]:border-line-strong',
        tileBorder(type, isOn),
      )}
    >
      <MainAction id={id} device={device} shown={shown} disabled={disabled} />
      <div className="pointer-events-none relative flex flex-1 flex-col">
        <div className="flex items-start justify-between">
          <DeviceIcon icon={type?.icon} on={isOn} />
          {toggle ? (
            <DetailsLink device={device} />
          ) : (
            <ChevronRight aria-hidden className="mt-1 size-4 text-ink-soft" />
          )}
        </div>
        <div className={classNames('mt-3', isOffline && 'text-ink-soft')}>
          <p id={`${id}-value`} className="text-title font-strong md:text-value">
            {main ? <BigValue reading={main} /> : '–'}
          </p>
          <p id={`${id}-name`} className="font-strong break-words">
            {device.name}
          </p>
          <div id={`${id}-more`} className="text-small text-ink-soft">
            {main && !isOffline && (
              <p className="first-letter:uppercase empty:hidden">
                <ValueAge device={device} capability={main.capability} />
              </p>
            )}
            {!isOffline && <SecondValue device={device} readings={shown.readings} main={main} slider={setting} />}
            <DeviceNote device={device} shown={shown} />
          </div>
        </div>
        {slider && (
          <div className="pointer-events-auto mt-auto pt-1">
            <ValueSlider
              label={t('device.sliderOf', { what: capabilityName(t, locale, slider.capability), name: device.name })}
              setting={slider}
              disabled={disabled}
              isOff={shown.isOff(slider)}
              onMove={setMoved}
              onSettle={(value) => shown.send(slider, value)}
            />
          </div>
        )}
      </div>
    </li>
  );
}

/** A lamp that is on glows warm. */
export const tileBorder = (type: DeviceType | undefined, isOn: boolean): string =>
  !isOn ? 'border-line' : type?.icon === 'lightbulb' ? 'border-glow' : 'border-accent';

/** Covers the tile: a switch, or the link to the details. */
export function MainAction({
  id,
  device,
  shown: { toggle, isPending, send },
  disabled,
}: {
  /** The start of the ids of the texts that name it. */
  id: string;
  device: Device;
  shown: ControlledDevice;
  disabled: boolean;
}) {
  const className = 'tile-action absolute inset-0 rounded-2xl';
  if (!toggle) {
    return (
      <Link
        href={detailsOf(device)}
        aria-labelledby={`${id}-name ${id}-value`}
        aria-describedby={`${id}-more`}
        className={className}
      />
    );
  }
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
      className={className}
    />
  );
}

const detailsOf = ({ id }: Device): string => `/devices/${id}`;

export function DetailsLink({ device }: { device: Device }) {
  const { t } = useTranslation();
  return (
    <Link
      href={detailsOf(device)}
      aria-label={t('device.details', { name: device.name })}
      className="pointer-events-auto -mt-2 -mr-2 grid size-11 place-items-center rounded-xl text-ink-soft hover:text-ink"
    >
      <Ellipsis aria-hidden className="size-5" />
    </Link>
  );
}

function SecondValue({
  device,
  readings,
  main,
  slider,
}: {
  device: Device;
  readings: readonly CapabilityValue[];
  main: CapabilityValue | null;
  slider: CapabilityValue | null;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const second =
    slider ?? readings.find(({ capability, value }) => capability.key !== main?.capability.key && value !== undefined);
  if (!second) return null;
  const hasOwnAge = ownValue(device.stateTimes, second.capability.key) !== undefined;
  return (
    <p>
      {readingWords(t, locale, second)}
      {hasOwnAge && dot}
      <ValueAge device={device} capability={second.capability} />
    </p>
  );
}
