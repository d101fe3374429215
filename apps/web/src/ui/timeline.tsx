import { Fragment, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { Card } from './card.tsx';

/** `at`: ISO 8601. `row`: a list item. */
export type TimelineEntry = { key: string; at: string; row: ReactNode };

const shownAtFirst = 5;

/** What is over, newest first, whoever tells of it. */
export function TimelineCard({
  title,
  empty,
  entries,
}: {
  title: string;
  empty: string;
  entries: readonly TimelineEntry[];
}) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const sorted = entries.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  return (
    <Card title={title}>
      {sorted.length === 0 && <p className="text-ink-soft">{empty}</p>}
      <ol className="space-y-4">
        {(all ? sorted : sorted.slice(0, shownAtFirst)).map(({ key, row }) => (
          <Fragment key={key}>{row}</Fragment>
        ))}
      </ol>
      {sorted.length > shownAtFirst && (
        <Button kind="quiet" className="mt-4 -mb-2 -ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'action.showFewer' : 'action.showAll')}
        </Button>
      )}
    </Card>
  );
}
