import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** Asks before a page with changes that are not saved is left. */
export function LeaveDialog({ onLeave, onStay }: { onLeave: () => void; onStay: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      title={t('automations.leave.title')}
      onClose={onStay}
      actions={
        <>
          <Button kind="primary" onClick={onLeave}>
            {t('automations.leave.confirm')}
          </Button>
          <Button onClick={onStay}>{t('automations.leave.keep')}</Button>
        </>
      }
    >
      <p>{t('automations.leave.help')}</p>
    </Dialog>
  );
}
