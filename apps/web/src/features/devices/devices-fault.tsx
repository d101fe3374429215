import { useTranslation } from 'react-i18next';
import type { Problem } from '../../api/problem.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { problemWords } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { ToneDisc } from '../../ui/tone.tsx';

/** Instead of devices that were never read: what happened and what helps. They are asked for again by themselves as well. */
export function DevicesFault({ problem, retry, retrying }: { problem: Problem; retry: () => void; retrying: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  return (
    <div role="alert" className="flex gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6">
      <ToneDisc tone="fault" />
      <div className="min-w-0">
        <h2 className="font-strong">{t('device.fault')}</h2>
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
