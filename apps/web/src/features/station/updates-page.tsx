import { Activity } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useStore, useTick, useUser } from '../../api/services.ts';
import { isSwitching, useBackendConditions, useStatus } from '../../api/station.ts';
import { conditionTitle } from '../../i18n/condition-words.ts';
import { dot } from '../../i18n/words.ts';
import { Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { LinkRow } from '../../ui/links.tsx';
import { Dimmable, PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { TimelineCard, type TimelineEntry } from '../../ui/timeline.tsx';
import { AutoUpdateCard } from './auto-update-card.tsx';
import { HealthLine, HealthSkeleton } from './health-line.tsx';
import { HeldCard } from './held-card.tsx';
import { OperationCard, releaseTimeline, ResultCard } from './operation-card.tsx';
import { unreadResult } from './outcome.ts';
import { ReleaseCard } from './release-card.tsx';

/** What another feature has to say about updates. */
type OfDevices = { freshness: Freshness | undefined; cards: ReactNode; entries: readonly TimelineEntry[] };

/** Updates of the station, with those of its devices beside them. */
export function UpdatesPage({ ofDevices }: { ofDevices: OfDevices }) {
  const { t } = useTranslation();
  const view = useStatus();
  const others = useOtherConditions();
  const isShown = view.kind === 'shown';
  const freshness = isShown ? view.freshness : ofDevices.freshness;
  const stale = isShown && view.freshness.kind === 'stale';
  const entries = [...(isShown ? releaseTimeline(view.value.history) : []), ...ofDevices.entries];
  return (
    <>
      <PageHead
        page={t('settings.rows.updates.title')}
        restarting={isShown && isSwitching(view.value.operation)}
        {...(freshness && { freshness })}
      >
        {view.kind === 'loading' && <HealthSkeleton />}
        {view.kind === 'fault' && <ReadFault isHeadline title={t('health.fault')} {...view} />}
        {isShown && (
          <div className={classNames('transition-[filter] duration-500', stale && 'dimmed')}>
            <HealthLine status={{ ...view.value, conditions: [...view.value.conditions, ...others] }} />
          </div>
        )}
      </PageHead>
      <div className="main-and-side">
        <div className="cards">
          {view.kind === 'loading' && <StationSkeleton />}
          {isShown && (
            <Dimmable stale={stale} className="cards">
              <OfStation status={view.value} stale={stale} />
            </Dimmable>
          )}
          {ofDevices.cards}
        </div>
        <TimelineCard title={t('station.history.title')} empty={t('station.history.empty')} entries={entries} />
      </div>
    </>
  );
}

/** Unknown devices have a page of their own. */
export const useOtherConditions = (): ReturnType<typeof useBackendConditions> =>
  useBackendConditions().filter(({ id }) => id !== 'unknown_devices');

function OfStation({ status, stale }: { status: Status; stale: boolean }) {
  const { t } = useTranslation();
  const { readResult, clock } = useServices();
  const readId = useStore(readResult);
  const mayManage = isManager(useUser().role);
  const titles = [...status.conditions, ...useOtherConditions()].map((condition) => conditionTitle(t, condition));
  // A result is news for a while only.
  useTick(10_000);
  const result = status.operation ? null : unreadResult(status.history, readId, clock.now());
  const read = (id: string): void => {
    readResult.set(id);
    // The button that had the focus was removed with its card.
    document.getElementById('content')?.focus({ preventScroll: true });
  };
  const manage = { allowed: mayManage, possible: !stale && status.operation === null };
  return (
    <>
      {status.operation && <OperationCard operation={status.operation} status={status} />}
      {result && <ResultCard entry={result} status={status} onRead={() => read(result.id)} />}
      {titles.length > 0 && (
        <LinkRow
          href="/settings/diagnostics"
          icon={Activity}
          title={t('station.conditions.title')}
          help={titles.join(dot)}
        />
      )}
      <ReleaseCard status={status} manage={manage} />
      {status.quarantined.length > 0 && <HeldCard status={status} manage={manage} />}
      <AutoUpdateCard status={status} mayChange={mayManage} usable={!stale} />
    </>
  );
}

/** The shape of the cards, so that nothing moves when the texts arrive. */
function StationSkeleton() {
  return (
    <div aria-hidden className="space-y-4 rounded-2xl border border-line bg-surface p-4 md:p-6">
      <Skeleton className="h-6 w-24" />
      <Skeleton className="h-10 w-32" />
      <Skeleton className="h-5 w-3/4" />
      <Skeleton className="h-11 w-full sm:w-44" />
    </div>
  );
}
