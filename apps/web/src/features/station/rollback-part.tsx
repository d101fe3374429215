import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import { isNewer } from '@station/protocol/version';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import type { Manage } from './manage.ts';
import { useRollback } from './release-commands.ts';

/** The release before, and the way back to it. `target` is null when its version was never recorded. */
export function RollbackPart({ status, target, manage }: { status: Status; target: string | null; manage: Manage }) {
  const { t } = useTranslation();
  const rollback = useRollback();
  const [asking, setAsking] = useState(false);
  // After a return to an older release, the one before is the newer one.
  const isForward = isNewer(target, status.currentVersion);
  return (
    <div className="mt-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-t border-line pt-4">
      <p className="min-w-0 flex-1 basis-56 text-ink-soft">
        {target === null ? t('station.release.previousUnknown') : t('station.release.previous', { version: target })}
      </p>
      <Button
        busy={rollback.isPending}
        disabled={!manage.possible}
        className="w-full sm:w-auto"
        onClick={() => setAsking(true)}
      >
        {target === null
          ? t('station.release.backUnknown')
          : t(isForward ? 'station.release.forthAgain' : 'station.release.back', { version: target })}
      </Button>
      {rollback.error && <ProblemNote problem={rollback.error} />}
      {asking && (
        <RollbackDialog
          current={status.currentVersion}
          target={target}
          isForward={isForward}
          isHere={!status.conditions.some((condition) => condition.id === 'rollback_unavailable')}
          onCancel={() => setAsking(false)}
          onConfirm={() => {
            rollback.mutate();
            setAsking(false);
          }}
        />
      )}
    </div>
  );
}

function RollbackDialog({
  current,
  target,
  isForward,
  isHere,
  onCancel,
  onConfirm,
}: {
  current: string | null;
  target: string | null;
  isForward: boolean;
  /** Whether its images are on the station, so that no network is needed. */
  isHere: boolean;
  onCancel: () => void;
  onConfirm: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Dialog
      title={target === null ? t('station.rollback.titleUnknown') : t('station.rollback.title', { version: target })}
      onClose={onCancel}
      actions={
        <>
          <Button kind="primary" onClick={onConfirm}>
            {target === null
              ? t('station.rollback.confirmUnknown')
              : t('station.rollback.confirm', { version: target })}
          </Button>
          <Button onClick={onCancel}>
            {current === null ? t('action.cancel') : t('station.rollback.keep', { current })}
          </Button>
        </>
      }
    >
      <p>{t('station.rollback.away')}</p>
      {current !== null && !isForward && <p>{t('station.rollback.held', { current })}</p>}
      {isHere && target !== null && <p>{t('station.rollback.offline', { version: target })}</p>}
    </Dialog>
  );
}
