import { useTranslation } from 'react-i18next';
import type { ServiceStatus, Status, WifiStatus } from '@station/protocol/agent-api';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useStore, useUser } from '../../api/services.ts';
import { isSwitching, useBackendConditions, useStatus } from '../../api/station.ts';
import { formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ConditionsCard } from '../../ui/conditions-card.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { ClockCard } from './clock-card.tsx';
import { backendConditionWords } from './condition-words.ts';
import { HealthLine, HealthSkeleton } from './health-line.tsx';
import { networkLine, serviceState, toneOfService } from './health.ts';
import { HeldCard } from './held-card.tsx';
import { HistoryCard, OperationCard, ResultCard } from './operation-card.tsx';
import { unreadResult } from './outcome.ts';
import { ReleaseCard } from './release-card.tsx';
import { conditionWords, serviceName, shortImage } from './station-words.ts';

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
  const mayManage = useUser().role !== 'member';
  // Unknown devices have a page of their own.
  const others = useBackendConditions().filter(({ id }) => id !== 'unknown_devices');
  const conditions = [
    ...status.conditions.map((condition) => ({ ...condition, ...conditionWords(t, condition) })),
    ...others.map((condition) => ({ ...condition, ...backendConditionWords(t, condition) })),
  ];
  const stale = freshness.kind === 'stale';
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
          <ServicesCard services={status.stack.services} />
          <NetworkCard wifi={status.wifi} />
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

/** The station's network. Hidden where the agent does not manage it. */
export function NetworkCard({ wifi }: { wifi: WifiStatus }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const line = networkLine(wifi);
  if (line === null) return null;
  const { signal, ip } = wifi;
  const facts = [
    ...(line.key === 'wifi' && signal !== null
      ? [t('station.network.signal', { percent: formatPercent(locale, signal) })]
      : []),
    ...(ip === null ? [] : [t('station.network.address', { ip })]),
    ...(line.key === 'hotspot' ? [t('station.network.clients', { count: wifi.hotspot.clients })] : []),
  ];
  return (
    <Card title={t('station.network.title')}>
      <div className="flex gap-3">
        <ToneIcon tone={line.tone} className="mt-0.5" />
        <div className="min-w-0">
          <h3 className="font-strong break-words">{t(`station.network.${line.key}`, { ssid: line.ssid })}</h3>
          {facts.length > 0 && <p className="text-small text-ink-soft">{facts.join(dot)}</p>}
          {line.isWithoutInternet && <p className="mt-1 text-small">{t('station.network.noInternet')}</p>}
        </div>
      </div>
    </Card>
  );
}

export function ServicesCard({ services }: { services: readonly ServiceStatus[] }) {
  const { t } = useTranslation();
  return (
    <Card title={t('station.services.title')}>
      {services.length === 0 ? (
        <p className="text-ink-soft">{t('station.services.empty')}</p>
      ) : (
        <ul className="space-y-3">
          {services.map((service) => {
            const state = serviceState(service);
            return (
              <li key={service.name} className="flex gap-3">
                <ToneIcon tone={toneOfService[state]} className="mt-0.5" />
                <div className="min-w-0">
                  <h3 className="font-strong">{serviceName(t, service.name)}</h3>
                  <p className="text-small break-words text-ink-soft" title={service.image}>
                    {t(`station.services.state.${state}`) + dot}
                    <code>{shortImage(service.image)}</code>
                  </p>
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}
