import { X } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import { classNames } from '../../ui/class-names.ts';
import { Select } from '../../ui/fields.tsx';
import { briefWords } from './automation-words.ts';
import { capabilityOf, type Surroundings } from './automations.ts';
import { keyOf, numberIn, withNumber } from './options.ts';
import { NumberBox } from './part-inputs.tsx';
import type { PartFault } from './sentence.ts';

/** One part of the sentence that is being built: what it is about, what about it, and the rest in `children`. */
export function PartRow({
  name,
  fault,
  onRemove,
  tools,
  children,
}: {
  name: string;
  fault: PartFault | null;
  /** Null for one that must be there. */
  onRemove: (() => void) | null;
  tools?: ReactNode;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const id = useId();
  return (
    <fieldset
      aria-describedby={fault === null ? undefined : id}
      data-fault={fault ?? undefined}
      className="rounded-xl border border-line bg-paper p-3 data-fault:border-fault"
    >
      <legend className="sr-only">{name}</legend>
      <div className={classNames('flex gap-1', tools ? 'flex-col sm:flex-row sm:items-start' : 'items-start')}>
        <div className="grid min-w-0 grow grid-cols-1 gap-2 sm:grid-cols-2">{children}</div>
        {(onRemove || tools) && (
          <div className={classNames('-mr-1 flex shrink-0', tools !== undefined && '-mb-2 justify-end sm:mb-0')}>
            {tools}
            {onRemove && (
              <IconButton label={t('automations.build.remove', { what: name })} onClick={onRemove}>
                <X aria-hidden className="size-5" />
              </IconButton>
            )}
          </div>
        )}
      </div>
      {fault !== null && (
        <p id={id} className="mt-1 text-small text-fault">
          {t(`automations.build.missing.${fault}`)}
        </p>
      )}
    </fieldset>
  );
}

export function IconButton({
  label,
  disabled = false,
  onClick,
  children,
}: {
  label: string;
  disabled?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-disabled={disabled || undefined}
      onClick={() => !disabled && onClick()}
      className="grid size-11 place-items-center rounded-xl text-ink-soft hover:bg-sunken hover:text-ink aria-disabled:cursor-default aria-disabled:opacity-40 aria-disabled:hover:bg-transparent"
    >
      {children}
    </button>
  );
}

export type Subject = { value: string; label: string };

/** The first of the two lists: a device, or something that is no device. `others` are what can be had without a device. */
export function SubjectSelect({
  value,
  others,
  devices,
  wide = false,
  onChange,
}: {
  value: string;
  others: readonly Subject[];
  devices: readonly Subject[];
  /** On a line of its own. */
  wide?: boolean;
  onChange: (value: string) => void;
}) {
  const { t } = useTranslation();
  const missing = value !== '' && ![...others, ...devices].some((one) => one.value === value);
  return (
    <Select
      bare
      {...(wide && { className: 'sm:col-span-2' })}
      label={t('automations.build.device')}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {value === '' && <option value="">{t('automations.build.choose')}</option>}
      {missing && <option value={value}>{t('automations.say.gone')}</option>}
      {others.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
      {devices.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </Select>
  );
}

/** The second list: what about the device. */
export function WhatSelect({
  value,
  options,
  onChange,
}: {
  value: string;
  options: readonly Subject[];
  onChange: (value: string) => void;
}) {
  const { t } = useTranslation();
  return (
    <Select bare label={t('automations.build.what')} value={value} onChange={(event) => onChange(event.target.value)}>
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </Select>
  );
}

/** What every row of a sentence gets. */
export type RowProps<Data> = {
  data: Data | null;
  number: number;
  around: Surroundings;
  fault: PartFault | null;
  onChange: (data: Data) => void;
  onRemove: (() => void) | null;
};

/** The choices of a device in words, with the present one among them also when it is none of the usual. */
export function whatOf<Data extends TriggerData | ConditionData | ActionData>(
  around: Surroundings,
  data: Data,
  options: readonly Data[],
): Subject[] {
  const all = options.some((one) => keyOf(one) === keyOf(data)) ? options : [data, ...options];
  return all.map((one) => ({
    value: keyOf(one),
    label: briefWords(around, numberIn(one) === null ? one : withNumber(one, Number.NaN)),
  }));
}

export const deviceIn = (data: TriggerData | ConditionData | ActionData | null): string | null =>
  data !== null && 'deviceId' in data.config ? data.config.deviceId : null;

/** The number in a part, when there is one in it. */
export function NumberPart<Data extends TriggerData | ConditionData | ActionData>({
  data,
  around,
  onChange,
}: {
  data: Data;
  around: Surroundings;
  onChange: (data: Data) => void;
}) {
  const { t } = useTranslation();
  const value = numberIn(data);
  const device = deviceIn(data);
  if (value === null || device === null) return null;
  const capability =
    'capability' in data.config
      ? data.config.capability
      : (Object.keys(data.kind === 'device_command' ? (data.config.params ?? {}) : {})[0] ?? '');
  const { unit } = capabilityOf(around, device, capability, value);
  return (
    <NumberBox
      key={keyOf(data)}
      label={t('automations.build.value')}
      unit={unit}
      value={value}
      onChange={(next) => onChange(withNumber(data, next))}
      className="sm:col-start-2"
    />
  );
}
