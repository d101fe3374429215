import type { TFunction } from 'i18next';
import type { RunStep, RunSummary, StepSeen } from '@station/protocol/automations';
import { formatClock } from '../../i18n/format.ts';
import type { Tone } from '../../ui/tone.tsx';
import { nameOf, valueOf, weekdayName } from './automation-words.ts';
import { deviceOf, type Surroundings } from './automations.ts';
import type { NodeData } from './sentence.ts';

/** What a step saw: "it was 21.5 °C", "it was Mon 20:00, from 15:56"; null: nothing to tell. */
export function seenWords(around: Surroundings, data: NodeData | undefined, seen: StepSeen | null): string | null {
  const { t, locale } = around;
  if (seen === null) return null;
  if (seen.devices !== undefined) return devicesWords(around, seen.devices);
  if (seen.time !== undefined) {
    const day = seen.weekday === undefined ? '' : weekdayName(locale, seen.weekday);
    const bounds = (['from', 'to'] as const).flatMap((end) =>
      seen[end] === undefined ? [] : [t(`automations.seen.${end}`, { time: seen[end] })],
    );
    return [t('automations.seen.time', { day, time: seen.time }), ...bounds].join(', ');
  }
  if (seen.value === undefined) return null;
  if (seen.value === null) return t('automations.seen.nothing');
  const condition = data?.kind === 'wait_until' ? data.config.until : data;
  if (condition === undefined || !('capability' in condition.config) || !('deviceId' in condition.config))
    return t('automations.seen.value', { value: String(seen.value) });
  return t('automations.seen.value', { value: valueOf(around, condition.config, seen.value) });
}

/** One device needs no count; of several those are named that did not do it. */
function devicesWords(around: Surroundings, devices: NonNullable<StepSeen['devices']>): string | null {
  const { t } = around;
  const bad = devices.filter(({ status }) => status !== 'done');
  const named = bad.map(({ deviceId, status }) => {
    const device = nameOf(around, deviceId);
    return t(`automations.seen.device.${status === 'done' ? 'failed' : status}`, { device });
  });
  if (devices.length < 2) return named[0] ?? null;
  const count = t('automations.seen.devices', { done: devices.length - bad.length, count: devices.length });
  return [count, ...named].join(', ');
}

/** How a step of a run stands. */
export function statusOfStep({ t, locale }: Surroundings, { status, kind, dueAt }: RunStep): string {
  const isWait = kind === 'wait_until';
  if (status === 'waiting' && dueAt !== null) {
    const time = formatClock(locale, Date.parse(dueAt));
    return t(isWait ? 'automations.runs.step.waitingAtMost' : 'automations.runs.step.waiting', { time });
  }
  if (status === 'waiting') return t('automations.runs.step.waitingSome');
  if (status === 'not_met' && isWait) return t('automations.runs.step.outOfTime');
  return t(`automations.runs.step.${status}`);
}

/** The icon of a run: only runs that need attention stand out. */
export const toneOfRun: Record<RunSummary['status'], Tone> = {
  running: 'working',
  waiting: 'working',
  completed: 'ok',
  failed: 'fault',
  interrupted: 'attention',
  missed: 'attention',
  replaced: 'ok',
  stopped: 'ok',
  skipped: 'attention',
};

/** What started it. */
export function triggerOfRun({ t, ...around }: Surroundings, { trigger }: RunSummary): string {
  const device =
    trigger.deviceId === null
      ? t('automations.say.gone')
      : (deviceOf({ t, ...around }, trigger.deviceId)?.name ?? t('automations.say.gone'));
  return t(`automations.runs.by.${trigger.kind}`, { device });
}

export const statusOfRun = (t: TFunction, { status, reason }: RunSummary): string =>
  reason === 'conditions_not_met' ? t('automations.runs.nothing') : t(`automations.runs.status.${status}`);

/** The result of "Run now". */
export function startedWords(t: TFunction, run: RunSummary): string {
  if (run.status !== 'skipped') return t('automations.page.started');
  return [t('automations.page.notStarted'), reasonOfRun(t, run)].filter((words) => words !== null).join(' ');
}

/** "Done", or the reason why not. */
export const reasonOfRun = (t: TFunction, { reason }: RunSummary): string | null =>
  reason === null ? null : t(`automations.runs.reason.${reason}`);
