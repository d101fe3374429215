import { useMutation } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { knownLanguage } from '@station/protocol/languages';
import {
  type NotificationChannel,
  type NotificationsView,
  type NotificationTopic,
  notificationTopics,
  type StationNotifications,
  type StationNotificationsPut,
} from '@station/protocol/notifications';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { textOf } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { ChannelLine, TestButton } from './channel-parts.tsx';
import { stationNotificationsKey, viewKey } from './notifications-key.ts';
import { portOf, putOf } from './station-form.ts';
import { TopicChecks } from './topic-checks.tsx';

type Topics = { ntfy: readonly NotificationTopic[]; webhook: readonly NotificationTopic[] };

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
  const [edited, setEdited] = useState(false);
  const [wrong, setWrong] = useState(false);
  const save = useMutation({
    mutationFn: (body: StationNotificationsPut) => session.call('PUT /api/notifications/station', { body }),
    onSuccess: async (changed) => {
      queries.setQueryData(stationNotificationsKey, changed);
      setEdited(false);
      await queries.invalidateQueries({ queryKey: viewKey, exact: true });
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const isComplete = event.currentTarget.reportValidity();
    setWrong(!isComplete);
    if (!isComplete || !usable || save.isPending) return;
    const form = new FormData(event.currentTarget);
    const language = knownLanguage(i18n.language);
    save.mutate({
      rules: putOf(station).rules,
      mail: on.mail ? mailOf(form) : null,
      ntfy: on.ntfy
        ? { ...ntfyOf(form), topics: [...topics.ntfy], language: station.ntfy?.language ?? language }
        : null,
      webhook: on.webhook
        ? { ...webhookOf(form), topics: [...topics.webhook], language: station.webhook?.language ?? language }
        : null,
    });
  };
  const part = (name: keyof typeof on, channel: NotificationChannel, fields: ReactNode): ReactNode => (
    <Part
      label={t(`notifications.channels.${name}`)}
      on={on[name]}
      onToggle={(isOn) => {
        setOn({ ...on, [name]: isOn });
        setEdited(true);
      }}
    >
      {fields}
      {view.channels[channel].isSet && (
        <>
          <ChannelLine state={view.channels[channel]} />
          <TestButton channel={channel} usable={usable && !edited} label={t(`notifications.channels.${name}`)} />
          {edited && <p className="text-small text-ink-soft">{t('notifications.channels.saveFirst')}</p>}
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
        setEdited(true);
      }}
    />
  );
  return (
    <Card title={t('notifications.channels.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('notifications.channels.lead')}</p>
      <form noValidate onSubmit={submit} onInput={() => setEdited(true)} className="space-y-4">
        {part('mail', 'email', <MailFields mail={station.mail} />)}
        {part(
          'ntfy',
          'ntfy',
          <>
            <NtfyFields ntfy={station.ntfy} />
            {checks('ntfy')}
          </>,
        )}
        {part(
          'webhook',
          'webhook',
          <>
            <WebhookField webhook={station.webhook} />
            {checks('webhook')}
          </>,
        )}
        {save.error && <ProblemNote problem={asProblem(save.error)} />}
        {wrong && (
          <p role="alert" className="text-fault">
            {t('notifications.channels.wrong')}
          </p>
        )}
        <Button kind="primary" type="submit" busy={save.isPending} disabled={!usable} onClick={() => undefined}>
          {t('settings.save')}
        </Button>
        {save.isSuccess && !edited && <p role="status">{t('notifications.saved')}</p>}
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

function MailFields({ mail }: { mail: StationNotifications['mail'] }) {
  const { t } = useTranslation();
  const [security, setSecurity] = useState(mail?.security ?? 'tls');
  return (
    <>
      <Field
        label={t('notifications.channels.host')}
        name="host"
        required
        fault={null}
        autoComplete="off"
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
          name="port"
          type="number"
          min={1}
          max={65_535}
          fault={null}
          required
          defaultValue={mail?.security === security ? mail.port : portOf[security]}
        />
      </div>
      {security !== 'none' && (
        <>
          <Field
            label={t('notifications.channels.username')}
            name="username"
            autoComplete="off"
            fault={null}
            defaultValue={mail?.username ?? ''}
          />
          <Field
            label={t('notifications.channels.password')}
            name="password"
            type="password"
            fault={null}
            autoComplete="off"
            {...(mail?.hasPassword === true && { help: t('notifications.channels.kept') })}
          />
        </>
      )}
      <Field
        label={t('notifications.channels.from')}
        name="from"
        type="email"
        required
        fault={null}
        placeholder="station@example.org"
        defaultValue={mail?.from ?? ''}
      />
    </>
  );
}

function NtfyFields({ ntfy }: { ntfy: StationNotifications['ntfy'] }) {
  const { t } = useTranslation();
  return (
    <>
      <Field
        label={t('notifications.channels.url')}
        name="ntfyUrl"
        type="url"
        required
        fault={null}
        help={t('notifications.channels.ntfyHelp')}
        defaultValue={ntfy?.url ?? 'https://ntfy.sh'}
      />
      <Field
        label={t('notifications.channels.topic')}
        name="topic"
        required
        fault={null}
        pattern="[A-Za-z0-9_\-]{1,64}"
        defaultValue={ntfy?.topic ?? ''}
      />
      <Field
        label={t('notifications.channels.token')}
        name="token"
        type="password"
        fault={null}
        autoComplete="off"
        {...(ntfy?.hasToken === true && { help: t('notifications.channels.kept') })}
      />
    </>
  );
}

function WebhookField({ webhook }: { webhook: StationNotifications['webhook'] }) {
  const { t } = useTranslation();
  const help =
    webhook === null
      ? t('notifications.channels.webhookNew')
      : `${t('notifications.channels.webhookHelp', { origin: webhook.origin })} ${t('notifications.channels.kept')}`;
  return (
    <Field
      label={t('notifications.channels.url')}
      name="webhookUrl"
      type="url"
      fault={null}
      help={help}
      required={webhook === null}
      autoComplete="off"
    />
  );
}

const filled = (form: FormData, field: string): string | undefined => textOf(form, field).trim() || undefined;

function mailOf(form: FormData): NonNullable<StationNotificationsPut['mail']> {
  const security = textOf(form, 'security') as 'tls' | 'starttls' | 'none';
  const password = filled(form, 'password');
  return {
    host: textOf(form, 'host').trim(),
    port: Number(textOf(form, 'port')),
    security,
    username: textOf(form, 'username').trim(),
    from: textOf(form, 'from').trim(),
    ...(password !== undefined && { password }),
  };
}

function ntfyOf(form: FormData): { url: string; topic: string; token?: string } {
  const token = filled(form, 'token');
  return {
    url: textOf(form, 'ntfyUrl').trim(),
    topic: textOf(form, 'topic').trim(),
    ...(token !== undefined && { token }),
  };
}

function webhookOf(form: FormData): { url?: string } {
  const url = filled(form, 'webhookUrl');
  return url === undefined ? {} : { url };
}
