import { useTranslation } from 'react-i18next';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { useDevice } from '../../api/devices.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { useControlledDevice } from './device-view.ts';
import { DeviceState } from './now-card.tsx';

/** The controls of a device over the page it was tapped on, and the way to its own page. */
export function DeviceSheet({
  device: tapped,
  type,
  usable,
  onClose,
}: {
  device: Device;
  type: DeviceType | undefined;
  usable: boolean;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const device = useDevice(tapped.id) ?? tapped;
  const shown = useControlledDevice(device, type);
  return (
    <Dialog
      isSheet
      title={device.name}
      onClose={onClose}
      actions={
        <>
          <LinkButton href={`/devices/${device.id}`} kind="primary">
            {t('device.more')}
          </LinkButton>
          <Button onClick={onClose}>{t('action.dismiss')}</Button>
        </>
      }
    >
      <DeviceState device={device} shown={shown} usable={usable && device.status !== 'offline'} />
    </Dialog>
  );
}
