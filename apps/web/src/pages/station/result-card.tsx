import { useTranslation } from 'react-i18next';
import type { HistoryEntry, Status } from '@station/protocol/agent-api';
import { useLocale } from '../../i18n/use-locale.ts';
import { isHeldBack } from '../../status/health.ts';
import { outcomeOf, toneOfOutcome } from '../../status/outcome.ts';
import { reasonWords, resultWords } from '../../status/words.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { toneSoft, ToneIcon } from '../../ui/tone.tsx';
import { OwnWords } from './own-words.tsx';

/** What the latest operation came to. Stays until someone says that it was read. */
export function ResultCard({ entry, status, onRead }: { entry: HistoryEntry; status: Status; onRead: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const outcome = outcomeOf(entry);
  const tone = toneOfOutcome[outcome];
  const words = resultWords(t, locale, entry);
  const reason = reasonWords(t, entry);
  const failed = tone !== 'ok';
  return (
    <section aria-live="polite" className={classNames('rounded-2xl p-4 md:p-6', toneSoft[tone])}>
      <div className="flex gap-3">
        <ToneIcon tone={tone} className="mt-1 size-6" />
        <div className="min-w-0 flex-1">
          <h2 className="text-title font-strong">{words.title}</h2>
          {words.now && <p className="font-strong">{words.now}</p>}
          {failed && (
            <p className="mt-2">
              {reason.sentence} {entry.to !== null && isHeldBack(status, entry.to) && t('station.result.held')}
            </p>
          )}
          {failed && <OwnWords words={reason.own} />}
          <p className="mt-2 text-small text-ink-soft first-letter:uppercase">
            {words.figures} · <TimeAgo at={entry.endedAt} />
          </p>
          <Button className="mt-4 w-full sm:w-auto" onClick={onRead}>
            {t('action.gotIt')}
          </Button>
        </div>
      </div>
    </section>
  );
}
