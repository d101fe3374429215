import { Download } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import { typeName } from '../../i18n/device-words.ts';
import { formatBytes } from '../../i18n/units.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { InstallDialog } from './install-dialog.tsx';
import { ModeDialog } from './mode-dialog.tsx';

/** One type of devices: what they run, what there is for them, and how new firmware goes out. */
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
  const [open, setOpen] = useState<'mode' | 'install' | null>(null);
  const { type, mode, images, installed } = firmware;
  const name = typeName(t, type);
  const close = (): void => setOpen(null);
  return (
    <Card title={name}>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Installed firmware={firmware} />
        <Available firmware={firmware} />
      </div>
      <div className="mt-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-t border-line pt-4">
        <div className="min-w-0 flex-1 basis-56">
          <h3 className="text-small text-ink-soft">{t('firmware.type.modeTitle')}</h3>
          <p>{t(`firmware.type.mode.${mode}`)}</p>
          <p className="text-small text-ink-soft">{t(`firmware.type.modeHelp.${mode}`)}</p>
        </div>
        {mayManage && (
          <Button
            aria-label={t('firmware.type.changeOf', { type: name })}
            disabled={!usable}
            onClick={() => setOpen('mode')}
          >
            {t('firmware.type.change')}
          </Button>
        )}
      </div>
      {mayManage && images.length > 0 && installed.length > 0 && (
        <Button
          className="mt-4 w-full sm:w-auto"
          aria-label={t('firmware.type.installOf', { type: name })}
          disabled={!usable}
          onClick={() => setOpen('install')}
        >
          <Download aria-hidden className="size-5" />
          {t('firmware.type.install')}
        </Button>
      )}
      {open === 'mode' && <ModeDialog firmware={firmware} name={name} onClose={close} />}
      {open === 'install' && <InstallDialog firmware={firmware} rollouts={rollouts} name={name} onClose={close} />}
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
