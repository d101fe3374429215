import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Candidate, ProvisioningView } from '@station/protocol/provisioning';
import { nameText } from '@station/protocol/text-fields';
import { useDevices } from '../../api/devices.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { useWifiChecks, WifiFields, wifiForm } from '../../ui/wifi-fields.tsx';
import { useZoneChoice, ZoneField } from '../../ui/zone-field.tsx';
import { useAdd } from './provisioning.ts';

/** The device that somebody chose. */
export type Wanted = {
  candidate: Pick<Candidate, 'externalId' | 'defaultName' | 'deviceId' | 'protocol'> & {
    /** Null: it was not seen, or several say that they are this device. */
    address: string | null;
  };
  /** Of a try that failed; null: its own. */
  name: string | null;
  zoneId: string | null;
  /** A try failed: its Wi-Fi may have been wrong, so another one is offered first. */
  isAgain: boolean;
};

/** Name, zone and Wi-Fi of a device. The password of another network stays in the form alone. */
export function AddDialog({
  wanted: { candidate, name, zoneId, isAgain },
  wifi,
  onClose,
}: {
  wanted: Wanted;
  wifi: ProvisioningView['wifi'];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const devices = useDevices();
  const known = devices.kind === 'shown' ? devices.value.find(({ id }) => id === candidate.deviceId) : undefined;
  const zone = useZoneChoice(zoneId ?? known?.zoneId ?? null);
  const [isOther, setIsOther] = useState(wifi === null);
  const add = useAdd();
  const form = useForm({
    body: { properties: { ...wifiForm.body.properties, name: nameText } },
    fields: ['name', ...wifiForm.fields],
    checks: useWifiChecks(),
    check: zone.check,
    send: async ({ name: wantedName, ssid, password }) =>
      add.mutateAsync({
        externalId: candidate.externalId,
        ...(candidate.address !== null && { address: candidate.address }),
        name: wantedName,
        zoneId: await zone.resolve(),
        ...(ssid !== '' && { wifi: { ssid, password } }),
      }),
    onDone: onClose,
    explain: ({ code }) =>
      code === 'not_found' || code === 'conflict' || code === 'unavailable'
        ? t(`provisioning.dialog.${words[code]}`)
        : null,
  });
  // The station may have lost its network since the page was read.
  const asksWifi = isOther || wifi === null || form.problem?.code === 'no_wifi_credentials';
  return (
    <FormDialog
      form={form}
      title={t('provisioning.dialog.title', { name: candidate.defaultName })}
      lead={
        <>
          {candidate.deviceId !== null && <p className="text-ink-soft">{t('provisioning.dialog.again')}</p>}
          {candidate.protocol === 'improv' && <p className="text-ink-soft">{t('provisioning.dialog.improv')}</p>}
        </>
      }
      submit={t('provisioning.dialog.submit')}
      onClose={onClose}
    >
      <Field
        label={t('provisioning.dialog.name')}
        {...form.field('name')}
        defaultValue={name ?? known?.name ?? candidate.defaultName}
        autoFocus={!isAgain}
      />
      <ZoneField choice={zone} />
      <fieldset className="space-y-3 border-t border-line pt-4">
        <legend className="sr-only">{t('provisioning.dialog.wifi')}</legend>
        {asksWifi ? (
          <>
            {wifi === null && <p className="text-ink-soft">{t('provisioning.dialog.noWifi')}</p>}
            <WifiFields form={form} ssid={null} />
          </>
        ) : (
          <p>
            <Sentence
              text={(mark) => t('provisioning.dialog.joins', { ssid: mark })}
              slot={<span className="font-strong break-words">{wifi.ssid}</span>}
            />
          </p>
        )}
        {wifi !== null && (
          <Button kind="quiet" className="-ml-4" onClick={() => setIsOther(!isOther)}>
            {isOther ? t('provisioning.dialog.own', { ssid: wifi.ssid }) : t('provisioning.dialog.other')}
          </Button>
        )}
      </fieldset>
    </FormDialog>
  );
}

/** Codes that mean something of their own here. */
const words = { not_found: 'gone', conflict: 'conflict', unavailable: 'unavailable' } as const;
