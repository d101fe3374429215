import { useTranslation } from 'react-i18next';
import { classNames } from '../../ui/class-names.ts';

/** Whether it starts by itself. */
export function StatusBadge({ status }: { status: 'draft' | 'published' }) {
  const { t } = useTranslation();
  const isOn = status === 'published';
  return (
    <span
      className={classNames(
        'shrink-0 rounded-full px-2.5 text-small leading-6 font-strong',
        isOn ? 'bg-accent-soft text-accent' : 'border border-line-strong text-ink-soft',
      )}
    >
      {t(isOn ? 'automations.status.on' : 'automations.status.draft')}
    </span>
  );
}
