import { Unlink } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import { useServices, useTick, useUser } from '../../api/services.ts';
import { formatClock, formatDuration } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { DetailsNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { mayConnect, useUnclaim } from './cloud-link.ts';

/** The link of a claimed station, and the button that ends it. */
export function LinkCard({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const mayLeave = mayConnect(useUser());
  const unclaim = useUnclaim();
  const [question, ask] = useConfirm();
  const { state, isHeldHere, connectedSince, lastHeardAt, claimedAt, host, lastError } = status;
  const isUp = state === 'authenticated';
  const lost = status.outbox.pending + status.outbox.deadLetters;
  /** What ends with remote access, and what does not. */
  const askToLeave = (): void =>
    ask({
      title: t('cloud.unclaim.title', { host: host ?? '' }),
      text: (
        <>
          <p>{t('cloud.unclaim.away')}</p>
          {lost > 0 && <p>{t('cloud.unclaim.waiting', { count: lost })}</p>}
          <p>{t('cloud.unclaim.people')}</p>
          <p>{t('cloud.unclaim.there')}</p>
        </>
      ),
      confirm: t('cloud.unclaim.confirm'),
      keep: t('cloud.unclaim.keep'),
      run: () => unclaim.mutateAsync(),
    });
  return (
    <Card title={t('cloud.link.title')}>
      <p className="text-value font-strong">{t(`cloud.link.state.${stateKey(status)}`)}</p>
      {connectedSince !== null && (
        <p className="text-ink-soft">
          <Sentence text={(time) => t('cloud.link.since', { time })} slot={<TimeAgo at={connectedSince} />} />
        </p>
      )}
      {isHeldHere && !isUp && (
        <>
          <NextAttempt status={status} />
          {state !== 'rejected' && <p className="mt-2">{t('cloud.link.byItself')}</p>}
          <DetailsNote words={lastError} />
        </>
      )}
      <dl className="mt-4 grid gap-x-8 gap-y-3 sm:grid-cols-3">
        <Fact name={t('cloud.link.host')}>
          <span className="inline-block max-w-full">{host}</span>
        </Fact>
        {isHeldHere && (
          <Fact name={t('cloud.link.heard')}>
            {lastHeardAt === null ? t('cloud.link.notHeard') : <TimeAgo at={lastHeardAt} />}
          </Fact>
        )}
        {claimedAt !== null && (
          <Fact name={t('cloud.link.claimed')}>
            <TimeAgo at={claimedAt} />
          </Fact>
        )}
      </dl>
      <div className="mt-6 border-t border-line pt-4">
        {mayLeave ? (
          <Button disabled={!usable} onClick={askToLeave}>
            <Unlink aria-hidden className="size-5 max-sm:hidden" />
            {t('cloud.link.leave')}
          </Button>
        ) : (
          <p className="text-ink-soft">{t('cloud.link.ownerOnly')}</p>
        )}
      </div>
      {question}
    </Card>
  );
}

function stateKey({ state, isHeldHere }: CloudStatus) {
  if (!isHeldHere) return 'elsewhere';
  if (state === 'authenticated') return 'connected';
  return state === 'connecting' || state === 'rejected' ? state : 'offline';
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-small text-ink-soft">{name}</dt>
      <dd className="break-words first-letter:uppercase">{children}</dd>
    </div>
  );
}

/** When the station tries again automatically. */
export function NextAttempt({ status }: { status: CloudStatus }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  const { nextAttemptAt, state } = status;
  useTick(nextAttemptAt === null ? null : 1_000);
  if (nextAttemptAt === null) return <p className="text-ink-soft">{t('cloud.link.now')}</p>;
  const at = Date.parse(nextAttemptAt);
  const left = Math.ceil((at - clock.now()) / 1_000) * 1_000;
  if (left <= 0) return <p className="text-ink-soft">{t('cloud.link.now')}</p>;
  return (
    <p className="text-ink-soft tabular-nums">
      {state === 'rejected'
        ? t('cloud.link.slow', { time: formatClock(locale, at) })
        : t('cloud.link.next', { duration: formatDuration(locale, left) })}
    </p>
  );
}
