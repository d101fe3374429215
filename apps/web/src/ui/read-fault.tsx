import { useTranslation } from 'react-i18next';
import type { Problem } from '../api/problem.ts';
import { useLocale } from '../i18n/use-locale.ts';
import { problemWords } from '../i18n/words.ts';
import { Button } from './button.tsx';
import { ToneDisc } from './tone.tsx';

/** Instead of what was never read: what happened and what helps. It is asked for again by itself as well. */
export function ReadFault({
  title,
  problem,
  retry,
  retrying,
}: {
  title: string;
  problem: Problem;
  retry: () => void;
  retrying: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  return (
    <div role="alert" className="flex gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6">
      <ToneDisc tone="fault" />
      <div className="min-w-0">
        <h2 className="font-strong">{title}</h2>
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
