import { Check, Circle, CircleDot, type LucideIcon, X } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { HistoryEntry, Operation, Status } from '@station/protocol/agent-api';
import { useServices, useTick } from '../../api/services.ts';
import { formatBytes, formatBytesPair, formatElapsed, formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { DetailsNote } from '../../ui/problem.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';
import type { TimelineEntry } from '../../ui/timeline.tsx';
import { toneBorder, ToneDisc, ToneIcon } from '../../ui/tone.tsx';
import { isHeldBack } from './health.ts';
import { newestFirst, outcomeOf, type Step, stepsOf, toneOfOutcome } from './outcome.ts';
import { figureWords, outcomeWords, reasonWords, resultWords, stepWords } from './station-words.ts';

/** An operation in progress: the finished steps, the current step, and the downloaded bytes. */
export function OperationCard({ operation, status }: { operation: Operation; status: Status }) {
  const { t } = useTranslation();
  const steps = stepsOf(operation);
  const first = operation.kind === 'update' && status.currentVersion === null;
  const now = steps.find((step) => step.state === 'now');
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that started the operation had the focus and was removed.
    if (document.activeElement === document.body) place.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div ref={place} tabIndex={-1}>
      <Card
        title={t(`station.operation.title.${first ? 'install' : operation.kind}`)}
        aside={<Elapsed since={operation.startedAt} />}
      >
        <p role="status" className="sr-only">
          {now && stepWords(t, now, operation, status)}
        </p>
        <ol className="space-y-3">
          {steps.map((step) => (
            <li key={step.id} aria-current={step.state === 'now' ? 'step' : undefined}>
              <div className="flex gap-3">
                <StepSign state={step.state} />
                <p
                  className={classNames(
                    step.state === 'now' && 'font-strong',
                    step.state === 'next' && 'text-ink-soft',
                  )}
                >
                  {stepWords(t, step, operation, status)}
                </p>
              </div>
              {step.id === 'fetch' && step.state === 'now' && <Download operation={operation} />}
              {(step.id === 'verify' || step.id === 'verifyRevert') && step.state === 'now' && (
                <p className="ml-8 text-small text-ink-soft tabular-nums">
                  <CheckLeft operation={operation} />
                </p>
              )}
            </li>
          ))}
        </ol>
        <p className="mt-4 text-small text-ink-soft">
          {t(`station.operation.${operation.trigger}`)} {t('station.operation.closing')}
        </p>
      </Card>
    </div>
  );
}

const signs: Record<Step['state'], { icon: LucideIcon; look: string }> = {
  done: { icon: Check, look: 'text-ok' },
  now: { icon: CircleDot, look: 'text-working animate-breathe' },
  next: { icon: Circle, look: 'text-line-strong' },
  failed: { icon: X, look: 'text-fault' },
};

function StepSign({ state }: { state: Step['state'] }) {
  const { icon: Icon, look } = signs[state];
  return <Icon aria-hidden className={classNames('mt-0.5 size-5 shrink-0', look)} />;
}

export function Elapsed({ since }: { since: string }) {
  const { t } = useTranslation();
  const { clock } = useServices();
  useTick(1_000);
  return (
    <span className="text-ink-soft tabular-nums">
      <span className="sr-only">{t('station.operation.elapsed')}: </span>
      {formatElapsed(clock.now() - Date.parse(since))}
    </span>
  );
}

/** How long the health check takes at least from now on; nothing when it is not known. */
export function CheckLeft({ operation: { healthCheckUntil } }: { operation: Operation }) {
  const { t } = useTranslation();
  const { clock } = useServices();
  useTick(healthCheckUntil === undefined ? null : 1_000);
  const leftMs = healthCheckUntil === undefined ? 0 : Date.parse(healthCheckUntil) - clock.now();
  return leftMs > 0 && <span>{t('station.operation.left', { time: formatElapsed(leftMs) })}</span>;
}

function Download({ operation }: { operation: Operation }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { doneBytes, totalBytes, percent } = operation.progress;
  const words =
    totalBytes === null
      ? t('station.operation.bytesSoFar', { done: formatBytes(locale, doneBytes) })
      : t('station.operation.bytes', formatBytesPair(locale, doneBytes, totalBytes));
  return (
    <div className="mt-2 ml-8">
      <div
        role="progressbar"
        aria-label={t('station.operation.progress')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent === null ? undefined : Math.floor(percent)}
        aria-valuetext={words}
        className="h-2 overflow-hidden rounded-full bg-sunken"
      >
        {percent === null ? (
          <div className="h-full w-1/3 animate-sweep rounded-full bg-working" />
        ) : (
          <div
            className="h-full rounded-full bg-working transition-[width] duration-500"
            style={{ width: `${percent}%` }}
          />
        )}
      </div>
      <div className="mt-1 flex min-h-5 justify-between gap-4 text-small text-ink-soft tabular-nums">
        <span>{words}</span>
        {percent !== null && <span>{formatPercent(locale, percent)}</span>}
      </div>
    </div>
  );
}

/** The result of the latest operation. Stays until it is dismissed. */
export function ResultCard({ entry, status, onRead }: { entry: HistoryEntry; status: Status; onRead: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const outcome = outcomeOf(entry);
  const tone = toneOfOutcome[outcome];
  const words = resultWords(t, locale, entry, status);
  const reason = reasonWords(t, entry);
  const failed = tone !== 'ok';
  // The headline of a rolled-back release already contains it.
  const saidAlready = outcome === 'reverted' && entry.code === 'release_unhealthy';
  return (
    <section
      aria-live="polite"
      className={classNames('rounded-2xl border bg-surface p-4 shadow-lift md:p-6', toneBorder[tone])}
    >
      <div className="flex gap-4">
        <ToneDisc tone={tone} />
        <div className="min-w-0 flex-1">
          <h2 className="text-title font-strong">{words.title}</h2>
          {words.now && <p className="mt-1 font-strong">{words.now}</p>}
          {failed && <DetailsNote words={reason.own} />}
          {failed && (
            <p className="mt-2">
              {!saidAlready && reason.sentence}{' '}
              {entry.to !== null && isHeldBack(status, entry.to) && t('station.result.held')}
            </p>
          )}
          <p className="mt-2 text-small text-ink-soft first-letter:uppercase">
            {words.figures + dot}
            <TimeAgo at={entry.endedAt} />
          </p>
          <Button className="mt-4 w-full sm:w-auto" onClick={onRead}>
            {t('action.gotIt')}
          </Button>
        </div>
      </div>
    </section>
  );
}

/** What came of earlier operations. */
export const releaseTimeline = (history: readonly HistoryEntry[]): TimelineEntry[] =>
  newestFirst(history).map((entry) => ({ key: entry.id, at: entry.endedAt, row: <Entry entry={entry} /> }));

function Entry({ entry }: { entry: HistoryEntry }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const outcome = outcomeOf(entry);
  const tone = toneOfOutcome[outcome];
  const reason = reasonWords(t, entry);
  const kept = (outcome === 'reverted' || outcome === 'stayed') && entry.from !== null;
  return (
    <li className="flex gap-3">
      <ToneIcon tone={tone} className="mt-0.5" />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap justify-between gap-x-4">
          <span className="font-strong">{outcomeWords(t, entry)}</span>
          <span className="text-small leading-6 text-ink-soft">
            <TimeAgo at={entry.endedAt} />
          </span>
        </div>
        {tone !== 'ok' && (
          <p>
            {[reason.sentence, kept && t('station.history.kept', { version: entry.from ?? '' })]
              .filter(Boolean)
              .join(' ')}
          </p>
        )}
        {tone !== 'ok' && <DetailsNote words={reason.own} />}
        <p className="text-small text-ink-soft first-letter:uppercase">
          {tone === 'ok' && entry.from !== null && <>{t('station.history.from', { version: entry.from }) + dot}</>}
          {[t(`station.history.${entry.trigger}`), figureWords(t, locale, entry)].join(dot)}
        </p>
      </div>
    </li>
  );
}
