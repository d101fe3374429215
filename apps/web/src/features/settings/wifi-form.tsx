import { useTranslation } from 'react-i18next';
import type { DeviceWifiPut } from '@station/protocol/rest';
import { Button } from '../../ui/button.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { useWifiChecks, WifiFields, wifiForm } from '../../ui/wifi-fields.tsx';

/** Name and password of a network. An open one must be confirmed. */
export function WifiForm<Answer>({
  ssid,
  submit,
  usable,
  send,
  onDone,
  onCancel,
}: {
  /** The name to begin with. */
  ssid: string | null;
  /** What the button says. */
  submit: string;
  usable: boolean;
  send: (network: DeviceWifiPut) => Promise<Answer>;
  onDone: (answer: Answer) => void;
  onCancel: () => void;
}) {
  const { t } = useTranslation();
  const form = useForm({ ...wifiForm, checks: useWifiChecks(), usable, send, onDone });
  return (
    <form {...form.props} className="space-y-4 border-t border-line pt-4">
      <WifiFields form={form} ssid={ssid} />
      <FormEnd form={form} submit={submit} usable={usable}>
        <Button onClick={onCancel}>{t('action.cancel')}</Button>
      </FormEnd>
    </form>
  );
}
