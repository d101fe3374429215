import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { HistoryEntry } from '@station/protocol/agent-api';
import { useLocale } from '../../i18n/use-locale.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { DetailsNote } from '../../ui/details-note.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { newestFirst, outcomeOf, toneOfOutcome } from './outcome.ts';
import { figureWords, historyWords, reasonWords } from './words.ts';

const shownAtFirst = 5;

export function HistoryCard({ history }: { history: readonly HistoryEntry[] }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const entries = newestFirst(history);
  return (
    <Card title={t('station.history.title')}>
      {entries.length === 0 ? (
        <p className="text-ink-soft">{t('station.history.empty')}</p>
      ) : (
        <ol className="space-y-4">
          {(all ? entries : entries.slice(0, shownAtFirst)).map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
      {entries.length > shownAtFirst && (
        <Button kind="quiet" className="mt-4 -mb-2 -ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'action.showFewer' : 'action.showAll')}
        </Button>
      )}
    </Card>
  );
}

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
          <span className="font-strong">{historyWords(t, entry)}</span>
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
