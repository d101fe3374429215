import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { certificatePath, isTrusted, readEncryption, secureTwin, type Encryption } from '../../api/encryption.ts';
import { Button, buttonLook } from '../../ui/button.tsx';
import { Select } from '../../ui/fields.tsx';
import { Link } from 'wouter';
import { deviceNameOf } from '../../i18n/browser-name.ts';
import { Entrance } from './entrance.tsx';

const devices = ['iphone', 'android', 'windows', 'mac', 'linux', 'firefox'] as const;
type DeviceKind = (typeof devices)[number];

/** How to make this device trust the certificate of the station. Open to everybody: phones visit it before anyone logs in. */
export function SecurePage() {
  const { t } = useTranslation();
  const view = useQuery({ queryKey: ['encryption'], queryFn: () => readEncryption(location, fetch) });
  const lead = view.isPending ? t('secure.checking') : view.isError ? t('secure.fault') : t(`secure.${view.data}`);
  return (
    <Entrance title={t('secure.title')} lead={lead}>
      {view.data === 'possible' && <Steps />}
      {view.data === 'on' && <Harmless encryption="on" />}
      <p className="mt-6">
        <Link href="/" className="inline-flex min-h-11 items-center text-accent underline">
          {t('app.notFound.home')}
        </Link>
      </p>
    </Entrance>
  );
}

function Steps() {
  const { t } = useTranslation();
  const [device, setDevice] = useState(() => kindOfDevice(navigator.userAgent));
  return (
    <>
      <Select
        label={t('secure.device')}
        value={device}
        onChange={(event) => setDevice(event.target.value as DeviceKind)}
        className="mb-6"
      >
        {devices.map((each) => (
          <option key={each} value={each}>
            {t(`secure.devices.${each}`)}
          </option>
        ))}
      </Select>
      <ol className="space-y-6">
        <Step nth={1} title={t('secure.download.title')}>
          <a href={certificatePath} download="ca.crt" className={buttonLook('plain')}>
            {t('secure.download.link')}
          </a>
        </Step>
        <Step nth={2} title={t('secure.install.title')}>
          <p>{t(`secure.install.${device}`)}</p>
        </Step>
        <Step nth={3} title={t('secure.open.title')}>
          <OpenSecure />
        </Step>
      </ol>
      <Harmless encryption="possible" />
    </>
  );
}

function Step({ nth, title, children }: { nth: number; title: string; children: ReactNode }) {
  return (
    <li className="flex gap-3">
      <span
        aria-hidden
        className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft font-strong text-accent"
      >
        {nth}
      </span>
      <div className="min-w-0 flex-1 space-y-2">
        <h2 className="pt-1 font-strong">{title}</h2>
        {children}
      </div>
    </li>
  );
}

/** A page at another port may not ask about the encrypted one. */
function OpenSecure() {
  const { t } = useTranslation();
  const twin = secureTwin({ ...placeOf(location), pathname: '/', search: '', hash: '' });
  const open = useMutation({
    mutationFn: (address: string) => isTrusted(address, fetch),
    onSuccess: (trusted, address) => trusted && location.assign(address),
  });
  if (twin === null) return <p>{t('secure.open.typed')}</p>;
  return (
    <>
      <Button kind="primary" busy={open.isPending} onClick={() => open.mutate(twin)}>
        {open.isPending ? t('secure.open.busy') : t('secure.open.link')}
      </Button>
      <p role="status">{open.data === false && t('secure.open.untrusted')}</p>
      <p className="text-ink-soft">{t('secure.open.bookmark', { address: twin })}</p>
    </>
  );
}

function Harmless({ encryption }: { encryption: Encryption }) {
  const { t } = useTranslation();
  return (
    <div className="mt-6 space-y-2 text-ink-soft">
      {encryption === 'on' && <p>{t('secure.other', { address: `http://${location.hostname}/secure` })}</p>}
      <p>{t('secure.harmless')}</p>
    </div>
  );
}

const placeOf = ({ protocol, hostname, port }: Location) => ({ protocol, hostname, port });

/** What the reader probably has; the page offers the others too. */
function kindOfDevice(userAgent: string): DeviceKind {
  const { browser, system } = deviceNameOf(userAgent);
  if (system === 'iPhone' || system === 'iPad') return 'iphone';
  if (system === 'Android') return 'android';
  if (browser === 'Firefox') return 'firefox';
  return system === 'Windows' ? 'windows' : system === 'macOS' ? 'mac' : 'linux';
}
