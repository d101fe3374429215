import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceWifiPut } from '@station/protocol/rest';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { useWifiChecks, WifiFields, wifiForm } from '../../ui/wifi-fields.tsx';
import { WayPage } from './page-frame.tsx';
import { useProvisioning } from './provisioning.ts';
import { connectUsbDevice, type UsbDevice, type UsbFault, usbProblem } from './usb-device.ts';

/** Brings a device into the Wi-Fi over a cable, with Improv; its login is then entered manually. */
export function UsbPage() {
  const { t } = useTranslation();
  const problem = usbProblem();
  return (
    <WayPage title={t('provisioning.usb.title')} lead={t('provisioning.usb.lead')}>
      <Card title={t('provisioning.usb.card')}>
        {problem ? (
          <>
            <div className="flex gap-3 rounded-xl bg-attention-soft p-3">
              <ToneIcon tone="attention" className="mt-0.5" />
              <p>{t(`provisioning.usb.${problem}`)}</p>
            </div>
            <LinkButton href="/add/manual" className="mt-4">
              {t('provisioning.other.manual.title')}
            </LinkButton>
          </>
        ) : (
          <Usb />
        )}
      </Card>
    </WayPage>
  );
}

type State =
  | { kind: 'idle'; fault: UsbFault | null }
  | { kind: 'connecting' }
  | { kind: 'chosen'; device: UsbDevice; networks: readonly string[]; fault: UsbFault | null }
  | { kind: 'joined' };

function Usb() {
  const { t } = useTranslation();
  const [state, setState] = useState<State>({ kind: 'idle', fault: null });
  const device = useRef<UsbDevice | null>(null);
  const isGone = useRef(false);
  const release = async (): Promise<void> => {
    const open = device.current;
    device.current = null;
    await open?.close();
  };
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      void release();
    };
  }, []);
  const connect = async (): Promise<void> => {
    setState({ kind: 'connecting' });
    await release();
    const found = await connectUsbDevice();
    if (found === null || typeof found === 'string') return setState({ kind: 'idle', fault: found });
    device.current = found;
    if (isGone.current) return release();
    const networks = await found.networks();
    setState({ kind: 'chosen', device: found, networks, fault: null });
  };
  const join = async (chosen: Extract<State, { kind: 'chosen' }>, network: DeviceWifiPut): Promise<void> => {
    const result = await chosen.device.join(network);
    if (result !== 'joined' && result !== 'lost') return setState({ ...chosen, fault: result });
    await release();
    setState(result === 'joined' ? { kind: 'joined' } : { kind: 'idle', fault: result });
  };
  if (state.kind === 'joined') {
    return (
      <>
        <div role="status" className="mb-4 flex gap-3 rounded-xl bg-ok-soft p-3">
          <ToneIcon tone="ok" className="mt-0.5" />
          <p>{t('provisioning.usb.joined')}</p>
        </div>
        <div className="flex flex-wrap gap-3">
          <LinkButton href="/add/manual" kind="primary">
            {t('provisioning.usb.next')}
          </LinkButton>
          <Button onClick={() => setState({ kind: 'idle', fault: null })}>{t('provisioning.usb.another')}</Button>
        </div>
      </>
    );
  }
  if (state.kind === 'chosen') return <JoinForm state={state} onJoin={(network) => join(state, network)} />;
  return (
    <>
      <ol className="mb-4 list-decimal space-y-2 pl-6">
        {(['cable', 'choose', 'login'] as const).map((step) => (
          <li key={step}>{t(`provisioning.usb.steps.${step}`)}</li>
        ))}
      </ol>
      {state.kind === 'idle' && state.fault && <Fault fault={state.fault} />}
      <div className="flex flex-wrap items-center gap-4">
        <Button kind="primary" busy={state.kind === 'connecting'} onClick={() => void connect()}>
          {t('provisioning.usb.connect')}
        </Button>
        <p role="status" className="text-ink-soft">
          {state.kind === 'connecting' && t('provisioning.usb.connecting')}
        </p>
      </div>
    </>
  );
}

function JoinForm({
  state: { device, networks, fault },
  onJoin,
}: {
  state: Extract<State, { kind: 'chosen' }>;
  onJoin: (network: DeviceWifiPut) => Promise<void>;
}) {
  const { t } = useTranslation();
  const view = useProvisioning();
  const form = useForm({ ...wifiForm, checks: useWifiChecks(), send: onJoin });
  const own = view.kind === 'shown' ? (view.value.wifi?.ssid ?? null) : null;
  return (
    <form {...form.props} className="space-y-4">
      <p role="status">
        {device.name === '' ? t('provisioning.usb.nameless') : t('provisioning.usb.device', { name: device.name })}
      </p>
      <WifiFields form={form} ssid={own} known={networks} />
      {fault && !form.isBusy && <Fault fault={fault} />}
      <FormEnd form={form} submit={t('provisioning.usb.join')}>
        <p role="status" className="text-ink-soft">
          {form.isBusy && t('provisioning.usb.joining')}
        </p>
      </FormEnd>
    </form>
  );
}

function Fault({ fault }: { fault: UsbFault }) {
  const { t } = useTranslation();
  return (
    <div role="alert" className="mb-4 flex gap-3 rounded-xl bg-fault-soft p-3">
      <ToneIcon tone="fault" className="mt-0.5" />
      <p>{t(`provisioning.usb.fault.${fault}`)}</p>
    </div>
  );
}
