import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Reading } from '../api/reading.ts';
import { Skeleton } from './card.tsx';
import { classNames } from './class-names.ts';
import { ReadFault } from './problem.tsx';

type Shape = {
  /** Class names of each card, its height among them. */
  cards: readonly string[];
  /** Where they stand. */
  className?: string;
};

/** The shape of what loads, so that nothing moves when it is there. */
export function Loading({ cards, className }: Shape) {
  const { t } = useTranslation();
  return (
    <div
      role="status"
      aria-label={t('app.loading')}
      className={classNames('grid items-start gap-4 md:gap-6', className)}
    >
      {cards.map((card, index) => (
        <Skeleton key={index} className={classNames('rounded-2xl', card)} />
      ))}
    </div>
  );
}

/** What is read: its shape while it loads, what helps when it cannot be read, then what `children` makes of it. */
export function Read<T>({
  view,
  fault,
  children,
  ...shape
}: Shape & { view: Reading<T>; fault: string; children: (value: T, stale: boolean) => ReactNode }) {
  if (view.kind === 'loading') return <Loading {...shape} />;
  if (view.kind === 'fault') return <ReadFault title={fault} {...view} />;
  return children(view.value, view.freshness.kind === 'stale');
}
