import type { TFunction } from 'i18next';
import type { RunSummary } from '@station/protocol/automations';
import type { Tone } from '../../ui/tone.tsx';
import { deviceOf, type Surroundings } from './surroundings.ts';

/** The sign of a run: only what needs a look stands out. */
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

/** What came of "Run now". */
export function startedWords(t: TFunction, run: RunSummary): string {
  if (run.status !== 'skipped') return t('automations.page.started');
  return [t('automations.page.notStarted'), reasonOfRun(t, run)].filter((words) => words !== null).join(' ');
}

/** "Done", or why not simply so. */
export const reasonOfRun = (t: TFunction, { reason }: RunSummary): string | null =>
  reason === null ? null : t(`automations.runs.reason.${reason}`);
