import { useTranslation } from 'react-i18next';
import type { DeviceLoginSheet } from '@station/protocol/provisioning';
import { QrCode } from '../../ui/qr-code.tsx';
import { CopiedValue } from './copied-value.tsx';
import { ShownOnce } from './shown-once.tsx';

/** What a person enters into the device's own page, each value to be copied, and all of it as a QR code. */
export function LoginSheet({ name, login }: { name: string; login: DeviceLoginSheet }) {
  const { t } = useTranslation();
  const values = [
    { what: t('provisioning.sheet.host'), value: login.mqtt_host },
    { what: t('provisioning.sheet.port'), value: String(login.mqtt_port) },
    { what: t('provisioning.sheet.deviceId'), value: login.device_id },
    { what: t('provisioning.sheet.token'), value: login.device_token },
    { what: t('provisioning.sheet.stationId'), value: login.station_id },
  ];
  return (
    <ShownOnce heading="h3" title={t('provisioning.sheet.title', { name })} help={t('provisioning.sheet.help')}>
      <div className="grid items-start gap-6 sm:grid-cols-[1fr_minmax(0,11rem)]">
        <dl className="divide-y divide-line">
          {values.map(({ what, value }) => (
            <CopiedValue key={what} what={what} value={value} />
          ))}
        </dl>
        <div className="mx-auto w-full max-w-48">
          <QrCode text={JSON.stringify(login)} label={t('provisioning.sheet.qr', { name })} />
          <p className="mt-2 text-center text-small text-ink-soft">{t('provisioning.sheet.qrHelp')}</p>
        </div>
      </div>
    </ShownOnce>
  );
}
