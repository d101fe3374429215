import { useTranslation } from 'react-i18next';
import type { BackupInspection } from '@station/protocol/backup-api';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { ToneIcon } from '../../ui/tone.tsx';

/** Whose backup it is, of when, and what a person must know of it before it is restored. */
export function RestoreFacts({ found }: { found: BackupInspection }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { stationName, createdAt, version, doubts } = found;
  return (
    <>
      <p role="status">
        {t('backup.restore.found', { name: stationName, time: formatExact(locale, Date.parse(createdAt)), version })}
      </p>
      {doubts.map((doubt) => (
        <div key={doubt} role="alert" className="flex gap-3 rounded-xl bg-fault-soft p-3">
          <ToneIcon tone="fault" className="mt-0.5" />
          <p>{t(`backup.doubt.${doubt}`)}</p>
        </div>
      ))}
    </>
  );
}
