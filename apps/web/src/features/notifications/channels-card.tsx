import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { knownLanguage } from '@station/protocol/languages';
import {
  MailServerPut,
  type NotificationChannel,
  type NotificationsView,
  type NotificationTopic,
  notificationTopics,
  NtfyPut,
  type StationNotifications,
  type StationNotificationsPut,
  WebhookPut,
} from '@station/protocol/notifications';
import { useServices } from '../../api/services.ts';
import { Card } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { type Form, type Texts, useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { ChannelLine, TestButton } from './channel-parts.tsx';
import { stationNotificationsKey, viewKey } from './notifications-key.ts';
import { portOf, putOf } from './station-form.ts';
import { TopicChecks } from './topic-checks.tsx';

type Topics = { ntfy: readonly NotificationTopic[]; webhook: readonly NotificationTopic[] };

/** The limits of the fields, by the end of their pointer in the body. */
const properties = {
  host: MailServerPut.properties.host,
  port: MailServerPut.properties.port,
  security: MailServerPut.properties.security,
  username: MailServerPut.properties.username,
  password: MailServerPut.properties.password,
  from: MailServerPut.properties.from,
  'ntfy/url': NtfyPut.properties.url,
  topic: NtfyPut.properties.topic,
  token: NtfyPut.properties.token,
  'webhook/url': WebhookPut.properties.url,
};
type Name = keyof typeof properties;
const names = Object.keys(properties) as Name[];
type FieldOf = Pick<Form<Name, unknown>, 'field'>;

/** Mail server, ntfy and webhook of the station. */
export function ChannelsCard({
  station,
  view,
  usable,
}: {
  station: StationNotifications;
  view: NotificationsView;
  usable: boolean;
}) {
  const { t, i18n } = useTranslation();
  const { session, queries } = useServices();
  const [on, setOn] = useState({
    mail: station.mail !== null,
    ntfy: station.ntfy !== null,
    webhook: station.webhook !== null,
  });
  const [topics, setTopics] = useState<Topics>({
    ntfy: (station.ntfy?.topics ?? notificationTopics) as readonly NotificationTopic[],
    webhook: (station.webhook?.topics ?? notificationTopics) as readonly NotificationTopic[],
  });
  const form = useForm({
    body: { properties },
    fields: names,
    // The station has its address.
    mayBeEmpty: station.webhook === null ? [] : ['webhook/url'],
    usable,
    send: (texts) => {
      const language = knownLanguage(i18n.language);
      const body: StationNotificationsPut = {
        rules: putOf(station).rules,
        mail: on.mail ? mailOf(texts) : null,
        ntfy: on.ntfy
          ? { ...ntfyOf(texts), topics: [...topics.ntfy], language: station.ntfy?.language ?? language }
          : null,
        webhook: on.webhook
          ? { ...webhookOf(texts), topics: [...topics.webhook], language: station.webhook?.language ?? language }
          : null,
      };
      return session.call('PUT /api/notifications/station', { body });
    },
    onDone: (changed) => {
      queries.setQueryData(stationNotificationsKey, changed);
      void queries.invalidateQueries({ queryKey: viewKey, exact: true });
    },
  });
  const part = (name: keyof typeof on, channel: NotificationChannel, fields: ReactNode): ReactNode => (
    <Part
      label={t(`notifications.channels.${name}`)}
      on={on[name]}
      onToggle={(isOn) => {
        setOn({ ...on, [name]: isOn });
        form.touch();
      }}
    >
      {fields}
      {view.channels[channel].isSet && (
        <>
          <ChannelLine state={view.channels[channel]} />
          <TestButton
            channel={channel}
            usable={usable && !form.isChanged}
            label={t(`notifications.channels.${name}`)}
          />
          {form.isChanged && <p className="text-small text-ink-soft">{t('notifications.channels.saveFirst')}</p>}
        </>
      )}
    </Part>
  );
  const checks = (name: keyof Topics) => (
    <TopicChecks
      legend={t('notifications.channels.about')}
      chosen={topics[name]}
      disabled={!usable}
      onChange={(chosen) => {
        setTopics({ ...topics, [name]: chosen });
        form.touch();
      }}
    />
  );
  return (
    <Card title={t('notifications.channels.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('notifications.channels.lead')}</p>
      <form {...form.props} className="space-y-4">
        {part('mail', 'email', <MailFields form={form} mail={station.mail} />)}
        {part(
          'ntfy',
          'ntfy',
          <>
            <NtfyFields form={form} ntfy={station.ntfy} />
            {checks('ntfy')}
          </>,
        )}
        {part(
          'webhook',
          'webhook',
          <>
            <WebhookField form={form} webhook={station.webhook} />
            {checks('webhook')}
          </>,
        )}
        <FormEnd form={form} submit={t('settings.save')} done={t('notifications.saved')} usable={usable} />
      </form>
    </Card>
  );
}

function Part({
  label,
  on,
  onToggle,
  children,
}: {
  label: string;
  on: boolean;
  onToggle: (on: boolean) => void;
  children: ReactNode;
}) {
  return (
    <div className="space-y-4 border-b border-line pb-4">
      <SwitchLine label={label} on={on} onToggle={onToggle} />
      {on && children}
    </div>
  );
}

function MailFields({ form, mail }: { form: FieldOf; mail: StationNotifications['mail'] }) {
  const { t } = useTranslation();
  const [security, setSecurity] = useState(mail?.security ?? 'tls');
  return (
    <>
      <Field
        label={t('notifications.channels.host')}
        {...form.field('host')}
        placeholder="smtp.example.org"
        defaultValue={mail?.host ?? ''}
      />
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Select
          label={t('notifications.channels.security')}
          name="security"
          value={security}
          onChange={({ currentTarget: { value } }) => setSecurity(value as typeof security)}
        >
          {(['tls', 'starttls', 'none'] as const).map((kind) => (
            <option key={kind} value={kind}>
              {t(`notifications.channels.securities.${kind}`)}
            </option>
          ))}
        </Select>
        <Field
          key={security}
          label={t('notifications.channels.port')}
          {...form.field('port')}
          defaultValue={mail?.security === security ? mail.port : portOf[security]}
        />
      </div>
      {security !== 'none' && (
        <>
          <Field
            label={t('notifications.channels.username')}
            {...form.field('username')}
            defaultValue={mail?.username ?? ''}
          />
          <Field
            label={t('notifications.channels.password')}
            {...form.field('password')}
            type="password"
            help={mail?.hasPassword === true ? t('notifications.channels.kept') : undefined}
          />
        </>
      )}
      <Field
        label={t('notifications.channels.from')}
        {...form.field('from')}
        type="email"
        placeholder="station@example.org"
        defaultValue={mail?.from ?? ''}
      />
    </>
  );
}

function NtfyFields({ form, ntfy }: { form: FieldOf; ntfy: StationNotifications['ntfy'] }) {
  const { t } = useTranslation();
  return (
    <>
      <Field
        label={t('notifications.channels.url')}
        {...form.field('ntfy/url')}
        type="url"
        help={t('notifications.channels.ntfyHelp')}
        defaultValue={ntfy?.url ?? 'https://ntfy.sh'}
      />
      <Field label={t('notifications.channels.topic')} {...form.field('topic')} defaultValue={ntfy?.topic ?? ''} />
      <Field
        label={t('notifications.channels.token')}
        {...form.field('token')}
        type="password"
        verbatim={false}
        help={ntfy?.hasToken === true ? t('notifications.channels.kept') : undefined}
      />
    </>
  );
}

function WebhookField({ form, webhook }: { form: FieldOf; webhook: StationNotifications['webhook'] }) {
  const { t } = useTranslation();
  const help =
    webhook === null
      ? t('notifications.channels.webhookNew')
      : `${t('notifications.channels.webhookHelp', { origin: webhook.origin })} ${t('notifications.channels.kept')}`;
  return <Field label={t('notifications.channels.url')} {...form.field('webhook/url')} type="url" help={help} />;
}

/** An empty secret stays as it is. */
const mailOf = ({ host, port, security, username, password, from }: Texts<Name>) => ({
  host,
  port: Number(port),
  security: security as 'tls' | 'starttls' | 'none',
  username,
  from,
  ...(password !== '' && { password }),
});

const ntfyOf = ({ 'ntfy/url': url, topic, token }: Texts<Name>) => ({ url, topic, ...(token !== '' && { token }) });

const webhookOf = ({ 'webhook/url': url }: Texts<Name>) => (url === '' ? {} : { url });
