import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Operation, Status } from '@station/protocol/agent-api';
import { useServices, useStore, useTick } from '../../api/services.ts';
import { formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { classNames } from '../../ui/class-names.ts';
import { ToneDisc } from '../../ui/tone.tsx';
import { CheckLeft, Elapsed } from './operation-card.tsx';
import { outcomeOf, stepsOf, toneOfOutcome, unreadResult } from './outcome.ts';
import { outcomeWords, stepWords } from './station-words.ts';

/**
 * The operation and then its result, on every page and within reach of a thumb; it leads to the Station page. There a wide screen shows
 * the same at the top.
 */
export function OperationPin({ status, isOnStationPage }: { status: Status; isOnStationPage: boolean }) {
  const { t } = useTranslation();
  const { readResult, clock } = useServices();
  const readId = useStore(readResult);
  const { operation } = status;
  const result = operation ? null : unreadResult(status.history, readId, clock.now());
  if (!operation && !result) return null;
  return (
    <section
      data-pin
      aria-label={t('station.operation.pin')}
      className={classNames('pin-place', isOnStationPage && 'md:hidden')}
    >
      <Link
        href="/settings/updates"
        className="flex items-center gap-3 rounded-2xl p-3"
        onClick={() => isOnStationPage && scrollTo(0, 0)}
      >
        {operation ? (
          <Running operation={operation} status={status} />
        ) : (
          result && (
            <>
              <ToneDisc tone={toneOfOutcome[outcomeOf(result)]} />
              <span className="line-clamp-2 min-w-0 flex-1 font-strong">{outcomeWords(t, result)}</span>
            </>
          )
        )}
      </Link>
    </section>
  );
}

function Running({ operation, status }: { operation: Operation; status: Status }) {
  const { t } = useTranslation();
  const locale = useLocale();
  useTick(1_000);
  const now = stepsOf(operation).find((step) => step.state === 'now');
  const { percent } = operation.progress;
  const isFetching = now?.id === 'fetch';
  return (
    <>
      <ToneDisc tone="working" />
      <span className="min-w-0 flex-1">
        <span className="line-clamp-1 font-strong">{now && stepWords(t, now, operation, status)}</span>
        <span className="flex gap-3 text-small text-ink-soft tabular-nums">
          <Elapsed since={operation.startedAt} />
          {isFetching && percent !== null && <span>{formatPercent(locale, percent)}</span>}
          <CheckLeft operation={operation} />
        </span>
        <span aria-hidden className="mt-1 block h-1 overflow-hidden rounded-full bg-sunken">
          {isFetching && percent !== null ? (
            <span
              className="block h-full rounded-full bg-working transition-[width] duration-500"
              style={{ width: `${percent}%` }}
            />
          ) : (
            <span className="block h-full w-1/3 animate-sweep rounded-full bg-working" />
          )}
        </span>
      </span>
    </>
  );
}
