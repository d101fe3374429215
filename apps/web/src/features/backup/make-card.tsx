import { useTranslation } from 'react-i18next';
import type { BackupView } from '@station/protocol/backup-api';
import { useCommand } from '../../api/command.ts';
import { useServices } from '../../api/services.ts';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { orElse } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { Bar, PassphraseFields, passphraseForm, usePassphraseChecks } from './backup-parts.tsx';

/** A backup by hand: with the stored passphrase, or with one for this backup. */
export function MakeCard({ view, usable }: { view: BackupView; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { session, queries } = useServices();
  const form = useForm({
    ...passphraseForm,
    checks: usePassphraseChecks(),
    usable,
    // Without its field, it is the stored one.
    send: ({ passphrase }) => session.call('POST /api/backup', { body: passphrase === '' ? {} : { passphrase } }),
    onDone: () => {
      form.props.ref.current?.reset();
      void queries.invalidateQueries({ queryKey: ['backup'] });
    },
  });
  const cancel = useCommand(() => session.call('POST /api/backup/cancel'), { reads: ['backup'] });
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
          <form {...form.props} className="space-y-4">
            {view.settings.hasPassphrase ? (
              <p className="text-ink-soft">{t('backup.make.withStored')}</p>
            ) : (
              <PassphraseFields form={form} />
            )}
            <FormEnd form={form} submit={t('backup.make.now')} usable={usable} />
          </form>
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
