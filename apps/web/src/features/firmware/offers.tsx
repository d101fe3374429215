import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { normalizeChip } from '@station/protocol/firmware-image';
import type { Firmware } from '@station/protocol/firmware-rollouts';
import { isNewer } from '@station/protocol/version';
import { isManager } from '@station/protocol/roles';
import { useUser } from '../../api/services.ts';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { useFirmwareTypes, useInstall } from './rollouts.ts';

/* What the list of devices shows and does of firmware. */

type OfferedTo = Pick<Device, 'type' | 'chip' | 'firmwareVersion'>;

/** The newest version that is newer than the one of the device and has a file for it; null: none. */
function offerFor(device: OfferedTo, firmware: Firmware | undefined): string | null {
  const { chip, firmwareVersion } = device;
  const image = firmware?.images.find(
    ({ chips }) => chips === undefined || (chip !== null && chips.includes(normalizeChip(chip))),
  );
  return image && firmwareVersion !== null && isNewer(image.version, firmwareVersion) ? image.version : null;
}

export function useFirmwareOffers(): (device: OfferedTo) => string | null {
  const view = useFirmwareTypes();
  const types = view.kind === 'shown' ? view.value : null;
  const byType = useMemo(() => new Map((types ?? []).map((one) => [one.type, one] as const)), [types]);
  return useCallback((device) => offerFor(device, byType.get(device.type)), [byType]);
}

/** The update that waits for one device. */
export function FirmwareOffer({ device }: { device: Device }) {
  const { t } = useTranslation();
  const version = useFirmwareOffers()(device);
  const [isOpen, setOpen] = useState(false);
  if (version === null) return null;
  return (
    <>
      <Button className="mt-4" onClick={() => setOpen(true)}>
        {t('firmware.device.offered', { version })}
      </Button>
      {isOpen && <FirmwareDialog devices={[device]} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Starts the rollouts that the chosen devices need: firmware goes to all devices of a type, in waves. */
export function FirmwareDialog({ devices, onClose }: { devices: readonly Device[]; onClose: () => void }) {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const view = useFirmwareTypes();
  const offerOf = useFirmwareOffers();
  const wanted = new Map(
    devices.flatMap((one) => {
      const version = offerOf(one);
      return version === null ? [] : [[one.type, version] as const];
    }),
  );
  const countOf = (type: string, version: string): number =>
    (view.kind === 'shown' ? view.value : [])
      .find((one) => one.type === type)
      ?.installed.reduce((sum, one) => sum + (isNewer(version, one.version) ? one.devices : 0), 0) ?? 0;
  return (
    <Dialog
      title={t('firmware.many.title')}
      onClose={onClose}
      actions={<Button onClick={onClose}>{t('firmware.many.close')}</Button>}
    >
      <p>{t(wanted.size === 0 ? 'firmware.many.none' : 'firmware.many.help')}</p>
      <ul className="divide-y divide-line">
        {[...wanted].map(([type, version]) => (
          <TypeRow key={type} type={type} version={version} count={countOf(type, version)} mayManage={mayManage} />
        ))}
      </ul>
    </Dialog>
  );
}

function TypeRow({
  type,
  version,
  count,
  mayManage,
}: {
  type: string;
  version: string;
  count: number;
  mayManage: boolean;
}) {
  const { t } = useTranslation();
  const name = useTypeName()(type);
  const install = useInstall(type);
  return (
    <li className="py-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="min-w-0">
          <p className="font-strong break-words">{t('home.firmware.one', { type: name, version })}</p>
          <p className="text-small text-ink-soft">{t('firmware.many.count', { count })}</p>
        </div>
        <div role="status">
          {install.isSuccess && (
            <p className="flex items-center gap-2 text-ok">
              <ToneIcon tone="ok" />
              {t('firmware.many.started')}
            </p>
          )}
        </div>
        {mayManage && !install.isSuccess && (
          <Button
            kind="primary"
            busy={install.isPending}
            aria-label={t('firmware.many.startOf', { type: name })}
            onClick={() => install.mutate(version)}
          >
            {t('firmware.many.start')}
          </Button>
        )}
      </div>
      <ProblemNote error={install.error} />
    </li>
  );
}
