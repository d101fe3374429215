import { useTranslation } from 'react-i18next';
import { asProblem, type Problem } from '../api/request.ts';
import { useLocale } from '../i18n/i18n.ts';
import { problemWords } from '../i18n/words.ts';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { ToneDisc, ToneIcon } from './tone.tsx';

/** What went wrong, if anything, and what helps, in the reader's language; the stable error code is shown small beside it. */
export function ProblemNote({ error }: { error: unknown }) {
  const { t } = useTranslation();
  const locale = useLocale();
  if (error === null || error === undefined) return null;
  const problem = asProblem(error);
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

/** In place of data that could not be read: what happened and what helps. The read is repeated automatically. */
export function ReadFault({
  title,
  problem,
  retry,
  retrying,
  isHeadline = false,
}: {
  title: string;
  problem: Problem;
  retry: () => void;
  retrying: boolean;
  /** Shown in place of the page's headline. */
  isHeadline?: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const Title = isHeadline ? 'h1' : 'h2';
  return (
    <div
      role="alert"
      className={classNames(
        'flex gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6',
        isHeadline && 'flex-col sm:flex-row',
      )}
    >
      <ToneDisc tone="fault" />
      <div className="min-w-0">
        <Title className={isHeadline ? 'text-title font-strong' : 'font-strong'}>{title}</Title>
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

/** The agent's own reason in English, in small print. */
export function DetailsNote({ words }: { words: string | null }) {
  const { t } = useTranslation();
  if (words === null || words === '') return null;
  return (
    <p className="mt-1 text-small text-ink-soft">
      {t('reason.words')}: <q lang="en">{words}</q>
    </p>
  );
}
