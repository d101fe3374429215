import { Download } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import { isNewer } from '@station/protocol/version';
import { formatBytes } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { useInstall } from './rollouts.ts';

/** One device type: installed and available firmware. */
export function TypeCard({
  firmware,
  rollouts,
  mayManage,
  usable,
}: {
  firmware: Firmware;
  rollouts: readonly Rollout[];
  mayManage: boolean;
  usable: boolean;
}) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const { type, images, installed } = firmware;
  const name = useTypeName()(type);
  return (
    <Card title={name}>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Installed firmware={firmware} />
        <Available firmware={firmware} />
      </div>
      {mayManage && images.length > 0 && installed.length > 0 && (
        <Button
          className="mt-4"
          aria-label={t('firmware.type.installOf', { type: name })}
          disabled={!usable}
          onClick={() => setOpen(true)}
        >
          <Download aria-hidden className="size-5" />
          {t('firmware.type.install')}
        </Button>
      )}
      {isOpen && <InstallDialog firmware={firmware} rollouts={rollouts} name={name} onClose={() => setOpen(false)} />}
    </Card>
  );
}

function Installed({ firmware: { images, installed } }: { firmware: Firmware }) {
  const { t } = useTranslation();
  const newest = images[0]?.version;
  return (
    <div>
      <h3 className="mb-1 text-small text-ink-soft">{t('firmware.type.installed')}</h3>
      {installed.length === 0 && <p>{t('firmware.type.noDevices')}</p>}
      <ul className="space-y-1">
        {installed.map(({ version, devices }) => (
          <li key={version} className="flex flex-wrap items-baseline gap-x-3">
            <span className="font-strong break-all tabular-nums">{version ?? t('firmware.type.notHeard')}</span>
            <span>{t('firmware.type.devices', { count: devices })}</span>
            {version !== null && version === newest && (
              <span className="text-small text-ink-soft">{t('firmware.type.newest')}</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Available({ firmware: { images } }: { firmware: Firmware }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const [newest] = images;
  return (
    <div>
      <h3 className="mb-1 text-small text-ink-soft">{t('firmware.type.available')}</h3>
      {newest === undefined ? (
        <p className="text-ink-soft">{t('firmware.type.noImages')}</p>
      ) : (
        <>
          <p className="font-strong break-all tabular-nums">{newest.version}</p>
          <p className="text-small text-ink-soft">
            <Sentence
              text={(time) => t('firmware.type.image', { size: formatBytes(locale, newest.size), time })}
              slot={<TimeAgo at={newest.readyAt} />}
            />
          </p>
          {images.length > 1 && (
            <p className="text-small text-ink-soft">{t('firmware.type.more', { count: images.length - 1 })}</p>
          )}
        </>
      )}
    </div>
  );
}

/** Chooses the version for the devices of a type; also an older one, after a warning. */
function InstallDialog({
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
  const newest = newestOf(installed);
  const isOlder = newest !== null && isNewer(newest, version);
  const wasStopped = rollouts.some((one) => one.type === type && one.version === version && one.state === 'stopped');
  const noteOf = (one: string): string | null => {
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
          help: [formatBytes(locale, image.size), noteOf(image.version)].filter((part) => part !== null).join(dot),
        }))}
      />
      <div role="status" className="space-y-3 empty:hidden">
        {isOlder && <Warning>{t('firmware.install.older', { version: newest })}</Warning>}
        {wasStopped && <Warning>{t('firmware.install.failedBefore')}</Warning>}
      </div>
      <p className="text-small text-ink-soft">{t('firmware.install.how')}</p>
      <ProblemNote error={install.error} />
    </Dialog>
  );
}

/** The newest version that a device runs; null: none has reported its version. */
const newestOf = (installed: Firmware['installed']): string | null =>
  installed.reduce<string | null>(
    (newest, { version }) => (version !== null && isNewer(version, newest) ? version : newest),
    null,
  );

function Warning({ children }: { children: string }) {
  return (
    <p className="flex gap-3 rounded-xl bg-attention-soft p-3">
      <ToneIcon tone="attention" className="mt-0.5" />
      <span>{children}</span>
    </p>
  );
}
