import { ChevronRight, Ellipsis } from 'lucide-react';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { capabilityName, type CapabilityValue, readingWords, valueParts, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { classNames } from '../../ui/class-names.ts';
import { DeviceIcon } from './device-icon.tsx';
import { DeviceNote } from './device-note.tsx';
import { useControlledDevice } from './use-device.ts';
import { ValueSlider } from './value-slider.tsx';

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
  /** False while the station cannot be reached. */
  usable: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const id = useId();
  const shown = useControlledDevice(device, type);
  const { toggle, slider } = shown;
  const away = device.status === 'offline';
  const on = toggle?.value === true && !away;
  const off = away || !usable;
  const [main] = toggle ? [toggle] : shown.readings;
  const details = `/devices/${device.id}`;
  return (
    <li
      className={classNames(
        'relative flex min-h-40 flex-col rounded-2xl border bg-surface p-4 shadow-lift transition-colors has-[.tile-action:hover]:border-line-strong',
        on ? 'border-accent' : 'border-line',
      )}
    >
      {toggle ? (
        <button
          type="button"
          role="switch"
          aria-checked={toggle.value === true}
          aria-disabled={off || undefined}
          aria-busy={shown.waiting || undefined}
          aria-labelledby={`${id}-name`}
          aria-describedby={`${id}-more`}
          onClick={() => !off && shown.ask(toggle, toggle.value !== true)}
          className="tile-action absolute inset-0 rounded-2xl"
        />
      ) : (
        <Link
          href={details}
          aria-labelledby={`${id}-name ${id}-value`}
          aria-describedby={`${id}-more`}
          className="tile-action absolute inset-0 rounded-2xl"
        />
      )}
      <div className="pointer-events-none relative flex flex-1 flex-col">
        <div className="flex items-start justify-between">
          <DeviceIcon type={device.type} on={on} />
          {toggle ? (
            <Link
              href={details}
              aria-label={t('device.details', { name: device.name })}
              className="pointer-events-auto -mt-2 -mr-2 grid size-11 place-items-center rounded-xl text-ink-soft hover:text-ink"
            >
              <Ellipsis aria-hidden className="size-5" />
            </Link>
          ) : (
            <ChevronRight aria-hidden className="mt-1 size-4 text-ink-soft" />
          )}
        </div>
        <div className={classNames('mt-3', away && 'text-ink-soft')}>
          <p id={`${id}-value`} className="text-title font-strong md:text-value">
            {main ? <BigValue reading={main} /> : '–'}
          </p>
          <p id={`${id}-name`} className="font-strong break-words">
            {device.name}
          </p>
          <div id={`${id}-more`} className="text-small text-ink-soft">
            {!away && <SecondValue readings={shown.readings} main={main} slider={slider} />}
            <DeviceNote device={device} shown={shown} />
          </div>
        </div>
        {slider && (
          <div className="pointer-events-auto mt-auto pt-1">
            <ValueSlider
              label={t('device.sliderOf', { what: capabilityName(t, slider.capability.name), name: device.name })}
              words={(value) => valueWords(t, locale, { ...slider, value })}
              value={typeof slider.value === 'number' ? slider.value : (slider.capability.min ?? 0)}
              min={slider.capability.min ?? 0}
              max={slider.capability.max ?? 100}
              disabled={off}
              onSettle={(value) => shown.ask(slider, value)}
            />
          </div>
        )}
      </div>
    </li>
  );
}

/** The number large, its unit small beside it. */
export function BigValue({ reading }: { reading: CapabilityValue }) {
  const { t } = useTranslation();
  const { value, unit } = valueParts(t, useLocale(), reading);
  return (
    <>
      {value}
      {unit !== null && <span className="text-body font-plain text-ink-soft">{`\u00a0${unit}`}</span>}
    </>
  );
}

function SecondValue({
  readings,
  main,
  slider,
}: {
  readings: readonly CapabilityValue[];
  main: CapabilityValue | undefined;
  slider: CapabilityValue | null;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const second =
    slider ??
    readings.find(({ capability, value }) => capability.name !== main?.capability.name && value !== undefined);
  if (!second) return null;
  return <p>{readingWords(t, locale, second)}</p>;
}
