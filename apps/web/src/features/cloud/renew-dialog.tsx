import { useTranslation } from 'react-i18next';
import { useUnclaim } from './use-cloud.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';

/** Another code, for when the present one was seen by someone who should not have. */
export function RenewDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const renew = useUnclaim();
  return (
    <Dialog
      title={t('cloud.claim.renewTitle')}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={renew.isPending} onClick={() => renew.mutate(undefined, { onSuccess: onClose })}>
            {t('cloud.claim.renewConfirm')}
          </Button>
          <Button onClick={onClose}>{t('cloud.claim.renewKeep')}</Button>
        </>
      }
    >
      <p>{t('cloud.claim.renewHelp')}</p>
      {renew.error && <ProblemNote problem={renew.error} />}
    </Dialog>
  );
}
