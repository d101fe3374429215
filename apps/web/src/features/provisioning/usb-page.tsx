import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { textOf } from '../../ui/form.ts';
import { LinkButton } from '../../ui/links.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { checkWifi, noWifiFaults } from '../../ui/wifi-check.ts';
import { WifiFields } from '../../ui/wifi-fields.tsx';
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
  | { kind: 'chosen'; device: UsbDevice; networks: readonly string[]; isJoining: boolean; fault: UsbFault | null }
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
    setState({ kind: 'chosen', device: found, networks, isJoining: false, fault: null });
  };
  const join = async (chosen: Extract<State, { kind: 'chosen' }>, network: { ssid: string; password: string }) => {
    setState({ ...chosen, isJoining: true, fault: null });
    const result = await chosen.device.join(network);
    if (result !== 'joined' && result !== 'lost') return setState({ ...chosen, isJoining: false, fault: result });
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
  if (state.kind === 'chosen') return <JoinForm state={state} onJoin={(network) => void join(state, network)} />;
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
  state: { device, networks, isJoining, fault },
  onJoin,
}: {
  state: Extract<State, { kind: 'chosen' }>;
  onJoin: (network: { ssid: string; password: string }) => void;
}) {
  const { t } = useTranslation();
  const view = useProvisioning();
  const [faults, setFaults] = useState(noWifiFaults);
  const [isOpen, setIsOpen] = useState(false);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const network = { ssid: textOf(form, 'ssid'), password: isOpen ? '' : textOf(form, 'password') };
    const found = checkWifi(network, isOpen);
    setFaults(found);
    if (found.ssid === null && found.password === null && !isJoining) onJoin(network);
  };
  const own = view.kind === 'shown' ? (view.value.wifi?.ssid ?? null) : null;
  return (
    <form noValidate onSubmit={submit} className="space-y-4">
      <p role="status">
        {device.name === '' ? t('provisioning.usb.nameless') : t('provisioning.usb.device', { name: device.name })}
      </p>
      <WifiFields ssid={own} known={networks} isOpen={isOpen} faults={faults} onOpen={setIsOpen} />
      {fault && <Fault fault={fault} />}
      <div className="flex flex-wrap items-center gap-4">
        <Button kind="primary" type="submit" busy={isJoining} onClick={() => undefined}>
          {t('provisioning.usb.join')}
        </Button>
        <p role="status" className="text-ink-soft">
          {isJoining && t('provisioning.usb.joining')}
        </p>
      </div>
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
