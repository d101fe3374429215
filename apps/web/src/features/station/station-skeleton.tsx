import { Skeleton } from '../../ui/skeleton.tsx';

/** The shape of the Station page, so that nothing moves when the words arrive. */
export function StationSkeleton() {
  return (
    <div aria-hidden className="grid items-start gap-4 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="grid gap-4 md:gap-6">
        <div className="space-y-4 rounded-2xl border border-line bg-surface p-4 md:p-6">
          <Skeleton className="h-6 w-24" />
          <Skeleton className="h-10 w-32" />
          <Skeleton className="h-5 w-3/4" />
          <Skeleton className="h-11 w-full sm:w-44" />
        </div>
        <Rows count={3} />
      </div>
      <Rows count={4} />
    </div>
  );
}

function Rows({ count }: { count: number }) {
  return (
    <div className="space-y-4 rounded-2xl border border-line bg-surface p-4 md:p-6">
      <Skeleton className="h-6 w-24" />
      {Array.from({ length: count }, (_, row) => (
        <div key={row} className="flex items-center gap-3">
          <Skeleton className="size-5 rounded-full" />
          <Skeleton className="h-6 flex-1" />
        </div>
      ))}
    </div>
  );
}
