import type { TFunction } from 'i18next';
import { ChevronRight, Cpu, Ellipsis, Lightbulb, type LucideIcon, Radar, Thermometer, ToggleRight } from 'lucide-react';
import { type CSSProperties, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { isOutage } from '../../api/request.ts';
import { capabilityName, type CapabilityValue, readingWords, valueParts, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { problemWords } from '../../i18n/words.ts';
import { classNames } from '../../ui/class-names.ts';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import type { Refusal } from './device-control.ts';
import { type ControlledDevice, useControlledDevice } from './device-view.ts';

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

/** The note on a device besides its values: a failed command, offline, or waiting for an answer. */
export function DeviceNote({ device, shown }: { device: Device; shown: ControlledDevice }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const refusal = shown.wish?.refusal ?? null;
  return (
    <>
      <span role="alert" className="block">
        {refusal && (
          <span className="mt-2 flex gap-1.5 text-small text-fault">
            <ToneIcon tone="fault" className="size-4 translate-y-0.5" />
            {refusalWords(t, locale, refusal)}
          </span>
        )}
      </span>
      {device.status === 'offline' && (
        <span className="flex gap-1.5 text-small text-attention">
          <ToneIcon tone="attention" className="size-4 translate-y-0.5" />
          <span>
            {device.lastSeenAt === null ? (
              t('device.status.offline')
            ) : (
              <Sentence text={(time) => t('device.offlineSince', { time })} slot={<TimeAgo at={device.lastSeenAt} />} />
            )}
          </span>
        </span>
      )}
      {device.status === 'unknown' && (
        <span className="block text-small text-ink-soft first-letter:uppercase">{t('device.status.unknown')}</span>
      )}
      {shown.waiting && <Waiting />}
    </>
  );
}

/** Shows text only after a short time, so that nothing flickers. */
function Waiting() {
  const { t } = useTranslation();
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 800);
    return () => clearTimeout(timer);
  }, []);
  return (
    slow && (
      <span className="flex gap-1.5 text-small text-working">
        <ToneIcon tone="working" className="size-4 translate-y-0.5" />
        {t('device.waiting')}
      </span>
    )
  );
}

/** Why a command failed, and the current state. */
function refusalWords(t: TFunction, locale: string, refusal: Refusal): string {
  switch (refusal.because) {
    case 'no_answer':
      return t('device.refused.noAnswer');
    case 'refused':
      return t('device.refused.failed');
    case 'not_sent':
      // A tile has little space; the page itself shows more while the station is offline.
      return isOutage(refusal.problem) ? t('device.refused.notSent') : problemWords(t, locale, refusal.problem);
  }
}

const icons: Readonly<Record<string, LucideIcon>> = {
  climate: Thermometer,
  pir: Radar,
  'switch-pir': ToggleRight,
  light: Lightbulb,
};

/** The icon of a kind of device; filled while it is switched on. A text beside it has the same meaning. */
export function DeviceIcon({ type, on }: { type: string; on: boolean }) {
  const Icon = icons[type] ?? Cpu;
  return (
    <span
      aria-hidden
      className={classNames(
        'grid size-10 shrink-0 place-items-center rounded-full transition-colors',
        on ? 'bg-accent text-accent-ink' : 'bg-sunken text-ink-soft',
      )}
    >
      <Icon className="size-5" />
    </span>
  );
}

const settleMs = 250;

/** A slider that speaks once it rests: while it is moved only its own picture follows. */
export function ValueSlider({
  label,
  words,
  value,
  min,
  max,
  disabled,
  onSettle,
}: {
  label: string;
  /** The value as it is read out. */
  words: (value: number) => string;
  value: number;
  min: number;
  max: number;
  disabled: boolean;
  onSettle: (value: number) => void;
}) {
  const [moved, setMoved] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const shown = moved ?? value;
  const move = (next: number): void => {
    setMoved(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoved(null);
      onSettle(next);
    }, settleMs);
  };
  return (
    <input
      type="range"
      aria-label={label}
      aria-valuetext={words(shown)}
      min={min}
      max={max}
      step={(max - min) / 100 >= 1 ? Math.round((max - min) / 100) : 1}
      value={shown}
      disabled={disabled}
      onChange={(event) => move(event.target.valueAsNumber)}
      className="slider"
      style={{ '--fill': `${(100 * (shown - min)) / (max - min)}%` } as CSSProperties}
    />
  );
}
