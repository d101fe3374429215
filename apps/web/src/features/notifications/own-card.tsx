import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { knownLanguage } from '@station/protocol/languages';
import type { NotificationPreferences, NotificationsView } from '@station/protocol/notifications';
import { isManager } from '@station/protocol/roles';
import { useServices, useUser } from '../../api/services.ts';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { ChannelLine, TestButton } from './channel-parts.tsx';
import { viewKey } from './notifications-key.ts';
import { TopicChecks } from './topic-checks.tsx';

const usualNight = { from: '22:00', to: '07:00' };

/** What this person is told, by e-mail too, and when not. Each change is saved at once. */
export function OwnCards({ view, usable }: { view: NotificationsView; usable: boolean }) {
  const { t, i18n } = useTranslation();
  const { session, queries } = useServices();
  const save = useMutation({
    mutationFn: (body: NotificationPreferences) => session.call('PUT /api/notifications/preferences', { body }),
    // One after another: the last change of a fast finger wins.
    scope: { id: 'notification-preferences' },
    onSuccess: (changed) => queries.setQueryData(viewKey, changed),
  });
  const shown = save.isPending ? save.variables : view.preferences;
  const change = (part: Partial<NotificationPreferences>): void => {
    if (usable) save.mutate({ ...shown, ...part, language: knownLanguage(i18n.language) });
  };
  return (
    <>
      <Card title={t('notifications.topics.title')}>
        <div className="space-y-4">
          <TopicChecks
            legend={t('notifications.topics.title')}
            isTitled
            chosen={shown.topics}
            disabled={!usable}
            onChange={(topics) => change({ topics })}
          />
          <QuietHours quiet={shown.quiet} disabled={!usable} onChange={(quiet) => change({ quiet })} />
          <ProblemNote error={save.error} />
        </div>
      </Card>
      <EmailCard view={view} on={shown.email} usable={usable} onToggle={(email) => change({ email })} />
    </>
  );
}

function QuietHours({
  quiet,
  disabled,
  onChange,
}: {
  quiet: NotificationPreferences['quiet'];
  disabled: boolean;
  onChange: (quiet: NotificationPreferences['quiet']) => void;
}) {
  const { t } = useTranslation();
  return (
    <div className="space-y-3 border-t border-line pt-4">
      <SwitchLine
        label={t('notifications.quiet.on')}
        on={quiet !== null}
        disabled={disabled}
        onToggle={(on) => onChange(on ? usualNight : null)}
      />
      {quiet !== null && (
        <div className="grid grid-cols-2 gap-4">
          {(['from', 'to'] as const).map((end) => (
            <Field
              key={`${end} ${quiet[end]}`}
              label={t(`notifications.quiet.${end}`)}
              type="time"
              defaultValue={quiet[end]}
              fault={null}
              // Saved when the field is left: while somebody types, the time is not complete.
              onBlur={({ currentTarget: { value } }) => {
                if (value !== '' && value !== quiet[end]) onChange({ ...quiet, [end]: value });
              }}
            />
          ))}
        </div>
      )}
      <p className="text-small text-ink-soft">{t('notifications.quiet.help')}</p>
    </div>
  );
}

function EmailCard({
  view,
  on,
  usable,
  onToggle,
}: {
  view: NotificationsView;
  on: boolean;
  usable: boolean;
  onToggle: (on: boolean) => void;
}) {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const state = view.channels.email;
  return (
    <Card title={t('notifications.email.title')}>
      {state.isSet ? (
        <div className="space-y-4">
          <SwitchLine label={t('notifications.email.label')} on={on} disabled={!usable} onToggle={onToggle} />
          <p className="break-words text-ink-soft">{t('notifications.email.to', { email: view.email })}</p>
          <ChannelLine state={state} />
          <TestButton channel="email" usable={usable} label={t('notifications.email.title')} />
        </div>
      ) : (
        <p className="text-ink-soft">{t(`notifications.email.${mayManage ? 'unsetHere' : 'unset'}`)}</p>
      )}
    </Card>
  );
}
