import { type SubmitEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Candidate, ProvisioningAdd, ProvisioningView } from '@station/protocol/provisioning';
import { useDevices } from '../../api/devices.ts';
import type { Problem } from '../../api/request.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { checkWifi, noWifiFaults } from '../../ui/wifi-check.ts';
import { WifiFields } from '../../ui/wifi-fields.tsx';
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
  const formId = useId();
  const devices = useDevices();
  const known = devices.kind === 'shown' ? devices.value.find(({ id }) => id === candidate.deviceId) : undefined;
  const [isNameMissing, setIsNameMissing] = useState(false);
  const zone = useZoneChoice(zoneId ?? known?.zoneId ?? null);
  const [isOther, setIsOther] = useState(wifi === null);
  const [isOpen, setIsOpen] = useState(false);
  const [faults, setFaults] = useState(noWifiFaults);
  const add = useAdd();
  // The station may have lost its network since the page was read.
  const asksWifi = isOther || wifi === null || add.error?.code === 'no_wifi_credentials';
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const wantedName = textOf(form, 'name').trim();
    const network = { ssid: textOf(form, 'ssid'), password: isOpen ? '' : textOf(form, 'password') };
    const found = asksWifi ? checkWifi(network, isOpen) : noWifiFaults;
    setIsNameMissing(wantedName === '');
    setFaults(found);
    const isGood = zone.check() && wantedName !== '' && found.ssid === null && found.password === null;
    if (!isGood || add.isPending) return;
    const toBody = async (): Promise<ProvisioningAdd> => ({
      externalId: candidate.externalId,
      ...(candidate.address !== null && { address: candidate.address }),
      name: wantedName,
      zoneId: await zone.resolve(),
      ...(asksWifi && { wifi: network }),
    });
    add.mutate(toBody, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={t('provisioning.dialog.title', { name: candidate.defaultName })}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" type="submit" form={formId} busy={add.isPending} onClick={() => undefined}>
            {t('provisioning.dialog.submit')}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      {candidate.deviceId !== null && <p className="text-ink-soft">{t('provisioning.dialog.again')}</p>}
      {candidate.protocol === 'improv' && <p className="text-ink-soft">{t('provisioning.dialog.improv')}</p>}
      <form id={formId} noValidate onSubmit={submit} className="space-y-4">
        <Field
          label={t('provisioning.dialog.name')}
          name="name"
          defaultValue={name ?? known?.name ?? candidate.defaultName}
          maxLength={100}
          autoComplete="off"
          autoFocus={!isAgain}
          fault={isNameMissing ? t('error.field.required') : null}
        />
        <ZoneField choice={zone} />
        <fieldset className="space-y-3 border-t border-line pt-4">
          <legend className="sr-only">{t('provisioning.dialog.wifi')}</legend>
          {asksWifi ? (
            <>
              {wifi === null && <p className="text-ink-soft">{t('provisioning.dialog.noWifi')}</p>}
              <WifiFields ssid={null} isOpen={isOpen} faults={faults} onOpen={setIsOpen} />
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
      </form>
      {add.error && <AddProblem problem={add.error} />}
    </Dialog>
  );
}

/** Codes that mean something of their own here. */
const words = { not_found: 'gone', conflict: 'conflict', unavailable: 'unavailable' } as const;

function AddProblem({ problem }: { problem: Problem }) {
  const { t } = useTranslation();
  const { code } = problem;
  if (code !== 'not_found' && code !== 'conflict' && code !== 'unavailable') return <ProblemNote problem={problem} />;
  return (
    <p role="alert" className="rounded-xl bg-fault-soft p-3">
      {t(`provisioning.dialog.${words[code]}`)}
    </p>
  );
}
