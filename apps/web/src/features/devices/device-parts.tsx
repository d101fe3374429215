import type { TFunction } from 'i18next';
import { type CSSProperties, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capability } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import { isOutage } from '../../api/request.ts';
import { type CapabilityValue, valueParts, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { problemWords } from '../../i18n/words.ts';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import type { Refusal } from './device-control.ts';
import { type ControlledDevice, sliderOf } from './device-view.ts';

/* What tiles and pages of devices have in common. */

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

/** The note on a device besides its values: a failed command, offline, or waiting for an answer. */
export function DeviceNote({ device, shown }: { device: Device; shown: ControlledDevice }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const refusal = shown.command?.refusal ?? null;
  return (
    <>
      <span role="alert" className="block">
        {refusal && (
          <span className="flex gap-1.5 text-small text-fault">
            <ToneIcon tone="fault" className="size-4 translate-y-0.5" />
            <span className="refusal min-w-0">{refusalWords(t, locale, refusal)}</span>
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
      {device.status !== 'offline' && device.fault !== null && (
        <span className="flex gap-1.5 text-small text-attention">
          <ToneIcon tone="attention" className="size-4 translate-y-0.5" />
          {t('device.faulty')}
        </span>
      )}
      {device.status === 'unknown' && (
        <span className="block text-small text-ink-soft first-letter:uppercase">{t('device.status.unknown')}</span>
      )}
      {shown.isPending && <Waiting />}
    </>
  );
}

/** The age of a value that the latest report did not contain. */
export function ValueAge({ device, capability }: { device: Device; capability: Capability }) {
  const at = ownValue(device.stateTimes, capability.key);
  return at === undefined ? null : <TimeAgo at={at} />;
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
export function refusalWords(t: TFunction, locale: string, refusal: Refusal): string {
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

const settleMs = 250;

/** A slider for a number. It sends its value when it has come to rest: until then only its own picture follows. */
export function ValueSlider({
  label,
  setting,
  disabled,
  isOff = false,
  onMove,
  onSettle,
}: {
  label: string;
  setting: CapabilityValue;
  disabled: boolean;
  /** The device is switched off: the bar is empty, and moving it switches the device on. */
  isOff?: boolean;
  /** The value under the finger; null: it has come to rest. */
  onMove?: (value: number | null) => void;
  onSettle: (value: number) => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const [moved, setMoved] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const { min, end, step, placeOf, valueAt } = sliderOf(setting.capability);
  const shown = moved ?? (typeof setting.value === 'number' ? setting.value : min);
  const move = (next: number): void => {
    setMoved(next);
    onMove?.(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoved(null);
      onMove?.(null);
      onSettle(next);
    }, settleMs);
  };
  return (
    <input
      type="range"
      aria-label={label}
      aria-valuetext={valueWords(t, locale, { ...setting, value: shown })}
      min={min}
      max={end}
      step={step}
      value={placeOf(shown)}
      disabled={disabled}
      onChange={(event) => move(valueAt(event.target.valueAsNumber))}
      className="slider"
      data-off={(isOff && moved === null) || undefined}
      style={{ '--fill': `${(100 * (placeOf(shown) - min)) / (end - min)}%` } as CSSProperties}
    />
  );
}
