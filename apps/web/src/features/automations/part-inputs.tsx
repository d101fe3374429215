import { type InputHTMLAttributes, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SunTime, Weekday } from '@station/protocol/automation-flow';
import { classNames } from '../../ui/class-names.ts';
import { Select } from '../../ui/fields.tsx';
import { sunKey, weekdayName, weekdays } from './automation-words.ts';

const boxLook = 'block min-h-11 w-full rounded-xl border border-line-strong bg-surface px-3 py-2 text-ink';

/** A labelled field in the row of a sentence; its label is shown small before it. */
export function Box({
  label,
  unit,
  hidden = false,
  className,
  ...rest
}: Omit<InputHTMLAttributes<HTMLInputElement>, 'id'> & {
  label: string;
  unit?: string | null;
  /** Whether the label is for screen readers only. */
  hidden?: boolean;
}) {
  const id = useId();
  return (
    <div className={classNames('flex min-w-0 items-center gap-2', className)}>
      <label htmlFor={id} className={hidden ? 'sr-only' : 'shrink-0 text-small text-ink-soft'}>
        {label}
      </label>
      <input {...rest} id={id} className={boxLook} />
      {unit && <span className="shrink-0 text-ink-soft">{unit}</span>}
    </div>
  );
}

/** A number; NaN while there is none. */
export function NumberBox({
  label,
  unit,
  value,
  onChange,
  className,
}: {
  label: string;
  unit: string | null;
  value: number;
  onChange: (value: number) => void;
  className?: string;
}) {
  // Half-typed numbers ("-", "1.") are not numbers yet.
  const [text, setText] = useState(Number.isNaN(value) ? '' : String(value));
  const shown = Number(text) === value || Number.isNaN(value) ? text : String(value);
  return (
    <Box
      label={label}
      unit={unit}
      type="number"
      step="any"
      value={shown}
      {...(className !== undefined && { className })}
      onChange={(event) => {
        setText(event.target.value);
        onChange(event.target.value === '' ? Number.NaN : Number(event.target.value));
      }}
    />
  );
}

const secondsIn = { seconds: 1, minutes: 60, hours: 3600 } as const;
type Unit = keyof typeof secondsIn;
const units: readonly Unit[] = ['seconds', 'minutes', 'hours'];
const unitOf = (seconds: number): Unit => (seconds % 3600 === 0 ? 'hours' : seconds % 60 === 0 ? 'minutes' : 'seconds');

export function DurationBox({ seconds, onChange }: { seconds: number; onChange: (seconds: number) => void }) {
  const { t } = useTranslation();
  const [unit, setUnit] = useState<Unit>(unitOf(seconds));
  const count = seconds / secondsIn[unit];
  return (
    <div className="grid grid-cols-[4rem_minmax(0,1fr)] gap-2">
      <Box
        hidden
        label={t('builder.duration')}
        type="number"
        min={1}
        step={1}
        value={Number.isNaN(count) ? '' : String(count)}
        onChange={(event) =>
          onChange(event.target.value === '' ? Number.NaN : Math.round(Number(event.target.value) * secondsIn[unit]))
        }
      />
      <Select
        bare
        label={t('builder.unit')}
        value={unit}
        onChange={(event) => {
          const next = units.find((one) => one === event.target.value) ?? 'minutes';
          setUnit(next);
          onChange(Math.round(count * secondsIn[next]));
        }}
      >
        {units.map((one) => (
          <option key={one} value={one}>
            {t(`builder.units.${one}`)}
          </option>
        ))}
      </Select>
    </div>
  );
}

const sunTimes = ['sunrise', 'beforeSunrise', 'afterSunrise', 'sunset', 'beforeSunset', 'afterSunset'] as const;
const usualOffset = 30;

/** A time of the sun, or of the clock. */
export function BoundBox({
  label,
  hidden = false,
  bound,
  withClock = false,
  onChange,
}: {
  label: string;
  hidden?: boolean;
  bound: string | SunTime;
  /** Whether it can be a time of the clock. */
  withClock?: boolean;
  onChange: (bound: string | SunTime) => void;
}) {
  const { t } = useTranslation();
  // The side must stay while the number is empty.
  const [isBefore, setBefore] = useState(typeof bound !== 'string' && (bound.offsetMinutes ?? 0) < 0);
  const kind =
    typeof bound === 'string'
      ? 'clock'
      : sunKey(Number.isNaN(bound.offsetMinutes) ? { ...bound, offsetMinutes: isBefore ? -1 : 1 } : bound);
  const choose = (next: string): void => {
    const known = sunTimes.find((one) => one === next);
    if (known === undefined) return onChange('22:00');
    const event = known.toLowerCase().endsWith('sunrise') ? 'sunrise' : 'sunset';
    const minutes = Math.abs((typeof bound === 'string' ? 0 : bound.offsetMinutes) || usualOffset);
    const sign = known.startsWith('before') ? -1 : known.startsWith('after') ? 1 : 0;
    setBefore(sign < 0);
    onChange(sign === 0 ? { event } : { event, offsetMinutes: sign * minutes });
  };
  return (
    <fieldset className="min-w-0 space-y-2">
      <legend className={hidden ? 'sr-only' : 'mb-1 text-small text-ink-soft'}>{label}</legend>
      <Select bare label={label} value={kind} onChange={(event) => choose(event.target.value)}>
        {withClock && <option value="clock">{t('builder.sunTimes.clock')}</option>}
        {sunTimes.map((one) => (
          <option key={one} value={one}>
            {t(`builder.sunTimes.${one}`)}
          </option>
        ))}
      </Select>
      {typeof bound === 'string' ? (
        <Box
          hidden
          label={t('builder.time')}
          type="time"
          value={bound}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        bound.offsetMinutes !== undefined && (
          <Box
            label={t('builder.minutes')}
            type="number"
            min={1}
            step={1}
            value={Number.isNaN(bound.offsetMinutes) ? '' : Math.abs(bound.offsetMinutes)}
            onChange={(event) =>
              onChange({ ...bound, offsetMinutes: (isBefore ? -1 : 1) * (Number(event.target.value) || Number.NaN) })
            }
          />
        )
      )}
    </fieldset>
  );
}

/** Which days of the week; all of them is left out. */
export function DaysBox({
  days,
  onChange,
}: {
  days: readonly Weekday[] | undefined;
  onChange: (days: Weekday[] | undefined) => void;
}) {
  const { t, i18n } = useTranslation();
  const chosen = days ?? weekdays;
  const toggle = (day: Weekday): void => {
    const next = weekdays.filter((one) => (one === day ? !chosen.includes(one) : chosen.includes(one)));
    onChange(next.length === weekdays.length ? undefined : next);
  };
  return (
    <fieldset className="sm:col-span-2">
      <legend className="sr-only">{t('builder.days')}</legend>
      <div className="grid grid-cols-4 gap-1 sm:grid-cols-7">
        {weekdays.map((day) => {
          const on = chosen.includes(day);
          return (
            <label
              key={day}
              className={classNames(
                'flex min-h-11 cursor-pointer items-center justify-center rounded-xl border text-small has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
                on ? 'border-accent bg-accent-soft font-strong text-accent' : 'border-line-strong hover:bg-sunken',
              )}
            >
              <input type="checkbox" className="sr-only" checked={on} onChange={() => toggle(day)} />
              {weekdayName(i18n.language, day)}
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}
