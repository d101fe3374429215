import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import { isNewer } from '@station/protocol/version';
import { formatBytes } from '../../i18n/units.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { useInstall } from './use-firmware.ts';

/** Which version the devices of a type shall have; also an older one, after a warning. */
export function InstallDialog({
  firmware: { type, images, installed },
  rollouts,
  name,
  onClose,
}: {
  firmware: Firmware;
  rollouts: readonly Rollout[];
  name: string;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const install = useInstall(type);
  const total = installed.reduce((sum, { devices }) => sum + devices, 0);
  const runOn = (version: string): number => installed.find((one) => one.version === version)?.devices ?? 0;
  const isEverywhere = (version: string): boolean => runOn(version) === total;
  const [version, setVersion] = useState(
    () => (images.find((image) => !isEverywhere(image.version)) ?? images[0])?.version ?? '',
  );
  const newestRunning = installed.reduce<string | null>(
    (newest, one) => (one.version !== null && isNewer(one.version, newest) ? one.version : newest),
    null,
  );
  const isOlder = newestRunning !== null && isNewer(newestRunning, version);
  const wasStopped = rollouts.some((one) => one.type === type && one.version === version && one.state === 'stopped');
  const says = (one: string): string | null => {
    if (isEverywhere(one)) return t('firmware.install.everywhere');
    return runOn(one) > 0 ? t('firmware.install.runsOn', { count: runOn(one) }) : null;
  };
  return (
    <Dialog
      title={t('firmware.install.title', { type: name })}
      onClose={onClose}
      actions={
        <>
          <Button
            kind="primary"
            busy={install.isPending}
            disabled={isEverywhere(version)}
            onClick={() => install.mutate(version, { onSuccess: onClose })}
          >
            {t(isOlder ? 'firmware.install.confirmOlder' : 'firmware.install.confirm', { version })}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      <Choice
        legend={t('firmware.install.which')}
        name="version"
        value={version}
        onChange={setVersion}
        options={images.map((image) => ({
          value: image.version,
          label: image.version,
          help: [formatBytes(locale, image.size), says(image.version)].filter((part) => part !== null).join(dot),
        }))}
      />
      <div role="status" className="space-y-3 empty:hidden">
        {isOlder && <Warning>{t('firmware.install.older', { version: newestRunning })}</Warning>}
        {wasStopped && <Warning>{t('firmware.install.failedBefore')}</Warning>}
      </div>
      <p className="text-small text-ink-soft">{t('firmware.install.how')}</p>
      {install.error && <ProblemNote problem={install.error} />}
    </Dialog>
  );
}

function Warning({ children }: { children: string }) {
  return (
    <p className="flex gap-3 rounded-xl bg-attention-soft p-3">
      <ToneIcon tone="attention" className="mt-0.5" />
      <span>{children}</span>
    </p>
  );
}
