import { useInfiniteQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceEvent } from '@station/protocol/devices';
import type { DeviceType } from '@station/protocol/device-types';
import { activityKey, useDevices, useDeviceTypes } from '../../api/devices.ts';
import { asProblem, type Page } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { eventWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { PageHead } from '../../ui/page.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';

/** What happened at all devices. */
export function ActivityPage() {
  const { t } = useTranslation();
  const view = useDevices();
  const types = useDeviceTypes();
  const devices = new Map(view.kind === 'shown' ? view.value.map((device) => [device.id, device]) : []);
  const stale = view.kind === 'shown' && view.freshness.kind === 'stale';
  return (
    <>
      <PageHead page={t('activity.title')} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <h1 className="text-title font-strong md:text-value">{t('activity.title')}</h1>
        <p className="text-ink-soft">{t('activity.lead')}</p>
      </PageHead>
      <section
        aria-label={t('activity.title')}
        className={classNames(
          'max-w-3xl rounded-2xl border border-line bg-surface p-4 text-ink shadow-lift transition-[filter] duration-500 md:p-6',
          stale && 'dimmed',
        )}
      >
        <ActivityList
          deviceId={null}
          nameOf={(id) => devices.get(id)?.name ?? (view.kind === 'shown' ? t('activity.removed') : '…')}
          typeOf={(id) => types?.get(devices.get(id)?.type ?? '')}
        />
      </section>
    </>
  );
}

const pageSize = 30;

/** Events of one device, or of all of them, newest first; older ones on demand. */
export function ActivityList({
  deviceId,
  nameOf,
  typeOf,
}: {
  deviceId: string | null;
  /** Names the device of an event; null when there is only one. */
  nameOf: ((deviceId: string) => string) | null;
  typeOf: (deviceId: string) => DeviceType | undefined;
}) {
  const { t } = useTranslation();
  const { session } = useServices();
  const path = deviceId === null ? '/api/activity' : `/api/devices/${deviceId}/events`;
  const query = useInfiniteQuery({
    queryKey: activityKey(deviceId),
    initialPageParam: `${path}?limit=${pageSize}`,
    queryFn: ({ pageParam, signal }) => session.call<Page<DeviceEvent>>('GET', pageParam, { signal, pages: 'one' }),
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => (state.status === 'error' ? 5_000 : 60_000),
  });
  if (!query.data) {
    if (query.error) return <ProblemNote problem={asProblem(query.error)} />;
    return (
      <div role="status" aria-label={t('app.loading')} className="space-y-3">
        {Array.from({ length: 3 }, (_, row) => (
          <Skeleton key={row} className="h-6" />
        ))}
      </div>
    );
  }
  const events = query.data.pages.flatMap(({ items }) => items);
  if (events.length === 0) return <p className="text-ink-soft">{t('device.activity.empty')}</p>;
  return (
    <>
      <ul className="divide-y divide-line">
        {events.map((event) => (
          <li key={event.id} className="flex flex-wrap items-baseline justify-between gap-x-4 py-2">
            <Words event={event} nameOf={nameOf} typeOf={typeOf} />
            <span className="text-small text-ink-soft">
              <TimeAgo at={event.at} />
            </span>
          </li>
        ))}
      </ul>
      {query.hasNextPage && (
        <Button
          kind="quiet"
          busy={query.isFetchingNextPage}
          className="mt-2"
          onClick={() => void query.fetchNextPage()}
        >
          {t('device.activity.older')}
        </Button>
      )}
    </>
  );
}

function Words({
  event,
  nameOf,
  typeOf,
}: { event: DeviceEvent } & Pick<Parameters<typeof ActivityList>[0], 'nameOf' | 'typeOf'>) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { deviceId, kind, data } = event;
  if (kind === 'notification') {
    return (
      <span className="min-w-0 break-words">
        <Link
          href={`/automations/${String(data['automationId'])}`}
          className="font-strong underline decoration-line-strong underline-offset-4 hover:decoration-current"
        >
          {String(data['automationName'])}
        </Link>
        : {String(data['message'])}
      </span>
    );
  }
  return (
    <span>
      {nameOf && deviceId !== null && <span className="font-strong">{nameOf(deviceId)}: </span>}
      {eventWords(t, locale, data, deviceId === null ? undefined : typeOf(deviceId))}
    </span>
  );
}

/** What happened at the device, newest first. */
export function ActivityCard({ deviceId, type }: { deviceId: string; type: DeviceType | undefined }) {
  const { t } = useTranslation();
  return (
    <Card title={t('device.activity.title')}>
      <ActivityList deviceId={deviceId} nameOf={null} typeOf={() => type} />
    </Card>
  );
}
