import { ArrowDown, ArrowUp } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import type { Surroundings } from './automations.ts';
import { actionOptions, canBeTold, conditionOptions, keyOf, triggerOptions } from './options.ts';
import { Box, DaysBox, DurationBox } from './part-inputs.tsx';
import {
  deviceIn,
  IconButton,
  NumberPart,
  PartRow,
  type RowProps,
  type Subject,
  SubjectSelect,
  whatOf,
  WhatSelect,
} from './part-row.tsx';

const dayStart = '08:00';

const subjects = ({ devices }: Surroundings): Subject[] => devices.map(({ id, name }) => ({ value: id, label: name }));

export function TriggerRow({ data, number, around, fault, onChange, onRemove }: RowProps<TriggerData>) {
  const { t } = useTranslation();
  const device = deviceIn(data);
  const isCron = data?.kind === 'schedule' && data.config.cron !== undefined;
  const others = [
    { value: 'time', label: t('automations.build.aTime') },
    ...(isCron ? [{ value: 'cron', label: t('automations.build.aSchedule') }] : []),
  ];
  const choose = (subject: string): void => {
    const [first] = triggerOptions(around, subject);
    if (subject === 'time') onChange({ kind: 'schedule', config: { time: dayStart } });
    else if (first && subject !== 'cron') onChange(first);
  };
  const options = device === null ? [] : triggerOptions(around, device);
  return (
    <PartRow name={t('automations.build.rowTrigger', { number })} fault={fault} onRemove={onRemove}>
      <SubjectSelect
        value={device ?? (data === null ? '' : isCron ? 'cron' : 'time')}
        others={others}
        devices={subjects(around)}
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
      {data?.kind === 'schedule' && <SchedulePart data={data} onChange={onChange} />}
    </PartRow>
  );
}

function SchedulePart({
  data,
  onChange,
}: {
  data: Extract<TriggerData, { kind: 'schedule' }>;
  onChange: (data: TriggerData) => void;
}) {
  const { t } = useTranslation();
  const { cron, time, days } = data.config;
  if (cron !== undefined) {
    return (
      <Box
        hidden
        label={t('automations.build.cron')}
        value={cron}
        maxLength={100}
        onChange={(event) => onChange({ ...data, config: { cron: event.target.value } })}
      />
    );
  }
  const withDays = (next: typeof days): { days?: NonNullable<typeof days> } =>
    next === undefined ? {} : { days: next };
  return (
    <>
      <Box
        hidden
        label={t('automations.build.time')}
        type="time"
        value={time ?? ''}
        onChange={(event) => onChange({ ...data, config: { time: event.target.value, ...withDays(days) } })}
      />
      <DaysBox
        days={days}
        onChange={(next) => onChange({ ...data, config: { ...(time !== undefined && { time }), ...withDays(next) } })}
      />
    </>
  );
}

export function ConditionRow({ data, number, around, fault, onChange, onRemove }: RowProps<ConditionData>) {
  const { t } = useTranslation();
  const device = deviceIn(data);
  const choose = (subject: string): void => {
    const [first] = conditionOptions(around, subject);
    if (subject === 'time') onChange({ kind: 'time_range', config: { from: '22:00', to: '06:00' } });
    else if (first) onChange(first);
  };
  const options = device === null ? [] : conditionOptions(around, device);
  return (
    <PartRow name={t('automations.build.rowCondition', { number })} fault={fault} onRemove={onRemove}>
      <SubjectSelect
        wide={data?.kind === 'time_range'}
        value={device ?? (data === null ? '' : 'time')}
        others={[{ value: 'time', label: t('automations.build.aTime') }]}
        devices={subjects(around).filter(({ value }) => conditionOptions(around, value).length > 0)}
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
      {data?.kind === 'time_range' && <RangePart data={data} onChange={onChange} />}
    </PartRow>
  );
}

function RangePart({
  data,
  onChange,
}: {
  data: Extract<ConditionData, { kind: 'time_range' }>;
  onChange: (data: ConditionData) => void;
}) {
  const { t } = useTranslation();
  const { config } = data;
  const { days: _, ...range } = config;
  const box = (end: 'from' | 'to') => (
    <Box
      label={t(`automations.build.${end}`)}
      type="time"
      value={config[end]}
      onChange={(event) => onChange({ ...data, config: { ...config, [end]: event.target.value } })}
    />
  );
  return (
    <>
      {box('from')}
      {box('to')}
      <DaysBox
        days={config.days}
        onChange={(days) => onChange({ ...data, config: { ...range, ...(days && { days }) } })}
      />
    </>
  );
}

const kinds = ['delay', 'notify', 'webhook'] as const;
const fresh: Readonly<Record<(typeof kinds)[number], ActionData>> = {
  delay: { kind: 'delay', config: { seconds: 120 } },
  notify: { kind: 'notify', config: { message: '' } },
  webhook: { kind: 'webhook', config: { url: 'https://' } },
};

export function ActionRow({
  data,
  number,
  around,
  fault,
  onChange,
  onRemove,
  onMove,
}: RowProps<ActionData> & {
  /** Null where there is nowhere to go. */
  onMove: { up: (() => void) | null; down: (() => void) | null } | null;
}) {
  const { t } = useTranslation();
  const device = deviceIn(data);
  const choose = (subject: string): void => {
    const kind = kinds.find((one) => one === subject);
    const next = kind === undefined ? actionOptions(around, subject)[0] : fresh[kind];
    if (next) onChange(next);
  };
  const options = device === null ? [] : actionOptions(around, device);
  const told = around.devices.filter(({ type }) => {
    const known = around.types.get(type);
    return known !== undefined && canBeTold(known);
  });
  return (
    <PartRow
      name={t('automations.build.rowAction', { number })}
      fault={fault}
      onRemove={onRemove}
      tools={
        onMove && (
          <>
            <IconButton
              label={t('automations.build.up', { number })}
              disabled={onMove.up === null}
              onClick={() => onMove.up?.()}
            >
              <ArrowUp aria-hidden className="size-5" />
            </IconButton>
            <IconButton
              label={t('automations.build.down', { number })}
              disabled={onMove.down === null}
              onClick={() => onMove.down?.()}
            >
              <ArrowDown aria-hidden className="size-5" />
            </IconButton>
          </>
        )
      }
    >
      <SubjectSelect
        value={device ?? data?.kind ?? ''}
        others={[
          { value: 'delay', label: t('automations.build.aDelay') },
          { value: 'notify', label: t('automations.build.aNote') },
          { value: 'webhook', label: t('automations.build.aWebhook') },
        ]}
        devices={told.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={choose}
      />
      {data?.kind === 'device_command' && (
        <WhatSelect
          value={keyOf(data)}
          options={whatOf(around, data, options)}
          onChange={(key) => onChange(options.find((one) => keyOf(one) === key) ?? data)}
        />
      )}
      {data !== null && <NumberPart data={data} around={around} onChange={onChange} />}
      {data !== null && <ActionInput data={data} onChange={onChange} />}
    </PartRow>
  );
}

function ActionInput({ data, onChange }: { data: ActionData; onChange: (data: ActionData) => void }) {
  const { t } = useTranslation();
  switch (data.kind) {
    case 'delay':
      return (
        <DurationBox seconds={data.config.seconds} onChange={(seconds) => onChange({ ...data, config: { seconds } })} />
      );
    case 'notify':
      return (
        <Box
          hidden
          label={t('automations.build.message')}
          placeholder={t('automations.build.message')}
          value={data.config.message}
          maxLength={500}
          onChange={(event) => onChange({ ...data, config: { message: event.target.value } })}
        />
      );
    case 'webhook':
      return (
        <Box
          hidden
          label={t('automations.build.address')}
          type="url"
          value={data.config.url}
          maxLength={2048}
          onChange={(event) => onChange({ ...data, config: { ...data.config, url: event.target.value } })}
        />
      );
    case 'device_command':
      return null;
  }
}
