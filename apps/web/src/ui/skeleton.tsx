import { classNames } from './class-names.ts';

/** A grey stand-in of the size of what is coming. The region around it says "loading". */
export function Skeleton({ className }: { className: string }) {
  return <span aria-hidden className={classNames('block animate-breathe rounded-lg bg-sunken', className)} />;
}
