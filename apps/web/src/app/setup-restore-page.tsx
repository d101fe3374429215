import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type FoundBackup, SetupRestore } from '../features/backup/setup-restore.tsx';
import { Entrance } from '../features/session/entrance.tsx';
import { Button } from '../ui/button.tsx';

/** "Restore a backup" on the first page of a new station. */
export function SetupRestorePage({ found, onBack }: { found: FoundBackup | null; onBack: () => void }) {
  const { t } = useTranslation();
  const [isRestored, setIsRestored] = useState(false);
  return (
    <Entrance title={t('backup.restore.title')} lead={t('backup.restore.lead')}>
      <SetupRestore found={found} onRestored={() => setIsRestored(true)} />
      {!isRestored && (
        <Button kind="quiet" className="mt-4 w-full" onClick={onBack}>
          {t('backup.restore.back')}
        </Button>
      )}
    </Entrance>
  );
}
