import { Check, Circle, CircleDot, type LucideIcon, X } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Operation, Status } from '@station/protocol/agent-api';
import { useServices, useTick } from '../../api/services.ts';
import { formatBytes, formatBytesPair, formatElapsed, formatPercent } from '../../i18n/units.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { type Step, stepsOf } from './steps.ts';
import { stepWords } from './words.ts';

/** An operation under way: what was really done, what is being done now, and how far the download has come, in bytes. */
export function OperationCard({ operation, status }: { operation: Operation; status: Status }) {
  const { t } = useTranslation();
  const steps = stepsOf(operation);
  const first = operation.kind === 'update' && status.currentVersion === null;
  const now = steps.find((step) => step.state === 'now');
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Whoever pressed the button that began this had the focus on it; it is gone now.
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

function Elapsed({ since }: { since: string }) {
  const { t } = useTranslation();
  const { clock } = useServices();
  useTick(1_000);
  return (
    <p className="text-ink-soft tabular-nums">
      <span className="sr-only">{t('station.operation.elapsed')}: </span>
      {formatElapsed(clock.now() - Date.parse(since))}
    </p>
  );
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
