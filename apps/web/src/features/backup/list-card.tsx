import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { BackupView, StoredBackupView } from '@station/protocol/backup-api';
import { useCommand } from '../../api/command.ts';
import { useServices } from '../../api/services.ts';
import { formatBytes, formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { RestoreFacts } from './restore-confirm.tsx';
import { inspectTimeoutMs, RestoreEnd, restoreTimeoutMs } from './restore-flow.tsx';

/** The stored backups of all places, newest first. */
export function ListCard({ view, usable }: { view: BackupView; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { session, queries } = useServices();
  const [restoring, setRestoring] = useState<StoredBackupView | null>(null);
  const [question, ask] = useConfirm();
  const askToDelete = ({ id, madeAt }: StoredBackupView): void =>
    ask({
      title: t('backup.remove.title'),
      text: <p>{t('backup.remove.text', { time: formatExact(locale, Date.parse(madeAt)) })}</p>,
      confirm: t('backup.remove.submit'),
      run: async () => {
        await session.call('DELETE /api/backup/:id', { params: { id } });
        await queries.invalidateQueries({ queryKey: ['backup'] });
      },
    });
  const { backups, faults } = view;
  return (
    <Card title={t('backup.list.title')}>
      {faults.map(({ place, reason }) => (
        <p key={place} className="mb-4 rounded-xl bg-fault-soft p-3">
          {t('backup.list.placeFault', { place: t(`backup.list.place.${place}`), reason: t(`backup.place.${reason}`) })}
        </p>
      ))}
      {backups.length === 0 ? (
        <p className="text-ink-soft">{t('backup.list.none')}</p>
      ) : (
        <ul className="-my-2 divide-y divide-line">
          {backups.map((backup) => (
            <Row
              key={backup.id}
              backup={backup}
              usable={usable}
              onRestore={() => setRestoring(backup)}
              onDelete={() => askToDelete(backup)}
            />
          ))}
        </ul>
      )}
      {backups.length > 0 && backups.every(({ place }) => place === 'station') && (
        <p className="mt-4 text-small text-ink-soft">{t('backup.list.ownDisk')}</p>
      )}
      {question}
      {restoring && <RestoreDialog backup={restoring} onClose={() => setRestoring(null)} />}
    </Card>
  );
}

function Row({
  backup,
  usable,
  onRestore,
  onDelete,
}: {
  backup: StoredBackupView;
  usable: boolean;
  onRestore: () => void;
  onDelete: () => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { id, madeAt, bytes, place, verifiedAt } = backup;
  const download = useCommand((session) => session.call('POST /api/backup/:id/link', { params: { id } }), {
    keep: (_queries, { path }) => location.assign(path),
  });
  return (
    <li className="py-3">
      <p className="font-strong">{formatExact(locale, Date.parse(madeAt))}</p>
      <p className="text-small text-ink-soft">
        {formatBytes(locale, bytes)}
        {dot}
        {t(`backup.list.place.${place}`)}
        {dot}
        {t(verifiedAt === null ? 'backup.list.unverified' : 'backup.list.verified')}
      </p>
      <div className="mt-1 -ml-3 flex flex-wrap *:px-3">
        <Button kind="quiet" busy={download.isPending} disabled={!usable} onClick={() => download.mutate()}>
          {t('backup.list.download')}
        </Button>
        <Button kind="quiet" disabled={!usable} onClick={onRestore}>
          {t('backup.list.restore')}
        </Button>
        <Button kind="quiet" disabled={!usable} onClick={onDelete}>
          {t('backup.list.delete')}
        </Button>
      </div>
      <ProblemNote error={download.error} />
    </li>
  );
}

function RestoreDialog({ backup, onClose }: { backup: StoredBackupView; onClose: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const [passphrase, setPassphrase] = useState('');
  const body = { backup: backup.id, passphrase };
  const inspect = useCommand((session) =>
    session.call('POST /api/backup/inspect', { body, timeoutMs: inspectTimeoutMs }),
  );
  const found = inspect.data;
  const restore = useCommand((session) =>
    session.call('POST /api/backup/restore', {
      body: { ...body, accept: found?.doubts ?? [] },
      timeoutMs: restoreTimeoutMs,
    }),
  );
  if (restore.data)
    return (
      <Dialog title={t('backup.restore.title')} onClose={() => undefined} actions={null}>
        <RestoreEnd restored={restore.data} />
      </Dialog>
    );
  const confirm = found !== undefined && found.doubts.length > 0 ? 'confirmAnyway' : 'confirm';
  const isBusy = inspect.isPending || restore.isPending;
  const problem = inspect.error ?? restore.error;
  return (
    <Dialog
      title={t('backup.restore.ask')}
      onClose={onClose}
      actions={
        <>
          <Button
            kind="danger"
            busy={isBusy}
            disabled={passphrase === ''}
            onClick={() => (found === undefined ? inspect.mutate() : restore.mutate())}
          >
            {t(found === undefined ? 'backup.restore.submit' : `backup.restore.${confirm}`)}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      <p>{t('backup.restore.askText', { time: formatExact(locale, Date.parse(found?.createdAt ?? backup.madeAt)) })}</p>
      {found === undefined ? (
        <Field
          label={t('backup.passphrase.label')}
          type="password"
          value={passphrase}
          onChange={(event) => setPassphrase(event.target.value)}
          fault={null}
        />
      ) : (
        <RestoreFacts found={found} />
      )}
      {inspect.isPending && <p role="status">{t('backup.restore.reading')}</p>}
      {restore.isPending && <p role="status">{t('backup.restore.checking')}</p>}
      <ProblemNote error={problem} />
    </Dialog>
  );
}
