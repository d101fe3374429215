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

type PartData = TriggerData | ConditionData | ActionData;

/** What every row of a sentence gets. */
export type RowProps<Data> = {
  data: Data | null;
  number: number;
  around: Surroundings;
  fault: PartFault | null;
  onChange: (data: Data) => void;
  onRemove: (() => void) | null;
};

export type Subject = { value: string; label: string };

/**
 * One part of the sentence that is being built: its subject (a device or something else), what about the device, and the rest in
 * `children`.
 */
export function SubjectRow<Data extends PartData>({
  data,
  around,
  fault,
  onChange,
  onRemove,
  name,
  tools,
  wide = false,
  other,
  others,
  dataOf,
  devices,
  optionsOf,
  children,
}: RowProps<Data> & {
  name: string;
  tools?: ReactNode;
  /** The subject has a line of its own. */
  wide?: boolean;
  /** Which of `others` the part is about when it is about no device. */
  other: string;
  /** Subjects that are no devices. */
  others: readonly Subject[];
  /** The part to begin with for one of `others`; null: it stays as it is. */
  dataOf: (other: string) => Data | null;
  devices: readonly Subject[];
  /** What the part can say about a device; the first is chosen with the device. */
  optionsOf: (device: string) => readonly Data[];
  children: ReactNode;
}) {
  const device = deviceIn(data);
  const options = device === null ? [] : optionsOf(device);
  const choose = (subject: string): void => {
    const isOther = others.some(({ value }) => value === subject);
    const next = isOther ? dataOf(subject) : optionsOf(subject)[0];
    if (next) onChange(next);
  };
  return (
    <PartRow name={name} fault={fault} onRemove={onRemove} tools={tools}>
      <SubjectSelect
        wide={wide}
        value={device ?? (data === null ? '' : other)}
        others={others}
        devices={devices}
        onChange={choose}
      />
      {data !== null && device !== null && (
        <WhatSelect
          value={keyOf(data)}
          options={whatOf(around, data, options)}
          onChange={(key) => onChange(options.find((one) => keyOf(one) === key) ?? data)}
        />
      )}
      {data !== null && <NumberPart data={data} around={around} onChange={onChange} />}
      {children}
    </PartRow>
  );
}

/** The frame of a row: its name for screen readers, its fault, its buttons. */
function PartRow({
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

/** The first of the two lists: a device, or something that is no device. `others` are what can be had without a device. */
function SubjectSelect({
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
function WhatSelect({
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

/** The choices of a device in words, with the present one among them also when it is none of the usual. */
function whatOf<Data extends PartData>(around: Surroundings, data: Data, options: readonly Data[]): Subject[] {
  const all = options.some((one) => keyOf(one) === keyOf(data)) ? options : [data, ...options];
  return all.map((one) => ({
    value: keyOf(one),
    label: briefWords(around, numberIn(one) === null ? one : withNumber(one, Number.NaN)),
  }));
}

const deviceIn = (data: PartData | null): string | null =>
  data !== null && 'deviceId' in data.config ? data.config.deviceId : null;

/** The number in a part, when there is one in it. */
function NumberPart<Data extends PartData>({
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
      unit={unit ?? null}
      value={value}
      onChange={(next) => onChange(withNumber(data, next))}
      className="sm:col-start-2"
    />
  );
}
