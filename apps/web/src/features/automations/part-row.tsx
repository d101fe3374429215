import { X } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import type { Device, Zone } from '@station/protocol/devices';
import type { Scene } from '@station/protocol/scenes';
import { classNames } from '../../ui/class-names.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { Select } from '../../ui/fields.tsx';
import type { ComboGroup, ComboOption } from '../../ui/find-options.ts';
import { briefWords } from './automation-words.ts';
import { capabilityOf, devicesOfZone, type Surroundings, typeOf } from './automations.ts';
import { keyOf, numberIn, withNumber } from './options.ts';
import { NumberBox } from './part-inputs.tsx';
import type { PartFault } from './sentence.ts';

type PartData = TriggerData | ConditionData | ActionData;

/** What every row of a sentence gets. */
export type RowProps<Data> = {
  data: Data | null;
  around: Surroundings;
  fault: PartFault | null;
  onChange: (data: Data) => void;
  onRemove: (() => void) | null;
};

/** What a part can be about: devices and zones by their ids, and what is neither. */
export type Subjects<Data> = {
  /** Of the field, for screen readers. */
  label?: string;
  others: readonly ComboOption[];
  /** Which of `others` the part is about when it is about no device. */
  otherOf: (data: Data) => string;
  /** The part to begin with for one of `others`; null: it stays as it is. */
  dataOf: (other: string) => Data | null;
  devices: readonly Device[];
  /** What the part can say about a device; the first is chosen with the device. */
  optionsOf: (device: string) => readonly Data[];
  /** By their ids; among `others` for `otherOf` and `dataOf`. */
  scenes?: readonly Scene[];
  zones: readonly Zone[];
  zoneOptionsOf: (zone: string) => readonly Data[];
};

/**
 * One part of the sentence that is being built: its subject (a device, a zone or something else), what about it, and the rest in `children`.
 */
export function SubjectRow<Data extends PartData>({
  name,
  tools,
  children,
  wide = false,
  subjects,
  ...row
}: RowProps<Data> & {
  name: string;
  tools?: ReactNode;
  /** The subject has a line of its own. */
  wide?: boolean;
  subjects: Subjects<Data>;
  children: ReactNode;
}) {
  return (
    <PartRow name={name} fault={row.fault} onRemove={row.onRemove} tools={tools}>
      <SubjectParts {...row} subjects={subjects} wide={wide} />
      {children}
    </PartRow>
  );
}

/** The subject and what about it, without a frame. */
export function SubjectParts<Data extends PartData>({
  data,
  around,
  onChange,
  subjects,
  wide,
}: Pick<RowProps<Data>, 'data' | 'around' | 'onChange'> & { subjects: Subjects<Data>; wide: boolean }) {
  const { t } = useTranslation();
  const { devices, zones } = subjects;
  const scenes = (subjects.scenes ?? []).map(({ id, name }) => ({ value: id, label: name }));
  const others = [...subjects.others, ...scenes];
  const optionsFor = (id: string): readonly Data[] =>
    zones.some((zone) => zone.id === id) ? subjects.zoneOptionsOf(id) : subjects.optionsOf(id);
  const about = aboutOf(data);
  const options = about === null ? [] : optionsFor(about);
  const choose = (subject: string): void => {
    const isOther = others.some(({ value }) => value === subject);
    // Another device that can do the same does the same.
    const same = data === null || isOther ? undefined : optionsFor(subject).find((one) => keyOf(one) === keyOf(data));
    const next = isOther ? subjects.dataOf(subject) : (same ?? optionsFor(subject)[0]);
    const number = data && numberIn(data);
    if (next) onChange(same && number !== null && numberIn(next) !== null ? withNumber(next, number) : next);
  };
  const value = about ?? (data === null ? '' : subjects.otherOf(data));
  const zoneName = new Map(around.zones.map((zone) => [zone.id, zone.name]));
  const groups: readonly ComboGroup[] = [
    { label: t('automations.picker.other'), options: subjects.others },
    { label: t('automations.picker.scenes'), options: scenes },
    { label: t('automations.picker.zones'), options: zones.map((zone) => ({ value: zone.id, label: zone.name })) },
    {
      label: t('automations.picker.devices'),
      options: devices.map(({ id, name, zoneId }) => {
        const hint = zoneName.get(zoneId ?? '');
        return { value: id, label: name, ...(hint !== undefined && { hint }) };
      }),
    },
  ];
  const chosen = groups.flatMap((group) => group.options).find((one) => one.value === value);
  return (
    <>
      <Combobox
        label={subjects.label ?? t('builder.subject')}
        value={value}
        shown={chosen?.label ?? t(value === '' ? 'builder.choose' : goneKey(data))}
        groups={groups}
        onChange={choose}
        {...(wide && { className: 'sm:col-span-2' })}
      />
      {data !== null && about !== null && (
        <WhatSelect
          value={keyOf(data)}
          options={whatOf(around, data, options)}
          onChange={(key) => onChange(options.find((one) => keyOf(one) === key) ?? data)}
        />
      )}
      {data !== null && <NumberPart data={data} around={around} onChange={onChange} />}
    </>
  );
}

function goneKey(data: PartData | null) {
  if (data?.kind === 'scene') return 'automations.say.goneScene';
  return data !== null && 'zoneId' in data.config ? 'automations.say.goneZone' : 'automations.say.gone';
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
              <IconButton label={t('builder.remove', { what: name })} onClick={onRemove}>
                <X aria-hidden className="size-5" />
              </IconButton>
            )}
          </div>
        )}
      </div>
      {fault !== null && (
        <p id={id} className="mt-1 text-small text-fault">
          {t(`builder.missing.${fault}`)}{' '}
          {fault === 'place' && (
            <Link href="/settings/home" className="underline">
              {t('builder.setPlace')}
            </Link>
          )}
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

/** The second list: what about the device. */
function WhatSelect({
  value,
  options,
  onChange,
}: {
  value: string;
  options: readonly ComboOption[];
  onChange: (value: string) => void;
}) {
  const { t } = useTranslation();
  return (
    <Select bare label={t('builder.what')} value={value} onChange={(event) => onChange(event.target.value)}>
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </Select>
  );
}

/** The choices of a device in words, with the present one among them also when it is none of the usual. */
function whatOf<Data extends PartData>(around: Surroundings, data: Data, options: readonly Data[]): ComboOption[] {
  const all = options.some((one) => keyOf(one) === keyOf(data)) ? options : [data, ...options];
  return all.map((one) => ({
    value: keyOf(one),
    label: briefWords(around, numberIn(one) === null ? one : withNumber(one, Number.NaN)),
  }));
}

/** The device or the zone that a part is about. */
function aboutOf(data: PartData | null): string | null {
  if (data === null) return null;
  if ('deviceId' in data.config) return data.config.deviceId;
  return 'zoneId' in data.config ? data.config.zoneId : null;
}

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
  const about = aboutOf(data);
  if (value === null || about === null) return null;
  const capability =
    'capability' in data.config
      ? data.config.capability
      : (Object.keys('params' in data.config ? (data.config.params ?? {}) : {})[0] ?? '');
  // Of a zone: as the first of its devices that has it.
  const device = [about, ...devicesOfZone(around, about).map(({ id }) => id)].find((id) =>
    typeOf(around, id)?.capabilities.some(({ key }) => key === capability),
  );
  const { unit } = capabilityOf(around, device ?? about, capability, value);
  return (
    <NumberBox
      key={keyOf(data)}
      label={t('builder.value')}
      unit={unit ?? null}
      value={value}
      onChange={(next) => onChange(withNumber(data, next))}
      className="sm:col-start-2"
    />
  );
}
