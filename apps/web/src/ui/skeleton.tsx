import { classNames } from './class-names.ts';

/** A grey stand-in of the size of what is coming. The region around it says "loading". */
export function Skeleton({ className }: { className: string }) {
  const round = className.includes('rounded-') ? '' : 'rounded-lg';
  return <span aria-hidden className={classNames('block animate-breathe bg-sunken', round, className)} />;
}
