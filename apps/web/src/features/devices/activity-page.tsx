import { useTranslation } from 'react-i18next';
import { PageHead } from '../../ui/page-head.tsx';
import { ActivityList } from './activity-list.tsx';
import { useDevices } from '../../api/use-devices.ts';
import { classNames } from '../../ui/class-names.ts';

/** What happened at all devices. */
export function ActivityPage() {
  const { t } = useTranslation();
  const view = useDevices();
  const names = new Map(view.kind === 'shown' ? view.devices.map(({ id, name }) => [id, name]) : []);
  const stale = view.kind === 'shown' && view.freshness.kind === 'stale';
  return (
    <>
      <PageHead page={t('activity.title')} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <h1 className="text-title font-strong md:text-value">{t('activity.title')}</h1>
        <p className="text-ink-soft">{t('activity.lead')}</p>
      </PageHead>
      <section
        aria-label={t('activity.title')}
        className={classNames(
          'max-w-3xl rounded-2xl border border-line bg-surface p-4 text-ink shadow-lift transition-[filter] duration-500 md:p-6',
          stale && 'dimmed',
        )}
      >
        <ActivityList
          deviceId={null}
          nameOf={(id) => names.get(id) ?? (view.kind === 'shown' ? t('activity.removed') : '…')}
        />
      </section>
    </>
  );
}
