import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import type { Freshness } from '../../api/freshness.ts';
import { useServices, useStore, useUser } from '../../api/services.ts';
import { isSwitching, useStatus } from '../../api/station.ts';
import { classNames } from '../../ui/class-names.ts';
import { ConditionsCard } from '../../ui/conditions-card.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { HealthLine } from './health-line.tsx';
import { HealthSkeleton } from './health-skeleton.tsx';
import { HeldCard } from './held-card.tsx';
import { HistoryCard } from './history-card.tsx';
import { NetworkCard } from './network-card.tsx';
import { OperationCard } from './operation-card.tsx';
import { unreadResult } from './outcome.ts';
import { ReleaseCard } from './release-card.tsx';
import { ResultCard } from './result-card.tsx';
import { ServicesCard } from './services-card.tsx';
import { StationSkeleton } from './station-skeleton.tsx';
import { StatusFault } from './status-fault.tsx';
import { conditionWords } from './words.ts';

export function StationPage() {
  const { t } = useTranslation();
  const view = useStatus();
  const title = t('station.title');
  if (view.kind === 'loading') {
    return (
      <>
        <PageHead page={title}>
          <HealthSkeleton />
        </PageHead>
        <StationSkeleton />
      </>
    );
  }
  if (view.kind === 'fault') {
    return (
      <PageHead page={title}>
        <StatusFault {...view} />
      </PageHead>
    );
  }
  return <Shown title={title} status={view.status} freshness={view.freshness} />;
}

function Shown({ title, status, freshness }: { title: string; status: Status; freshness: Freshness }) {
  const { t } = useTranslation();
  const { readResult, clock } = useServices();
  const readId = useStore(readResult);
  const mayManage = useUser().role !== 'member';
  const stale = freshness.kind === 'stale';
  const result = status.operation ? null : unreadResult(status.history, readId, clock.now());
  const read = (id: string): void => {
    readResult.set(id);
    // The button that had the focus is gone with its card.
    document.getElementById('content')?.focus({ preventScroll: true });
  };
  const manage = { allowed: mayManage, possible: !stale && status.operation === null };
  return (
    <>
      <PageHead page={title} freshness={freshness} restarting={isSwitching(status.operation)}>
        <div className={classNames('transition-[filter] duration-500', stale && 'dimmed')}>
          <HealthLine status={status} />
        </div>
      </PageHead>
      <div
        className={classNames(
          'grid grid-cols-1 items-start gap-4 text-ink transition-[filter] duration-500 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem] lg:grid-rows-[auto_1fr]',
          stale && 'dimmed',
        )}
      >
        <div className="grid grid-cols-1 gap-4 md:gap-6">
          {status.operation && <OperationCard operation={status.operation} status={status} />}
          {result && <ResultCard entry={result} status={status} onRead={() => read(result.id)} />}
          {status.conditions.length > 0 && (
            <ConditionsCard conditions={status.conditions} words={(condition) => conditionWords(t, condition)} />
          )}
          <ReleaseCard status={status} manage={manage} />
          {status.quarantined.length > 0 && <HeldCard status={status} manage={manage} />}
        </div>
        <div className="grid grid-cols-1 gap-4 md:gap-6 lg:row-span-2">
          <ServicesCard services={status.stack.services} />
          <NetworkCard wifi={status.wifi} />
        </div>
        <HistoryCard history={status.history} />
      </div>
    </>
  );
}
