import { useTranslation } from 'react-i18next';
import type { Problem } from '../api/problem.ts';
import { useLocale } from '../i18n/use-locale.ts';
import { problemWords } from '../i18n/words.ts';
import { ToneIcon } from './tone.tsx';

/** What went wrong and what helps, in the reader's language; the stable code stands small beside it for the curious. */
export function ProblemNote({ problem }: { problem: Problem }) {
  const { t } = useTranslation();
  const locale = useLocale();
  return (
    <div role="alert" className="flex gap-3 rounded-xl bg-fault-soft p-3">
      <ToneIcon tone="fault" className="mt-0.5" />
      <div>
        <p>{problemWords(t, locale, problem)}</p>
        <p className="text-small text-ink-soft">
          {t('error.code')}: <code>{problem.code}</code>
        </p>
      </div>
    </div>
  );
}
