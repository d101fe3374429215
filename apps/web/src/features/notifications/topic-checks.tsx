import { useTranslation } from 'react-i18next';
import { type NotificationTopic, notificationTopics } from '@station/protocol/notifications';

/** What messages are about, each with a box to tick. */
export function TopicChecks({
  legend,
  isTitled = false,
  chosen,
  disabled,
  onChange,
}: {
  legend: string;
  /** The title above says it already. */
  isTitled?: boolean;
  chosen: readonly string[];
  disabled: boolean;
  onChange: (topics: NotificationTopic[]) => void;
}) {
  const { t } = useTranslation();
  const toggle = (topic: NotificationTopic, on: boolean): void =>
    onChange(notificationTopics.filter((one) => (one === topic ? on : chosen.includes(one))));
  return (
    <fieldset>
      <legend className={isTitled ? 'sr-only' : 'mb-1 font-strong'}>{legend}</legend>
      {notificationTopics.map((topic) => (
        <label key={topic} className="flex min-h-11 cursor-pointer items-center gap-3 py-1">
          <input
            type="checkbox"
            className="size-5 shrink-0 accent-(--accent)"
            checked={chosen.includes(topic)}
            aria-disabled={disabled || undefined}
            onChange={(event) => !disabled && toggle(topic, event.currentTarget.checked)}
          />
          <span className="min-w-0">{t(`notifications.topics.${topic}`)}</span>
        </label>
      ))}
    </fieldset>
  );
}
