import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearch } from 'wouter';
import type { DeviceLoginSheet, Provisioning } from '@station/protocol/provisioning';
import { nameText } from '@station/protocol/text-fields';
import { externalIdText, isExternalId } from '@station/protocol/topics';
import { isTypeName, typeNamePattern } from '@station/protocol/type-names';
import { useDeviceTypes } from '../../api/devices.ts';
import { typeName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
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
  const [type, setType] = useState(asked.get('type') ?? '');
  const zone = useZoneChoice(null);
  const add = useManualAdd();
  const form = useForm({
    body: { properties: { externalId: externalIdText, type: { pattern: typeNamePattern }, name: nameText } },
    fields: ['externalId', 'type', 'name'],
    mayBeEmpty: ['name'],
    checks: {
      externalId: (id) => (isExternalId(id) ? null : t('provisioning.manual.idWrong')),
      type: (name) => (isTypeName(name) ? null : t('provisioning.manual.typeWrong')),
    },
    check: zone.check,
    send: ({ name, ...device }) =>
      add.mutateAsync(async () => ({
        devices: [{ ...device, ...(name !== '' && { name }), zoneId: await zone.resolve() }],
      })),
    onDone: ([first]) => first && onMade(first),
    explain: ({ code }) => (code === 'conflict' ? t('provisioning.manual.conflict') : null),
  });
  if (types === null) return <Loading cards={['h-96']} />;
  return (
    <Card title={t('provisioning.manual.title')}>
      <ScanLabel
        onRead={(label) => {
          form.fill({ externalId: label.externalId });
          if (label.type === null) return;
          setType(label.type);
          form.touch('type');
        }}
      />
      <form {...form.props} className="mt-4 space-y-4">
        <Field
          label={t('provisioning.manual.id')}
          help={t('provisioning.manual.idHelp')}
          {...form.field('externalId')}
          defaultValue={asked.get('id') ?? ''}
          isCode
        />
        <TypeField {...form.field('type')} value={type} known={[...types.names()]} onChange={setType} />
        <Field
          label={t('provisioning.manual.name')}
          help={t('provisioning.manual.nameHelp')}
          {...form.field('name')}
          defaultValue={asked.get('name') ?? ''}
        />
        <ZoneField choice={zone} />
        <FormEnd form={form} submit={t('provisioning.manual.submit')} />
      </form>
    </Card>
  );
}

/** One of the types that the station knows, or another one by its name. */
function TypeField({
  name,
  value,
  fault,
  known,
  onChange,
}: {
  name: string;
  value: string;
  fault: string | null;
  known: readonly string[];
  onChange: (type: string) => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const types = useDeviceTypes();
  const [isOther, setIsOther] = useState(false);
  const asksName = isOther || (value !== '' && !known.includes(value));
  const choose = (type: string): void => {
    setIsOther(type === otherType);
    onChange(type === otherType ? '' : type);
  };
  const words = known
    .map((one) => ({ one, name: typeName(locale, one, types?.named(one)) }))
    .sort((a, b) => a.name.localeCompare(b.name, locale));
  return (
    <>
      <Select
        label={t('provisioning.manual.type')}
        name={asksName ? undefined : name}
        value={asksName ? otherType : value}
        onChange={({ target }) => choose(target.value)}
        fault={asksName ? null : fault}
      >
        <option value="" disabled hidden />
        {words.map((word) => (
          <option key={word.one} value={word.one}>
            {word.name}
          </option>
        ))}
        <option value={otherType}>{t('provisioning.manual.otherType')}</option>
      </Select>
      {asksName && (
        <Field
          label={t('provisioning.manual.typeName')}
          name={name}
          value={value}
          maxLength={64}
          isCode
          onChange={({ target }) => onChange(target.value)}
          fault={fault}
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
