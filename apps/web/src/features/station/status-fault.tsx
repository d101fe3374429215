import { useTranslation } from 'react-i18next';
import type { Problem } from '../../api/problem.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { problemWords } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { ToneDisc } from '../../ui/tone.tsx';

/** Instead of a status that was never read: what happened and what helps. It is asked again by itself as well. */
export function StatusFault({ problem, retry, retrying }: { problem: Problem; retry: () => void; retrying: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  return (
    <div
      role="alert"
      className="flex flex-col gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift sm:flex-row md:p-6"
    >
      <ToneDisc tone="fault" />
      <div className="min-w-0">
        <h1 className="text-title font-strong">{t('station.fault.title')}</h1>
        <p className="mt-1">{problemWords(t, locale, problem)}</p>
        <p className="mt-1 text-small text-ink-soft">
          {t('error.code')}: <code>{problem.code}</code>
        </p>
        <Button className="mt-4" busy={retrying} onClick={retry}>
          {t('action.retry')}
        </Button>
      </div>
    </div>
  );
}
