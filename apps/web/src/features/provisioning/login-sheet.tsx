import { Check, Copy } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceLoginSheet } from '@station/protocol/provisioning';
import { copyText } from '../../ui/copy-text.ts';
import { QrCode } from '../../ui/qr-code.tsx';

/** What a person enters into the device's own page, each value to be copied, and all of it as a QR code. */
export function LoginSheet({ name, login }: { name: string; login: DeviceLoginSheet }) {
  const { t } = useTranslation();
  const id = useId();
  const sheet = useRef<HTMLElement>(null);
  // The button that asked for it is gone.
  useEffect(() => sheet.current?.focus(), []);
  const values = [
    { what: t('provisioning.sheet.host'), value: login.mqtt_host },
    { what: t('provisioning.sheet.port'), value: String(login.mqtt_port) },
    { what: t('provisioning.sheet.deviceId'), value: login.device_id },
    { what: t('provisioning.sheet.token'), value: login.device_token },
    { what: t('provisioning.sheet.stationId'), value: login.station_id },
  ];
  return (
    <section
      ref={sheet}
      tabIndex={-1}
      aria-labelledby={id}
      className="rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6"
    >
      <h3 id={id} className="font-strong break-words">
        {t('provisioning.sheet.title', { name })}
      </h3>
      <p className="mt-1 mb-4 text-small text-ink-soft">{t('provisioning.sheet.help')}</p>
      <div className="grid items-start gap-6 sm:grid-cols-[1fr_minmax(0,11rem)]">
        <dl className="divide-y divide-line">
          {values.map(({ what, value }) => (
            <Value key={what} what={what} value={value} />
          ))}
        </dl>
        <div className="mx-auto w-full max-w-48">
          <QrCode text={JSON.stringify(login)} label={t('provisioning.sheet.qr', { name })} />
          <p className="mt-2 text-center text-small text-ink-soft">{t('provisioning.sheet.qrHelp')}</p>
        </div>
      </div>
    </section>
  );
}

function Value({ what, value }: { what: string; value: string }) {
  const { t } = useTranslation();
  const shown = useRef<HTMLSpanElement>(null);
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no');
  const copy = async (): Promise<void> => setCopied((await copyText(value, shown.current)) ? 'yes' : 'refused');
  return (
    <div className="py-2 first:pt-0">
      <dt className="text-small text-ink-soft">{what}</dt>
      <dd className="flex items-center gap-3">
        <span ref={shown} className="min-w-0 flex-1 font-mono break-all select-all">
          {value}
        </span>
        <button
          type="button"
          aria-label={t('provisioning.sheet.copy', { what })}
          onClick={() => void copy()}
          className="grid size-11 shrink-0 place-items-center rounded-xl text-accent hover:bg-accent-soft"
        >
          {copied === 'yes' ? <Check aria-hidden className="size-5" /> : <Copy aria-hidden className="size-5" />}
        </button>
      </dd>
      <dd role="status" className="text-small text-ink-soft empty:hidden">
        {copied === 'yes' && t('provisioning.sheet.copied')}
        {copied === 'refused' && t('provisioning.sheet.notCopied')}
      </dd>
    </div>
  );
}
