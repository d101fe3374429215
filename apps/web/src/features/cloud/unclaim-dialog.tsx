import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import { useUnclaim } from './use-cloud.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';

/** What ends with remote access, and what does not. */
export function UnclaimDialog({ status: { host, outbox }, onClose }: { status: CloudStatus; onClose: () => void }) {
  const { t } = useTranslation();
  const unclaim = useUnclaim();
  const lost = outbox.pending + outbox.setAside;
  return (
    <Dialog
      title={t('cloud.unclaim.title', { host: host ?? '' })}
      onClose={onClose}
      actions={
        <>
          <Button
            kind="primary"
            busy={unclaim.isPending}
            onClick={() => unclaim.mutate(undefined, { onSuccess: onClose })}
          >
            {t('cloud.unclaim.confirm')}
          </Button>
          <Button onClick={onClose}>{t('cloud.unclaim.keep')}</Button>
        </>
      }
    >
      <p>{t('cloud.unclaim.away')}</p>
      {lost > 0 && <p>{t('cloud.unclaim.waiting', { count: lost })}</p>}
      <p>{t('cloud.unclaim.people')}</p>
      <p>{t('cloud.unclaim.there')}</p>
      {unclaim.error && <ProblemNote problem={unclaim.error} />}
    </Dialog>
  );
}
