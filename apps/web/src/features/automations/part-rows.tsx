import type { TFunction } from 'i18next';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ActionData, InstantCondition, TriggerData } from '@station/protocol/automation-flow';
import { Select } from '../../ui/fields.tsx';
import { sceneOf, type Surroundings } from './automations.ts';
import {
  actionOptions,
  canBeCommanded,
  conditionOptions,
  triggerOptions,
  zoneActionOptions,
  zoneTriggerOptions,
} from './options.ts';
import { Box, BoundBox, DaysBox, DurationBox } from './part-inputs.tsx';
import { IconButton, type RowProps, SubjectParts, SubjectRow, type Subjects } from './part-row.tsx';
import type { StepData, WaitData } from './sentence.ts';

const dayStart = '08:00';
const isSunny = (bound: unknown): boolean => typeof bound === 'object';

function triggerSubjects(t: TFunction, around: Surroundings, data: TriggerData | null): Subjects<TriggerData> {
  const isCron = data?.kind === 'schedule' && data.config.cron !== undefined;
  return {
    others: [
      { value: 'time', label: t('builder.aTime') },
      { value: 'sun', label: t('builder.aSun') },
      ...(isCron ? [{ value: 'cron', label: t('builder.aSchedule') }] : []),
    ],
    otherOf: ({ kind, config }) =>
      kind !== 'schedule' ? '' : config.cron !== undefined ? 'cron' : config.sun !== undefined ? 'sun' : 'time',
    dataOf: (other) => {
      if (other === 'sun') return { kind: 'schedule', config: { sun: { event: 'sunset' } } };
      return other === 'time' ? { kind: 'schedule', config: { time: dayStart } } : null;
    },
    devices: around.devices,
    optionsOf: (device) => triggerOptions(around, device),
    zones: around.zones.filter(({ id }) => zoneTriggerOptions(around, id).length > 0),
    zoneOptionsOf: (zone) => zoneTriggerOptions(around, zone),
  };
}

export function TriggerRow(row: RowProps<TriggerData> & { name: string }) {
  const { t } = useTranslation();
  const { data, around, onChange } = row;
  return (
    <SubjectRow {...row} subjects={triggerSubjects(t, around, data)}>
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
  const { cron, time, sun, days } = data.config;
  if (cron !== undefined) {
    return (
      <Box
        hidden
        label={t('builder.cron')}
        value={cron}
        maxLength={100}
        onChange={(event) => onChange({ ...data, config: { cron: event.target.value } })}
      />
    );
  }
  const withDays = (next: typeof days): { days?: NonNullable<typeof days> } =>
    next === undefined ? {} : { days: next };
  const due = sun === undefined ? { time: time ?? '' } : { sun };
  return (
    <>
      {sun === undefined ? (
        <Box
          hidden
          label={t('builder.time')}
          type="time"
          value={time ?? ''}
          onChange={(event) => onChange({ ...data, config: { time: event.target.value, ...withDays(days) } })}
        />
      ) : (
        <BoundBox
          hidden
          label={t('builder.sun')}
          bound={sun}
          onChange={(next) =>
            typeof next !== 'string' && onChange({ ...data, config: { sun: next, ...withDays(days) } })
          }
        />
      )}
      <DaysBox days={days} onChange={(next) => onChange({ ...data, config: { ...due, ...withDays(next) } })} />
    </>
  );
}

function conditionSubjects(t: TFunction, around: Surroundings): Subjects<InstantCondition> {
  return {
    others: [
      { value: 'time', label: t('builder.aTime') },
      { value: 'sun', label: t('builder.aSun') },
    ],
    otherOf: ({ kind, config }) =>
      kind === 'time_range' && (isSunny(config.from) || isSunny(config.to)) ? 'sun' : 'time',
    dataOf: (other) => ({
      kind: 'time_range',
      config:
        other === 'sun' ? { from: { event: 'sunset' }, to: { event: 'sunrise' } } : { from: '22:00', to: '06:00' },
    }),
    devices: around.devices.filter(({ id }) => conditionOptions(around, id).length > 0),
    optionsOf: (device) => conditionOptions(around, device),
    zones: [],
    zoneOptionsOf: () => [],
  };
}

export function ConditionRow(row: RowProps<InstantCondition> & { name: string }) {
  const { t } = useTranslation();
  const { data, around, onChange } = row;
  return (
    <SubjectRow {...row} wide={data?.kind === 'time_range'} subjects={conditionSubjects(t, around)}>
      {data?.kind === 'time_range' && <RangePart data={data} onChange={onChange} />}
    </SubjectRow>
  );
}

function RangePart({
  data,
  onChange,
}: {
  data: Extract<InstantCondition, { kind: 'time_range' }>;
  onChange: (data: InstantCondition) => void;
}) {
  const { t } = useTranslation();
  const { config } = data;
  const { days: _, ...range } = config;
  const box = (end: 'from' | 'to') => (
    <BoundBox
      label={t(`builder.${end}`)}
      bound={config[end]}
      withClock
      onChange={(bound) => onChange({ ...data, config: { ...config, [end]: bound } })}
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

const kinds = ['delay', 'wait_until', 'notify', 'webhook'] as const;
const fresh: Readonly<Record<Exclude<(typeof kinds)[number], 'wait_until'>, ActionData>> = {
  delay: { kind: 'delay', config: { seconds: 120 } },
  notify: { kind: 'notify', config: { message: '' } },
  webhook: { kind: 'webhook', config: { url: 'https://' } },
};

/** Waits for the first value that a device can have; without a device, for a time. */
function freshWait(around: Surroundings): WaitData {
  const [first] = around.devices.flatMap(({ id }) => conditionOptions(around, id).slice(0, 1));
  const until = first ?? { kind: 'time_range', config: { from: '22:00', to: '06:00' } };
  return { kind: 'wait_until', config: { until, seconds: 600 }, goesOn: false };
}

/** Where a row can be moved; null where there is nowhere to go. */
type Moves = { up: (() => void) | null; down: (() => void) | null };

export function ActionRow({ onMove, ...row }: RowProps<StepData> & { name: string; onMove: Moves | null }) {
  const { t } = useTranslation();
  const { name, data, around, onChange } = row;
  const subjects: Subjects<StepData> = {
    others: [
      { value: 'delay', label: t('builder.aDelay') },
      { value: 'wait_until', label: t('builder.aWait') },
      { value: 'notify', label: t('builder.aNote') },
      { value: 'webhook', label: t('builder.aWebhook') },
    ],
    scenes: around.scenes,
    otherOf: (step) => (step.kind === 'scene' ? step.config.sceneId : step.kind),
    dataOf: (other) => {
      if (sceneOf(around, other) !== undefined) return { kind: 'scene', config: { sceneId: other } };
      const kind = kinds.find((one) => one === other);
      return kind === undefined ? null : kind === 'wait_until' ? freshWait(around) : fresh[kind];
    },
    devices: around.devices.filter((device) => {
      const known = around.types.of(device);
      return known !== undefined && canBeCommanded(known);
    }),
    optionsOf: (device) => actionOptions(around, device),
    zones: around.zones.filter(({ id }) => zoneActionOptions(around, id).length > 0),
    zoneOptionsOf: (zone) => zoneActionOptions(around, zone),
  };
  return (
    <SubjectRow
      {...row}
      tools={onMove && <MoveButtons name={name} moves={onMove} />}
      wide={data?.kind === 'wait_until'}
      subjects={subjects}
    >
      {data?.kind === 'wait_until' ? (
        <WaitPart data={data} around={around} onChange={onChange} />
      ) : (
        data !== null && <ActionInput data={data} onChange={onChange} />
      )}
    </SubjectRow>
  );
}

function MoveButtons({ name, moves: { up, down } }: { name: string; moves: Moves }) {
  const { t } = useTranslation();
  return (
    <>
      <IconButton label={t('builder.up', { what: name })} disabled={up === null} onClick={() => up?.()}>
        <ArrowUp aria-hidden className="size-5" />
      </IconButton>
      <IconButton label={t('builder.down', { what: name })} disabled={down === null} onClick={() => down?.()}>
        <ArrowDown aria-hidden className="size-5" />
      </IconButton>
    </>
  );
}

/** What is waited for, how long at most, and what then. */
function WaitPart({
  data,
  around,
  onChange,
}: {
  data: WaitData;
  around: Surroundings;
  onChange: (data: StepData) => void;
}) {
  const { t } = useTranslation();
  const { config } = data;
  const setUntil = (until: InstantCondition): void => onChange({ ...data, config: { ...config, until } });
  return (
    <>
      <fieldset className="grid min-w-0 grid-cols-1 gap-2 sm:col-span-2 sm:grid-cols-2">
        <legend className="mb-1 text-small text-ink-soft">{t('builder.until')}</legend>
        <SubjectParts
          data={config.until}
          around={around}
          onChange={setUntil}
          subjects={conditionSubjects(t, around)}
          wide={config.until.kind === 'time_range'}
        />
        {config.until.kind === 'time_range' && <RangePart data={config.until} onChange={setUntil} />}
      </fieldset>
      <fieldset className="min-w-0">
        <legend className="mb-1 text-small text-ink-soft">{t('builder.atMost')}</legend>
        <DurationBox
          seconds={config.seconds}
          onChange={(seconds) => onChange({ ...data, config: { ...config, seconds } })}
        />
      </fieldset>
      <div className="min-w-0">
        <p aria-hidden className="mb-1 text-small text-ink-soft">
          {t('builder.after')}
        </p>
        <Select
          bare
          label={t('builder.after')}
          value={data.goesOn ? 'goOn' : 'stop'}
          onChange={(event) => onChange({ ...data, goesOn: event.target.value === 'goOn' })}
        >
          <option value="stop">{t('builder.stop')}</option>
          <option value="goOn">{t('builder.goOn')}</option>
        </Select>
      </div>
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
          label={t('builder.message')}
          placeholder={t('builder.message')}
          value={data.config.message}
          maxLength={500}
          onChange={(event) => onChange({ ...data, config: { message: event.target.value } })}
        />
      );
    case 'webhook':
      return (
        <Box
          hidden
          label={t('builder.address')}
          type="url"
          value={data.config.url}
          maxLength={2048}
          onChange={(event) => onChange({ ...data, config: { ...data.config, url: event.target.value } })}
        />
      );
    case 'device_command':
    case 'zone_command':
    case 'scene':
      return null;
  }
}
