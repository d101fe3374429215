import { Inbox } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AcceptUnknownDevice, type UnknownDevice } from '@station/protocol/unknown-devices';
import { isManager } from '@station/protocol/roles';
import { useDeviceTypes } from '../../api/devices.ts';
import { useUser } from '../../api/services.ts';
import { typeName } from '../../i18n/device-words.ts';
import { formatClock } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, EmptyNote } from '../../ui/card.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { BackLink } from '../../ui/links.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { Read } from '../../ui/loading.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { useZoneChoice, ZoneField } from '../../ui/zone-field.tsx';
import { DeviceIcon } from './device-icon.tsx';
import { useAccept, useDecision, useUnknownDevices, waitingOf } from './unknown-devices.ts';

/** Devices that want to connect and that the station does not have: each is accepted or blocked here. */
export function UnknownDevicesPage() {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  return mayManage ? <Page /> : <Head>{t('error.forbidden')}</Head>;
}

function Head({ children, ...rest }: { children: ReactNode } & Pick<Parameters<typeof PageHead>[0], 'freshness'>) {
  const { t } = useTranslation();
  return (
    <PageHead page={t('unknownDevices.title')} {...rest}>
      <BackLink href="/">{t('nav.home')}</BackLink>
      <PageTitle title={t('unknownDevices.title')}>{children}</PageTitle>
    </PageHead>
  );
}

function Page() {
  const { t } = useTranslation();
  const view = useUnknownDevices();
  const freshness = view.kind === 'shown' ? { freshness: view.freshness } : {};
  return (
    <>
      <Head {...freshness}>{t('unknownDevices.lead')}</Head>
      <Read view={view} fault={t('unknownDevices.fault')} cards={['h-40']} className="max-w-3xl">
        {(devices, stale) => (
          <Dimmable stale={stale} className="cards max-w-3xl">
            <Lists devices={devices} usable={!stale} />
          </Dimmable>
        )}
      </Read>
    </>
  );
}

function Lists({ devices, usable }: { devices: readonly UnknownDevice[]; usable: boolean }) {
  const { t } = useTranslation();
  const waiting = waitingOf(devices);
  const accepted = devices.filter(({ blocked, acceptedUntil }) => !blocked && acceptedUntil !== null);
  const blocked = devices.filter((device) => device.blocked);
  const [acceptedName, setAcceptedName] = useState<string | null>(null);
  const list = { usable, onAccepted: setAcceptedName };
  return (
    <>
      <p role="status" className="font-strong break-words empty:hidden">
        {acceptedName !== null && t('unknownDevices.done', { name: acceptedName })}
      </p>
      {waiting.length + accepted.length === 0 && (
        <EmptyNote icon={Inbox} title={t('unknownDevices.empty.title')} help={t('unknownDevices.empty.help')} />
      )}
      <List title={t('unknownDevices.waiting')} devices={waiting} {...list} />
      <List title={t('unknownDevices.accepted')} devices={accepted} {...list} />
      <List title={t('unknownDevices.blocked')} help={t('unknownDevices.blockedHelp')} devices={blocked} {...list} />
    </>
  );
}

/** `onAccepted` takes the name that the device was given. */
type Deciding = { usable: boolean; onAccepted: (name: string) => void };

function List({
  title,
  help,
  devices,
  ...deciding
}: Deciding & {
  title: string;
  help?: string;
  devices: readonly UnknownDevice[];
}) {
  if (devices.length === 0) return null;
  return (
    <Card title={title}>
      {help !== undefined && <p className="-mt-2 mb-4 text-ink-soft">{help}</p>}
      <ul className="divide-y divide-line">
        {devices.map((device) => (
          <Row key={device.externalId} device={device} {...deciding} />
        ))}
      </ul>
    </Card>
  );
}

function Row({ device, ...deciding }: Deciding & { device: UnknownDevice }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const types = useDeviceTypes();
  const { externalId, type, chip, firmwareVersion, firstSeenAt, lastSeenAt, blocked, contested, acceptedUntil } =
    device;
  const described = type === null ? undefined : types?.named(type);
  const name = type === null ? t('unknownDevices.noType') : typeName(locale, type, described);
  const facts = [
    externalId,
    ...(chip === null ? [] : [chip]),
    ...(firmwareVersion === null ? [] : [t('unknownDevices.firmware', { version: firmwareVersion })]),
  ];
  const time = acceptedUntil === null ? '' : formatClock(locale, Date.parse(acceptedUntil));
  return (
    <li className="flex gap-4 py-4 first:pt-0 last:pb-0">
      <DeviceIcon icon={described?.icon} on={false} />
      <div className="min-w-0 flex-1">
        <h3 className="font-strong break-words">{name}</h3>
        <p className="text-small break-words text-ink-soft">{facts.join(dot)}</p>
        <p className="text-small text-ink-soft first-letter:uppercase">
          <Sentence text={(mark) => t('unknownDevices.seen', { time: mark })} slot={<TimeAgo at={lastSeenAt} />} />
          {dot}
          <Sentence
            text={(mark) => t('unknownDevices.firstSeen', { time: mark })}
            slot={<TimeAgo at={firstSeenAt} />}
          />
        </p>
        {acceptedUntil !== null && <p className="mt-1">{t('unknownDevices.until', { time })}</p>}
        {contested && <p className="mt-1">{t('unknownDevices.contested')}</p>}
        {device.loginRefused && !contested && !blocked && acceptedUntil === null && (
          <p className="mt-1">{t('unknownDevices.loginRefused')}</p>
        )}
        <Decisions device={device} name={name} {...deciding} />
      </div>
    </li>
  );
}

/** The buttons; each is named with the device for screen readers. */
function Decisions({ device, name, usable, onAccepted }: Deciding & { device: UnknownDevice; name: string }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const { externalId, blocked, contested, acceptedUntil } = device;
  const decide = useDecision(externalId);
  const labelled = (action: string): { 'aria-label': string; children: string } => ({
    'aria-label': t('unknownDevices.ofDevice', { action, id: externalId }),
    children: action,
  });
  const decision = (what: Parameters<typeof decide.mutate>[0]) => (
    <Button
      {...labelled(t(`unknownDevices.${what}`))}
      busy={decide.isPending && decide.variables === what}
      disabled={!usable || decide.isPending}
      onClick={() => decide.mutate(what)}
    />
  );
  return (
    <>
      <div className="mt-3 flex flex-wrap gap-3">
        {!blocked && !contested && acceptedUntil === null && (
          <Button
            {...labelled(t('unknownDevices.accept'))}
            kind="primary"
            disabled={!usable}
            onClick={() => setAsking(true)}
          />
        )}
        {contested && decision('forget')}
        {decision(blocked ? 'unblock' : 'block')}
      </div>
      <ProblemNote error={decide.error} />
      {asking && (
        <AcceptDialog
          device={device}
          name={name}
          onAccepted={(given) => {
            setAsking(false);
            onAccepted(given);
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

/** The name and the zone that the device gets. */
function AcceptDialog({
  device,
  name,
  onAccepted,
  onClose,
}: {
  device: UnknownDevice;
  name: string;
  onAccepted: (name: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const zone = useZoneChoice(null);
  const accept = useAccept(device.externalId, zone.resolve);
  const form = useForm({
    body: AcceptUnknownDevice,
    fields: ['name'],
    check: zone.check,
    explain: ({ code }) => (code === 'conflict' ? t('unknownDevices.dialog.conflict') : null),
    // Not by `onDone`: the list may come first, and with it this dialog goes.
    send: async (texts) => {
      await accept(texts.name);
      onAccepted(texts.name);
    },
  });
  return (
    <FormDialog
      form={form}
      title={t('unknownDevices.dialog.title')}
      lead={
        <>
          <p>{t('unknownDevices.dialog.help')}</p>
          <p className="text-small break-words text-ink-soft">{device.externalId}</p>
        </>
      }
      submit={t('unknownDevices.dialog.confirm')}
      onClose={onClose}
    >
      <Field
        label={t('unknownDevices.dialog.name')}
        {...form.field('name')}
        defaultValue={device.type === null ? '' : name}
        autoFocus
      />
      <ZoneField choice={zone} />
    </FormDialog>
  );
}
