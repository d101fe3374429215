import { useTranslation } from 'react-i18next';
import type { HistoryEntry, Status } from '@station/protocol/agent-api';
import { useLocale } from '../../i18n/use-locale.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { DetailsNote } from '../../ui/details-note.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { toneBorder, ToneDisc } from '../../ui/tone.tsx';
import { isHeldBack } from './health.ts';
import { outcomeOf, toneOfOutcome } from './outcome.ts';
import { reasonWords, resultWords } from './words.ts';

/** What the latest operation came to. Stays until someone says that it was read. */
export function ResultCard({ entry, status, onRead }: { entry: HistoryEntry; status: Status; onRead: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const outcome = outcomeOf(entry);
  const tone = toneOfOutcome[outcome];
  const words = resultWords(t, locale, entry);
  const reason = reasonWords(t, entry);
  const failed = tone !== 'ok';
  // The headline of a release that was taken back has said it.
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
