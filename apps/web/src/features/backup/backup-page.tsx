import { useTranslation } from 'react-i18next';
import type { BackupView } from '@station/protocol/backup-api';
import { type Freshness, useReading } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Card } from '../../ui/card.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { Read } from '../../ui/loading.tsx';
import { ListCard } from './list-card.tsx';
import { MakeCard } from './make-card.tsx';
import { NightCard } from './night-card.tsx';
import { type RestoreCalls, inspectTimeoutMs, RestoreFlow, restoreTimeoutMs } from './restore-flow.tsx';

export const backupKey = ['backup'];

/** Backups: which there are, a new one, the schedule, and the way back. */
export function BackupPage() {
  const { t } = useTranslation();
  const isOwner = useUser().role === 'owner';
  return (
    <>
      {isOwner ? (
        <OwnerPage />
      ) : (
        <>
          <Head />
          <p>{t('backup.onlyOwner')}</p>
        </>
      )}
    </>
  );
}

function Head({ freshness }: { freshness?: Freshness }) {
  const { t } = useTranslation();
  return (
    <PageHead page={t('backup.title')} {...(freshness && { freshness })}>
      <PageTitle title={t('backup.title')}>{t('backup.lead')}</PageTitle>
    </PageHead>
  );
}

function OwnerPage() {
  const { t } = useTranslation();
  const view = useReading(backupKey, 'GET /api/backup', { isBusy: (value) => value?.isWorking === true });
  return (
    <>
      <Head {...(view.kind === 'shown' && { freshness: view.freshness })} />
      <Read view={view} fault={t('backup.fault')} cards={['h-64', 'h-48']} className="lg:grid-cols-2">
        {(value, stale) =>
          value.isSupported ? <Cards view={value} stale={stale} /> : <p>{t('backup.notSupported')}</p>
        }
      </Read>
    </>
  );
}

function Cards({ view, stale }: { view: BackupView; stale: boolean }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const calls: RestoreCalls = {
    begin: (file) => session.call('POST /api/backup/uploads', { body: file }),
    inspect: (upload, passphrase) =>
      session.call('POST /api/backup/inspect', {
        body: { upload, passphrase },
        timeoutMs: inspectTimeoutMs,
      }),
    restore: (upload, passphrase, accept) =>
      session.call('POST /api/backup/restore', {
        body: { upload, passphrase, accept },
        timeoutMs: restoreTimeoutMs,
      }),
  };
  return (
    <Dimmable stale={stale} className="cards items-start lg:grid-cols-2">
      <div className="cards">
        <MakeCard view={view} usable={!stale} />
        <ListCard view={view} usable={!stale} />
      </div>
      <div className="cards">
        <NightCard view={view} usable={!stale} />
        <Card title={t('backup.restore.title')}>
          <p className="-mt-2 mb-4 text-ink-soft">{t('backup.restore.lead')}</p>
          <RestoreFlow calls={calls} />
        </Card>
      </div>
    </Dimmable>
  );
}
