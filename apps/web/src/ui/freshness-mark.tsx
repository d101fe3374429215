import { Unplug } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { formatClock } from '../i18n/relative-time.ts';
import { useLocale } from '../i18n/use-locale.ts';
import { classNames } from './class-names.ts';
import type { Freshness } from '../api/freshness.ts';

/** One short word that is always there, and over the page a sentence while the connection is lost. */
export function FreshnessMark({ freshness, restarting }: { freshness: Freshness; restarting: boolean }) {
  const { t } = useTranslation();
  const stale = freshness.kind === 'stale';
  const word = {
    connecting: 'link.connecting',
    live: 'link.live',
    polling: 'link.polling',
    stale: 'link.lostShort',
  } as const;
  return (
    <div className="shrink-0">
      <p className="flex items-center gap-2">
        <span
          aria-hidden
          className={classNames(
            'size-2 rounded-full',
            freshness.kind === 'live' ? 'bg-ok' : 'border border-ink-soft',
            freshness.kind === 'connecting' && 'animate-breathe',
          )}
        />
        {t(word[freshness.kind])}
      </p>
      <div role="status">{stale && <StaleNote freshness={freshness} restarting={restarting} />}</div>
    </div>
  );
}

function StaleNote({
  freshness,
  restarting,
}: {
  freshness: Extract<Freshness, { kind: 'stale' }>;
  restarting: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const time = formatClock(locale, freshness.lastWordAt);
  const sentence = restarting
    ? 'link.restarting'
    : freshness.because === 'agent_silent'
      ? 'link.agentSilent'
      : 'link.lost';
  return (
    <div className="note-place flex gap-3 text-body text-ink">
      <Unplug aria-hidden className="mt-0.5 size-5 shrink-0 text-ink-soft" />
      <p>
        {t(sentence, { time })} <span className="text-ink-soft">{t('link.byItself')}</span>
      </p>
    </div>
  );
}
