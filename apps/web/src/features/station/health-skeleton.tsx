import { useTranslation } from 'react-i18next';
import { Skeleton } from '../../ui/skeleton.tsx';

/** In the place of the one line of health, before it is known. */
export function HealthSkeleton() {
  const { t } = useTranslation();
  return (
    <div className="flex items-center gap-4">
      <h1 className="sr-only">
        <span role="status">{t('app.loading')}</span>
      </h1>
      <Skeleton className="size-12 rounded-full md:size-14" />
      <div className="flex-1 space-y-2">
        <Skeleton className="h-7 w-56 max-w-full md:h-10 md:w-80" />
        <Skeleton className="h-6 w-44" />
      </div>
    </div>
  );
}
