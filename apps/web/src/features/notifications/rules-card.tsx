import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { NotificationRules, StationNotifications } from '@station/protocol/notifications';
import { useServices } from '../../api/services.ts';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { stationNotificationsKey } from './notifications-key.ts';
import { putOf } from './station-form.ts';

const usual = { offlineMinutes: 15, batteryPercent: 15 };
const limits = { offlineMinutes: { min: 1, max: 1440 }, batteryPercent: { min: 1, max: 90 } };

/** When the station tells people at all. Each change is saved at once. */
export function RulesCard({ station, usable }: { station: StationNotifications; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const save = useMutation({
    mutationFn: (rules: NotificationRules) =>
      session.call('PUT /api/notifications/station', { body: { ...putOf(station), rules } }),
    // One after another: the last change of a fast finger wins.
    scope: { id: 'notification-rules' },
    onSuccess: (changed) => queries.setQueryData(stationNotificationsKey, changed),
  });
  const shown = save.isPending ? save.variables : station.rules;
  const disabled = !usable;
  const change = (part: Partial<NotificationRules>): void => {
    if (!disabled) save.mutate({ ...shown, ...part });
  };
  const numbers = [
    { name: 'offlineMinutes', label: t('notifications.rules.offline'), unit: t('notifications.rules.minutes') },
    { name: 'batteryPercent', label: t('notifications.rules.battery'), unit: t('notifications.rules.percent') },
  ] as const;
  return (
    <Card title={t('notifications.rules.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('notifications.rules.lead')}</p>
      <div className="space-y-3">
        {numbers.map(({ name, label, unit }) => {
          const value = shown[name];
          return (
            <div key={name} className="space-y-2">
              <SwitchLine
                label={label}
                disabled={disabled}
                on={value !== null}
                onToggle={(on) => change({ [name]: on ? usual[name] : null })}
              />
              {value !== null && (
                <Field
                  key={value}
                  className="max-w-40"
                  label={unit}
                  type="number"
                  inputMode="numeric"
                  defaultValue={value}
                  fault={null}
                  {...limits[name]}
                  onBlur={({ currentTarget }) => {
                    const next = currentTarget.valueAsNumber;
                    if (currentTarget.checkValidity() && Number.isInteger(next)) {
                      if (next !== value) change({ [name]: next });
                    } else currentTarget.value = String(value);
                  }}
                />
              )}
            </div>
          );
        })}
        {(['updates', 'conditions'] as const).map((name) => (
          <SwitchLine
            key={name}
            label={t(`notifications.rules.${name}`)}
            disabled={disabled}
            on={shown[name]}
            onToggle={(on) => change({ [name]: on })}
          />
        ))}
        <ProblemNote error={save.error} />
      </div>
    </Card>
  );
}
