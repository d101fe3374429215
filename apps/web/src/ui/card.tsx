import type { LucideIcon } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { classNames } from './class-names.ts';

/** A titled part of a page. */
export function Card({
  id: place,
  title,
  aside,
  children,
  className,
}: {
  /** For addresses that lead to it. */
  id?: string;
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  className?: string | undefined;
}) {
  const id = useId();
  return (
    <section
      id={place}
      aria-labelledby={id}
      className={classNames('scroll-mt-4 rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6', className)}
    >
      <div className="mb-4 flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h2 id={id} className="text-body font-strong">
          {title}
        </h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** Stands in the place of a list that is empty: says so, and what to do. */
export function EmptyNote({
  icon: Icon,
  title,
  help,
  heading: Heading = 'h2',
  children,
}: {
  icon: LucideIcon;
  title: string;
  help: string;
  heading?: 'h2' | 'h3';
  children?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-10 text-center">
      <Icon aria-hidden className="size-8 text-ink-soft" />
      <Heading className="font-strong">{title}</Heading>
      <p className={classNames('max-w-md text-ink-soft', children !== undefined && 'mb-2')}>{help}</p>
      {children}
    </div>
  );
}

/** A grey placeholder in the size of the coming content. Its region is labelled "loading". */
export function Skeleton({ className }: { className: string }) {
  const round = className.includes('rounded-') ? '' : 'rounded-lg';
  return <span aria-hidden className={classNames('block animate-breathe bg-sunken', round, className)} />;
}
