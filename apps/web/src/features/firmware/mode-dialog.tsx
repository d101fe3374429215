import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { firmwareModes, type Firmware } from '@station/protocol/firmware-rollouts';
import { useChangeMode } from './use-firmware.ts';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';

/** Whether new firmware of a type goes out by itself. */
export function ModeDialog({ firmware, name, onClose }: { firmware: Firmware; name: string; onClose: () => void }) {
  const { t } = useTranslation();
  const [mode, setMode] = useState(firmware.mode);
  const change = useChangeMode(firmware.type);
  return (
    <Dialog
      title={t('firmware.type.modeDialog', { type: name })}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={change.isPending} onClick={() => change.mutate(mode, { onSuccess: onClose })}>
            {t('firmware.type.save')}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      <Choice
        legend={t('firmware.type.modeTitle')}
        name="mode"
        value={mode}
        onChange={setMode}
        options={firmwareModes.map((value) => ({
          value,
          label: t(`firmware.type.mode.${value}`),
          help: t(`firmware.type.modeHelp.${value}`),
        }))}
      />
      {change.error && <ProblemNote problem={change.error} />}
    </Dialog>
  );
}
