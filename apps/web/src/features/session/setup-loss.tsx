import { useTranslation } from 'react-i18next';
import type { SetupState } from '@station/protocol/rest';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';

/** The station was set up before, and its data is damaged: nobody should think that it is new. */
export function SetupLoss({ loss, onRestore }: { loss: NonNullable<SetupState['lost']>; onRestore: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const timeOf = (at: string): string => formatExact(locale, Date.parse(at));
  return (
    <section role="alert" className="mb-6 space-y-3 rounded-xl border border-attention bg-attention-soft p-4">
      <h2 className="font-strong">{t('session.setup.lost.title')}</h2>
      <p>{t('session.setup.lost.text', { time: timeOf(loss.at), file: loss.file })}</p>
      {loss.backup === null ? (
        <p>{t('session.setup.lost.noBackup')}</p>
      ) : (
        <Button kind="primary" className="w-full" onClick={onRestore}>
          {t('session.setup.lost.restore', { time: timeOf(loss.backup.madeAt) })}
        </Button>
      )}
    </section>
  );
}
