import { useMutation } from '@tanstack/react-query';
import { Network } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import type { StationClock, StationClockRequest } from '@station/protocol/rest';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import type { Problem } from '../../api/request.ts';
import { useServices, useStore, useTick, useUser } from '../../api/services.ts';
import { conditionsKey, isSwitching, useBackendConditions, useStatus } from '../../api/station.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ConditionsCard } from '../../ui/conditions-card.tsx';
import { LinkRow } from '../../ui/links.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ProblemNote, ReadFault } from '../../ui/problem.tsx';
import { backendConditionWords } from './condition-words.ts';
import { HealthLine, HealthSkeleton } from './health-line.tsx';
import { HeldCard } from './held-card.tsx';
import { MachineCard } from './machine-card.tsx';
import { NetworkCard } from './network-card.tsx';
import { HistoryCard, OperationCard, ResultCard } from './operation-card.tsx';
import { unreadResult } from './outcome.ts';
import { ReleaseCard } from './release-card.tsx';
import { ServicesCard } from './services-card.tsx';
import { conditionWords } from './station-words.ts';

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
        <ReadFault isHeadline title={t('health.fault')} {...view} />
      </PageHead>
    );
  }
  return <Shown title={title} status={view.value} freshness={view.freshness} />;
}

function Shown({ title, status, freshness }: { title: string; status: Status; freshness: Freshness }) {
  const { t } = useTranslation();
  const { readResult, clock } = useServices();
  const readId = useStore(readResult);
  const { role } = useUser();
  const mayManage = isManager(role);
  // Unknown devices have a page of their own.
  const others = useBackendConditions().filter(({ id }) => id !== 'unknown_devices');
  const conditions = [
    ...status.conditions.map((condition) => ({ ...condition, ...conditionWords(t, condition) })),
    ...others.map((condition) => ({ ...condition, ...backendConditionWords(t, condition) })),
  ];
  const stale = freshness.kind === 'stale';
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
      <PageHead page={title} freshness={freshness} restarting={isSwitching(status.operation)}>
        <div className={classNames('transition-[filter] duration-500', stale && 'dimmed')}>
          <HealthLine status={{ ...status, conditions: [...status.conditions, ...others] }} />
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
          {conditions.length > 0 && <ConditionsCard conditions={conditions} />}
          {mayManage && others.some(({ id }) => id === 'clock_untrusted') && <ClockCard />}
          <ReleaseCard status={status} manage={manage} />
          {status.quarantined.length > 0 && <HeldCard status={status} manage={manage} />}
        </div>
        <div className="grid grid-cols-1 gap-4 md:gap-6 lg:row-span-2">
          <ServicesCard stack={status.stack} manage={manage} />
          <NetworkCard wifi={status.wifi} />
          {mayManage && <LinkRow href="/station/network" icon={Network} title={t('network.open')} />}
          {mayManage && <MachineCard usable={manage.possible} />}
        </div>
        <HistoryCard history={status.history} />
      </div>
    </>
  );
}

/** The shape of the Station page, so that nothing moves when the texts arrive. */
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

/** The agent may have to stop and start the service that sets the clock automatically. */
const setTimeoutMs = 30_000;

/** Sets a clock that nobody else sets: the station has no clock battery and no internet. */
function ClockCard() {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const setting = useMutation<StationClock, Problem>({
    mutationFn: () => {
      // Not the clock of the services: that one follows the station, which is wrong here.
      const body: StationClockRequest = { now: new Date().toISOString() };
      return session.call('POST /api/system/clock', { body, timeoutMs: setTimeoutMs });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: conditionsKey }),
  });
  return (
    <Card title={t('station.clock.title')}>
      <p className="mb-4 text-ink-soft">{t('station.clock.help')}</p>
      <Button disabled={setting.isPending} onClick={() => setting.mutate()}>
        {t('station.clock.use')}
      </Button>
      {setting.error && (
        <div className="mt-4">
          <ProblemNote problem={setting.error} />
        </div>
      )}
    </Card>
  );
}
