import { Send } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import { isManager } from '@station/protocol/roles';
import { useUser } from '../../api/services.ts';
import { formatBytes } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { useSendAgain, useDeadLetters } from './cloud-link.ts';

/** Messages that the cloud has not received yet. */
export function WaitingCard({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const isUp = status.state === 'authenticated';
  // Only the backend that holds the link knows its state; every backend knows the queue.
  const hasHeard = isUp || !status.isHeldHere;
  const { pending, dropped, deadLetters } = status.outbox;
  const formatted = (value: number): string => new Intl.NumberFormat(locale).format(value);
  return (
    <Card title={t('cloud.waiting.title')}>
      {pending === 0 ? (
        <p className="flex gap-3">
          {hasHeard && <ToneIcon tone="ok" className="mt-0.5" />}
          <span>{t(hasHeard ? 'cloud.waiting.none' : 'cloud.waiting.noneAway')}</span>
        </p>
      ) : (
        <>
          <p className="text-value font-strong tabular-nums">
            {t('cloud.waiting.count', { count: pending, formatted: formatted(pending) })}
          </p>
          <p className="text-ink-soft">{t(isUp ? 'cloud.waiting.sending' : 'cloud.waiting.later')}</p>
          <Room status={status} />
        </>
      )}
      {dropped > 0 && (
        <p className="mt-4 flex gap-3">
          <ToneIcon tone="attention" className="mt-0.5" />
          <span>{t('cloud.waiting.dropped', { count: dropped, formatted: formatted(dropped) })}</span>
        </p>
      )}
      <DeadLettersPart count={deadLetters} usable={usable} />
    </Card>
  );
}

function Room({ status: { outbox } }: { status: CloudStatus }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { bytes, maxBytes, oldestAt } = outbox;
  const percent = Math.min(100, (bytes / maxBytes) * 100);
  const words = t('cloud.waiting.room', { done: formatBytes(locale, bytes), total: formatBytes(locale, maxBytes) });
  return (
    <div className="mt-3">
      <div
        role="meter"
        aria-label={t('cloud.waiting.bar')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.floor(percent)}
        aria-valuetext={words}
        className="h-2 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={classNames(
            'h-full min-w-2 rounded-full transition-[width] duration-500',
            percent >= 98 ? 'bg-fault' : percent >= 80 ? 'bg-attention' : 'bg-working',
          )}
          style={{ width: `${percent}%` }}
        />
      </div>
      <p className="mt-1 text-small text-ink-soft tabular-nums">
        {words}
        {oldestAt !== null && (
          <>
            {dot}
            <Sentence text={(time) => t('cloud.waiting.oldest', { time })} slot={<TimeAgo at={oldestAt} />} />
          </>
        )}
      </p>
    </div>
  );
}

/** Dead letters: the cloud ended the link at these messages. What was done with them is shown until the page is left. */
function DeadLettersPart({ count, usable }: { count: number; usable: boolean }) {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const [open, setOpen] = useState(false);
  const again = useSendAgain();
  if (count === 0 && !again.isSuccess) return null;
  return (
    <div className="mt-4 border-t border-line pt-4">
      <p role="status">{again.data && t('cloud.aside.sent', { count: again.data.count })}</p>
      {count > 0 && (
        <>
          <h3 className="flex gap-3 font-strong">
            <ToneIcon tone="attention" className="mt-0.5" />
            {t('cloud.aside.title', { count })}
          </h3>
          <p className="mt-1 text-ink-soft">{t('cloud.aside.help')}</p>
          {mayManage && (
            <>
              <p className="mt-1 text-ink-soft">{t('cloud.aside.sendHelp')}</p>
              <div className="mt-3 flex flex-col gap-x-3 gap-y-2 sm:flex-row">
                <Button busy={again.isPending} disabled={!usable} onClick={() => again.mutate()}>
                  <Send aria-hidden className="size-5" />
                  {t('cloud.aside.send')}
                </Button>
                <Button kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
                  {t(open ? 'cloud.aside.hide' : 'cloud.aside.show')}
                </Button>
              </div>
              {open && <List />}
            </>
          )}
        </>
      )}
      {again.error && (
        <div className="mt-3">
          <ProblemNote error={again.error} />
        </div>
      )}
    </div>
  );
}

function List() {
  const { t } = useTranslation();
  const { data, error } = useDeadLetters();
  if (!data) return error ? <ProblemNote error={error} /> : <Skeleton className="mt-3 h-12" />;
  return (
    <ul className="mt-3 divide-y divide-line">
      {data.map(({ seq, channel, reason, at }) => (
        <li key={seq} className="py-2">
          <p>
            <Sentence
              text={(time) => t('cloud.aside.one', { channel: t(`cloud.channels.${channel}`), time })}
              slot={<TimeAgo at={at} />}
            />
          </p>
          <q lang="en" className="text-small text-ink-soft">
            {reason}
          </q>
        </li>
      ))}
    </ul>
  );
}
