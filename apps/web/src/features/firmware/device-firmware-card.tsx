import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Device } from '@station/protocol/devices';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { DeviceBar } from './device-bar.tsx';
import { useRollout, useRollouts } from './use-firmware.ts';
import { Card } from '../../ui/card.tsx';

/** While the device is being updated: how far it is. Nothing otherwise. */
export function FirmwareCard({ device }: { device: Device }) {
  const rollouts = useRollouts();
  if (rollouts.kind !== 'shown') return null;
  // Also of one that was stopped: a device that had begun goes on to its end.
  const under = rollouts.value.filter(({ type, devices }) => type === device.type && devices.updating > 0);
  return under.map((rollout) => <UnderWay key={rollout.id} rollout={rollout} device={device} />);
}

function UnderWay({ rollout, device }: { rollout: Rollout; device: Device }) {
  const { t } = useTranslation();
  const { id, version } = rollout;
  const details = useRollout(id);
  if (details.kind !== 'shown') return null;
  const target = details.value.targets.find(({ deviceId }) => deviceId === device.id);
  if (target?.state !== 'updating') return null;
  return (
    <Card
      title={t('firmware.device.title')}
      aside={
        <Link href="/device-firmware" className="inline-flex min-h-11 items-center rounded-xl text-accent underline">
          {t('firmware.device.page')}
        </Link>
      }
    >
      <p>
        {device.firmwareVersion === null
          ? t('firmware.device.toFirst', { version })
          : t('firmware.device.to', { from: device.firmwareVersion, version })}
      </p>
      <DeviceBar rollout={rollout} target={target} device={device} name={device.name} />
    </Card>
  );
}
