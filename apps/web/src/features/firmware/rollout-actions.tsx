import { Check, CircleStop, Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { typeName } from '../../i18n/device-words.ts';
import { useRolloutAction } from './use-firmware.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';

/** Approve, pause, resume, stop: what can be done in the state it is in. */
export function RolloutActions({ rollout, usable }: { rollout: Rollout; usable: boolean }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const act = useRolloutAction(rollout.id);
  const busy = act.isPending;
  const isWaiting = rollout.state === 'waiting_approval';
  const name = typeName(t, rollout.type);
  return (
    <section
      aria-label={t('firmware.rollout.title', { type: name, version: rollout.version })}
      className="mt-4 flex flex-col gap-3 border-t border-line pt-4 sm:flex-row sm:flex-wrap"
    >
      {isWaiting && (
        <Button kind="primary" busy={busy} disabled={!usable} onClick={() => act.mutate('approve')}>
          <Check aria-hidden className="size-5" />
          {t('firmware.rollout.approve')}
        </Button>
      )}
      {rollout.state === 'running' && (
        <Button busy={busy} disabled={!usable} onClick={() => act.mutate('pause')}>
          <Pause aria-hidden className="size-5" />
          {t('firmware.rollout.pause')}
        </Button>
      )}
      {rollout.state === 'paused' && (
        <Button kind="primary" busy={busy} disabled={!usable} onClick={() => act.mutate('resume')}>
          <Play aria-hidden className="size-5" />
          {t('firmware.rollout.resume')}
        </Button>
      )}
      <Button disabled={!usable || busy} onClick={() => setAsking(true)}>
        <CircleStop aria-hidden className="size-5" />
        {t(isWaiting ? 'firmware.rollout.reject' : 'firmware.rollout.stop')}
      </Button>
      {act.error && !asking && (
        <div className="basis-full">
          <ProblemNote problem={act.error} />
        </div>
      )}
      {asking && (
        <StopDialog rollout={rollout} name={name} isWaiting={isWaiting} act={act} onClose={() => setAsking(false)} />
      )}
    </section>
  );
}

function StopDialog({
  rollout: { version },
  name,
  isWaiting,
  act,
  onClose,
}: {
  rollout: Rollout;
  name: string;
  isWaiting: boolean;
  act: ReturnType<typeof useRolloutAction>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Dialog
      title={t(isWaiting ? 'firmware.rollout.stopDialog.rejectTitle' : 'firmware.rollout.stopDialog.title', {
        version,
        type: name,
      })}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={act.isPending} onClick={() => act.mutate('abort', { onSuccess: onClose })}>
            {t(isWaiting ? 'firmware.rollout.stopDialog.rejectConfirm' : 'firmware.rollout.stopDialog.confirm')}
          </Button>
          <Button onClick={onClose}>
            {t(isWaiting ? 'firmware.rollout.stopDialog.rejectKeep' : 'firmware.rollout.stopDialog.keep')}
          </Button>
        </>
      }
    >
      <p>{t(isWaiting ? 'firmware.rollout.stopDialog.nothing' : 'firmware.rollout.stopDialog.underWay')}</p>
      <p>{t('firmware.rollout.stopDialog.again')}</p>
      {act.error && <ProblemNote problem={act.error} />}
    </Dialog>
  );
}
