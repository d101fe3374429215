import { ArrowDown, ArrowUp } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import type { Surroundings } from './automations.ts';
import { actionOptions, canBeCommanded, conditionOptions, triggerOptions } from './options.ts';
import { Box, DaysBox, DurationBox } from './part-inputs.tsx';
import { IconButton, type RowProps, type Subject, SubjectRow } from './part-row.tsx';

const dayStart = '08:00';

const subjects = ({ devices }: Surroundings): Subject[] => devices.map(({ id, name }) => ({ value: id, label: name }));

export function TriggerRow(row: RowProps<TriggerData>) {
  const { t } = useTranslation();
  const { data, number, around, onChange } = row;
  const isCron = data?.kind === 'schedule' && data.config.cron !== undefined;
  return (
    <SubjectRow
      {...row}
      name={t('automations.build.rowTrigger', { number })}
      other={isCron ? 'cron' : 'time'}
      others={[
        { value: 'time', label: t('automations.build.aTime') },
        ...(isCron ? [{ value: 'cron', label: t('automations.build.aSchedule') }] : []),
      ]}
      dataOf={(other) => (other === 'time' ? { kind: 'schedule', config: { time: dayStart } } : null)}
      devices={subjects(around)}
      optionsOf={(device) => triggerOptions(around, device)}
    >
      {data?.kind === 'schedule' && <SchedulePart data={data} onChange={onChange} />}
    </SubjectRow>
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

export function ConditionRow(row: RowProps<ConditionData>) {
  const { t } = useTranslation();
  const { data, number, around, onChange } = row;
  return (
    <SubjectRow
      {...row}
      name={t('automations.build.rowCondition', { number })}
      wide={data?.kind === 'time_range'}
      other="time"
      others={[{ value: 'time', label: t('automations.build.aTime') }]}
      dataOf={() => ({ kind: 'time_range', config: { from: '22:00', to: '06:00' } })}
      devices={subjects(around).filter(({ value }) => conditionOptions(around, value).length > 0)}
      optionsOf={(device) => conditionOptions(around, device)}
    >
      {data?.kind === 'time_range' && <RangePart data={data} onChange={onChange} />}
    </SubjectRow>
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

/** Where a row can be moved; null where there is nowhere to go. */
type Moves = { up: (() => void) | null; down: (() => void) | null };

export function ActionRow({ onMove, ...row }: RowProps<ActionData> & { onMove: Moves | null }) {
  const { t } = useTranslation();
  const { data, number, around, onChange } = row;
  const commanded = around.devices.filter(({ type }) => {
    const known = around.types.get(type);
    return known !== undefined && canBeCommanded(known);
  });
  return (
    <SubjectRow
      {...row}
      name={t('automations.build.rowAction', { number })}
      tools={onMove && <MoveButtons number={number} moves={onMove} />}
      other={data?.kind ?? ''}
      others={[
        { value: 'delay', label: t('automations.build.aDelay') },
        { value: 'notify', label: t('automations.build.aNote') },
        { value: 'webhook', label: t('automations.build.aWebhook') },
      ]}
      dataOf={(other) => {
        const kind = kinds.find((one) => one === other);
        return kind === undefined ? null : fresh[kind];
      }}
      devices={commanded.map(({ id, name }) => ({ value: id, label: name }))}
      optionsOf={(device) => actionOptions(around, device)}
    >
      {data !== null && <ActionInput data={data} onChange={onChange} />}
    </SubjectRow>
  );
}

function MoveButtons({ number, moves: { up, down } }: { number: number; moves: Moves }) {
  const { t } = useTranslation();
  return (
    <>
      <IconButton label={t('automations.build.up', { number })} disabled={up === null} onClick={() => up?.()}>
        <ArrowUp aria-hidden className="size-5" />
      </IconButton>
      <IconButton label={t('automations.build.down', { number })} disabled={down === null} onClick={() => down?.()}>
        <ArrowDown aria-hidden className="size-5" />
      </IconButton>
    </>
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
