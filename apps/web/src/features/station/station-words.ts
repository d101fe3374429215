import type { TFunction } from 'i18next';
import type { HistoryEntry, Operation, Status } from '@station/protocol/agent-api';
import { conditionTitle } from '../../i18n/condition-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import { dot, orElse } from '../../i18n/words.ts';
import type { Health } from './health.ts';
import { type Outcome, outcomeOf, type Step } from './outcome.ts';

/*
 * Turns facts into sentences. A newer station may use a code, condition or service that this page does not know: then the
 * station's own text is shown, never a bare key.
 */

export function healthWords(t: TFunction, health: Health): string {
  const some = t('health.someRelease');
  const old = t('health.oldRelease');
  switch (health.kind) {
    case 'installing':
    case 'updating':
      return t(`health.${health.kind}`, { version: health.version ?? some });
    case 'going_back':
      return t('health.going_back', { version: health.version ?? old });
    case 'reverting':
      return t('health.reverting', { version: health.version ?? some, back: health.back ?? old });
    case 'condition':
      return conditionTitle(t, health.condition);
    case 'services_down':
      return health.names.length === 1
        ? t('health.service_down', { service: serviceName(t, health.names[0] ?? '') })
        : t('health.services_down', { count: health.names.length });
    case 'attention':
      return t('health.attention', { count: health.count });
    case 'ready':
      return t('health.ready', { version: health.version });
    case 'starting':
    case 'nothing_installed':
    case 'fine':
      return t(`health.${health.kind}`);
  }
}

/** "release 1.4.0" */
export const releaseWords = (t: TFunction, version: string | null): string =>
  version === null ? t('health.unknownVersion') : t('health.release', { version });

/** "registry.example/station/backend:1.1.0" → "backend:1.1.0"; a digest is shortened to what identifies it. */
export const shortImage = (image: string): string =>
  (image.split('/').at(-1) ?? image).replace(/sha256:([0-9a-f]{12})[0-9a-f]+/, '$1');

export const serviceName = (t: TFunction, name: string): string => orElse(t, `health.service.${name}`, name);

/** Why something failed: a sentence in the reader's language, the station's own text, or both. */
export function reasonWords(
  t: TFunction,
  failure: { code?: string | null; reason: string | null },
): { sentence: string | null; own: string | null } {
  const own = failure.reason === '' ? null : failure.reason;
  const known = failure.code ? orElse(t, `reason.${failure.code}`, '') : '';
  if (known !== '') return { sentence: known, own };
  return { sentence: own === null ? t('reason.unknown') : null, own };
}

export function stepWords(t: TFunction, step: Step, operation: Operation, status: Status): string {
  const to = operation.version ?? t(operation.kind === 'rollback' ? 'health.oldRelease' : 'health.someRelease');
  const back = status.currentVersion ?? t('health.oldRelease');
  const version = step.id === 'revert' || step.id === 'verifyRevert' ? back : to;
  if (step.id === 'verify') return t(`station.step.verify.${step.state}`, { version });
  return t(`station.step.${step.id}.${step.state === 'failed' ? 'done' : step.state}`, { version });
}

/** A finished operation in one line. */
export const outcomeWords = (t: TFunction, entry: HistoryEntry): string =>
  t(`station.outcome.${outcomeOf(entry)}`, { version: entry.to ?? t('station.result.release') });

/** What cannot be when nothing is healthy now. */
const isUnhealthy = ({ conditions }: Pick<Status, 'conditions'>): boolean =>
  conditions.some(({ id }) => id === 'stack_unhealthy');

/** The headline of a finished operation, and a sentence about the station's current state. */
export function resultWords(
  t: TFunction,
  locale: string,
  entry: HistoryEntry,
  status: Pick<Status, 'conditions'>,
): { title: string; now: string; figures: string } {
  const outcome = outcomeOf(entry);
  const named = (version: string | null): { version: string } => ({ version: version ?? t('health.oldRelease') });
  return {
    title: outcomeWords(t, entry),
    now: nowWords(t, outcome, named(entry.from), isUnhealthy(status)),
    figures: figureWords(t, locale, entry),
  };
}

function nowWords(t: TFunction, outcome: Outcome, from: { version: string }, unhealthy: boolean): string {
  switch (outcome) {
    case 'updated':
    case 'installed':
    case 'went_back':
      return '';
    case 'reverted':
    case 'stayed':
      return unhealthy ? '' : t('station.result.running', from);
    case 'not_installed':
      return unhealthy ? '' : t('station.result.untouched', from);
    case 'both_failed':
    case 'neither_way':
      return t(unhealthy ? 'station.result.bothFailed' : 'station.result.running', from);
    case 'start_failed':
      return t('station.result.keepsTrying');
  }
}

/** "offline for 1.3 s · took 24 s" */
export function figureWords(t: TFunction, locale: string, entry: HistoryEntry): string {
  const took = t('station.result.took', { duration: formatDuration(locale, entry.durationMs) });
  // Nothing ran before the first release, so there was no downtime.
  if (entry.downtimeMs === null || entry.from === null) return took;
  const away =
    entry.downtimeMs === 0
      ? t('station.result.notAway')
      : t('station.result.away', { duration: formatDuration(locale, entry.downtimeMs) });
  return away + dot + took;
}
