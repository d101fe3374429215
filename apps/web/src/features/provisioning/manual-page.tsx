import { type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearch } from 'wouter';
import type { DeviceLoginSheet, ManualAdd, Provisioning } from '@station/protocol/provisioning';
import { isExternalId } from '@station/protocol/topics';
import { isTypeName } from '@station/protocol/type-names';
import { useDeviceTypes } from '../../api/devices.ts';
import { typeName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useZoneChoice, ZoneField } from '../../ui/zone-field.tsx';
import type { DeviceParts } from './device-parts.ts';
import { useFollowProvisioning } from './follow-provisioning.ts';
import { LoginSheet } from './login-sheet.tsx';
import { isUnderWay } from './nearby.ts';
import { WayPage } from './page-frame.tsx';
import { ProgressCard } from './progress-card.tsx';
import { useManualAdd, useProvisioning } from './provisioning.ts';
import { ScanLabel } from './scan-label.tsx';

type Made = { provisioning: Provisioning; login: DeviceLoginSheet };

/** Makes a login that a person enters into the device's own page, and waits for the device. */
export function ManualPage({ parts }: { parts: DeviceParts }) {
  const { t } = useTranslation();
  // The login is a secret: it goes with the page.
  const [made, setMade] = useState<Made | null>(null);
  return (
    <WayPage title={t('provisioning.manual.title')} lead={t('provisioning.manual.lead')}>
      {made ? (
        <MadeLogin key={made.provisioning.id} made={made} parts={parts} onAnother={() => setMade(null)} />
      ) : (
        <ManualForm onMade={setMade} />
      )}
    </WayPage>
  );
}

const otherType = '*';

function ManualForm({ onMade }: { onMade: (made: Made) => void }) {
  const { t } = useTranslation();
  const asked = new URLSearchParams(useSearch());
  const types = useDeviceTypes();
  const [externalId, setExternalId] = useState(asked.get('id') ?? '');
  const [type, setType] = useState(asked.get('type') ?? '');
  const [name, setName] = useState(asked.get('name') ?? '');
  const [faults, setFaults] = useState({ id: false, type: false });
  const zone = useZoneChoice(null);
  const add = useManualAdd();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const found = { id: !isExternalId(externalId.trim()), type: !isTypeName(type.trim()) };
    setFaults(found);
    if (!zone.check() || found.id || found.type || add.isPending) return;
    const toBody = async (): Promise<ManualAdd> => ({
      devices: [
        {
          externalId: externalId.trim(),
          type: type.trim(),
          ...(name.trim() !== '' && { name: name.trim() }),
          zoneId: await zone.resolve(),
        },
      ],
    });
    add.mutate(toBody, { onSuccess: ([first]) => first && onMade(first) });
  };
  if (types === null) return <Skeleton className="h-96 rounded-2xl" />;
  return (
    <Card title={t('provisioning.manual.title')}>
      <ScanLabel
        onRead={(label) => {
          setExternalId(label.externalId);
          if (label.type !== null) setType(label.type);
          setFaults({ id: false, type: false });
        }}
      />
      <form noValidate onSubmit={submit} className="mt-4 space-y-4">
        <Field
          label={t('provisioning.manual.id')}
          help={t('provisioning.manual.idHelp')}
          value={externalId}
          maxLength={64}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          onChange={({ target }) => setExternalId(target.value)}
          fault={faults.id ? t('provisioning.manual.idWrong') : null}
        />
        <TypeField
          type={type}
          known={[...types.names()]}
          isWrong={faults.type}
          onChange={(chosen) => {
            setType(chosen);
            setFaults((before) => ({ ...before, type: false }));
          }}
        />
        <Field
          label={t('provisioning.manual.name')}
          help={t('provisioning.manual.nameHelp')}
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={({ target }) => setName(target.value)}
          fault={null}
        />
        <ZoneField choice={zone} />
        {add.error?.code === 'conflict' ? (
          <p role="alert" className="rounded-xl bg-fault-soft p-3">
            {t('provisioning.manual.conflict')}
          </p>
        ) : (
          add.error && <ProblemNote problem={add.error} />
        )}
        <Button kind="primary" type="submit" busy={add.isPending} onClick={() => undefined}>
          {t('provisioning.manual.submit')}
        </Button>
      </form>
    </Card>
  );
}

/** One of the types that the station knows, or another one by its name. */
function TypeField({
  type,
  known,
  isWrong,
  onChange,
}: {
  type: string;
  known: readonly string[];
  isWrong: boolean;
  onChange: (type: string) => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const types = useDeviceTypes();
  const [isOther, setIsOther] = useState(false);
  const asksName = isOther || (type !== '' && !known.includes(type));
  const choose = (value: string): void => {
    setIsOther(value === otherType);
    onChange(value === otherType ? '' : value);
  };
  const words = known
    .map((one) => ({ one, name: typeName(locale, one, types?.named(one)) }))
    .sort((a, b) => a.name.localeCompare(b.name, locale));
  return (
    <>
      <Select
        label={t('provisioning.manual.type')}
        value={asksName ? otherType : type}
        onChange={({ target }) => choose(target.value)}
        help={isWrong && !asksName ? t('error.field.required') : undefined}
      >
        <option value="" disabled hidden />
        {words.map(({ one, name }) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
        <option value={otherType}>{t('provisioning.manual.otherType')}</option>
      </Select>
      {asksName && (
        <Field
          label={t('provisioning.manual.typeName')}
          value={type}
          maxLength={64}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          onChange={({ target }) => onChange(target.value)}
          fault={isWrong ? t('provisioning.manual.typeWrong') : null}
        />
      )}
    </>
  );
}

/** The login while the station waits for the device, then the device. */
function MadeLogin({ made, parts, onAnother }: { made: Made; parts: DeviceParts; onAnother: () => void }) {
  const { t } = useTranslation();
  useFollowProvisioning();
  const view = useProvisioning();
  const now =
    (view.kind === 'shown' && view.value.provisionings.find(({ id }) => id === made.provisioning.id)) ||
    made.provisioning;
  return (
    <>
      {isUnderWay(now) && <LoginSheet name={now.name} login={made.login} />}
      <ul>
        <ProgressCard
          provisioning={now}
          parts={parts}
          usable={view.kind === 'shown' && view.freshness.kind !== 'stale'}
          onDismiss={onAnother}
          onAgain={onAnother}
        />
      </ul>
      <div>
        <Button onClick={onAnother}>{t('provisioning.manual.another')}</Button>
      </div>
    </>
  );
}
