import { useTranslation } from 'react-i18next';
import { Skeleton } from '../../ui/skeleton.tsx';

export function CloudSkeleton() {
  const { t } = useTranslation();
  return (
    <div
      role="status"
      aria-label={t('app.loading')}
      className="grid items-start gap-4 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]"
    >
      <div className="grid gap-4 md:gap-6">
        <div className="space-y-4 rounded-2xl border border-line bg-surface p-4 md:p-6">
          <Skeleton className="h-6 w-24" />
          <Skeleton className="h-10 w-48" />
          <Skeleton className="h-5 w-2/3" />
          <Skeleton className="h-11 w-full sm:w-56" />
        </div>
        <Skeleton className="h-32 rounded-2xl" />
      </div>
      <Skeleton className="h-64 rounded-2xl" />
    </div>
  );
}
