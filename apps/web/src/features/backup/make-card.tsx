import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { BackupView } from '@station/protocol/backup-api';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { orElse } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { BackupProblem, Bar, type NewPassphrase, PassphraseFields } from './backup-parts.tsx';
import { passphraseFault } from './passphrase.ts';

/** A backup by hand: with the stored passphrase, or with one for this backup. */
export function MakeCard({ view, usable }: { view: BackupView; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { session, queries } = useServices();
  const [passphrase, setPassphrase] = useState<NewPassphrase>({ first: '', again: '' });
  const [fault, setFault] = useState<'short' | 'different' | null>(null);
  const change = (value: NewPassphrase): void => {
    setPassphrase(value);
    setFault(null);
  };
  const refresh = () => queries.invalidateQueries({ queryKey: ['backup'] });
  const make = useMutation({
    mutationFn: (body: { passphrase?: string }) => session.call('POST /api/backup', { body }),
    onSuccess: () => {
      setPassphrase({ first: '', again: '' });
      return refresh();
    },
  });
  const cancel = useMutation({
    mutationFn: () => session.call('POST /api/backup/cancel'),
    onSuccess: refresh,
  });
  const { hasPassphrase } = view.settings;
  const begin = (): void => {
    const found = hasPassphrase ? null : passphraseFault(passphrase.first, passphrase.again);
    setFault(found);
    if (found === null) make.mutate(hasPassphrase ? {} : { passphrase: passphrase.first });
  };
  const { trouble, nextAt } = view;
  const words =
    trouble && orElse(t, `backup.${trouble.place === null ? 'refusal' : 'place'}.${trouble.reason}`, trouble.reason);
  return (
    <Card title={t('backup.make.title')}>
      <div className="space-y-4">
        {trouble && words && (
          <p className="rounded-xl bg-fault-soft p-3">
            {t('backup.make.failed', {
              time: formatExact(locale, Date.parse(trouble.at)),
              reason: trouble.place === null ? words : `${t(`backup.list.place.${trouble.place}`)}: ${words}`,
            })}
          </p>
        )}
        {view.isWorking ? (
          <Working view={view} busy={cancel.isPending} onCancel={() => cancel.mutate()} />
        ) : (
          <>
            {hasPassphrase ? (
              <p className="text-ink-soft">{t('backup.make.withStored')}</p>
            ) : (
              <PassphraseFields value={passphrase} fault={fault} onChange={change} />
            )}
            {make.error && <BackupProblem problem={asProblem(make.error)} />}
            <Button kind="primary" busy={make.isPending} disabled={!usable} onClick={begin}>
              {t('backup.make.now')}
            </Button>
          </>
        )}
        {nextAt !== null && (
          <p className="text-small text-ink-soft">
            {t('backup.make.next', { time: formatExact(locale, Date.parse(nextAt)) })}
          </p>
        )}
      </div>
    </Card>
  );
}

function Working({ view, busy, onCancel }: { view: BackupView; busy: boolean; onCancel: () => void }) {
  const { t } = useTranslation();
  const { progress, sending } = view;
  const phase = sending === null ? (progress?.phase ?? 'starting') : 'sending';
  return (
    <>
      <Bar label={t(`backup.phase.${phase}`)} done={progress?.doneBytes ?? 0} total={progress?.totalBytes ?? 0} />
      <Button busy={busy} onClick={onCancel}>
        {t('backup.make.cancel')}
      </Button>
    </>
  );
}
