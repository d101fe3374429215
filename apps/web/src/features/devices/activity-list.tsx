import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { ActivityTopic } from '@station/protocol/activity';
import type { DeviceEvent } from '@station/protocol/devices';
import type { DeviceType } from '@station/protocol/device-types';
import { activityKey } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { formatExact } from '../../i18n/format.ts';
import { dateFormat } from '../../i18n/formats.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { contains } from '../../ui/contains.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { byDay, dayName } from './activity-decide.ts';
import { type EntryContext, entryWords, searchedText } from './activity-words.ts';

const pageSize = 40;
/** While a text is searched, this many pages are read without being asked to. */
const pagesAtOnce = 10;
/** Matches that fill a screen. */
const enough = 15;

type Guests = Pick<EntryContext, 'nameOf' | 'typeOf'>;

export type ActivityFilter = { about?: ActivityTopic; deviceId?: string; userId?: string };

/** What happened, newest first, by days; older ones on demand. */
export function ActivityList({
  filter,
  text = '',
  ...guests
}: {
  filter: ActivityFilter;
  /** What an entry must contain. */
  text?: string;
} & Guests) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { session } = useServices();
  const query = useInfiniteQuery({
    queryKey: activityKey(filter),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      session.page('GET /api/activity', pageParam, { query: { ...filter, limit: pageSize }, signal }),
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => (state.status === 'error' ? 5_000 : 60_000),
  });
  const all = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const context = { t, locale, ...guests };
  const isSearching = text.trim() !== '';
  const events = isSearching ? all.filter((event) => contains(searchedText(entryWords(context, event)), text)) : all;
  const pages = query.data?.pages.length ?? 0;
  const [searchUpTo, setSearchUpTo] = useState(pagesAtOnce);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const isReadingOn = isSearching && events.length < enough && hasNextPage && pages < searchUpTo;
  useEffect(() => {
    if (isReadingOn && !isFetchingNextPage) void fetchNextPage();
  }, [isReadingOn, isFetchingNextPage, fetchNextPage, pages]);
  const { list, fresh, showAll } = useHeldBack(events);
  if (!query.data) {
    if (query.error) return <ProblemNote error={query.error} />;
    return <Loading cards={['h-6', 'h-6', 'h-6']} />;
  }
  const isFiltered = isSearching || Object.keys(filter).length > 0;
  return (
    <>
      {fresh > 0 && (
        <Button kind="primary" className="sticky top-4 z-10 mx-auto mb-2 flex" onClick={showAll}>
          {t('device.activity.fresh', { count: fresh })}
        </Button>
      )}
      <div ref={list}>
        {events.length === 0 && !isReadingOn && (
          <p className="text-ink-soft">{t(isFiltered ? 'activityLog.nothing' : 'device.activity.empty')}</p>
        )}
        {byDay(events.slice(fresh)).map(({ key, at, entries }) => (
          <Day key={key} at={at} entries={entries} {...guests} />
        ))}
      </div>
      <p role="status" className="mt-3 text-small text-ink-soft empty:hidden">
        {isSearching && t('activityLog.searched', { count: all.length })}
      </p>
      {hasNextPage && (
        <Button
          kind="quiet"
          busy={isFetchingNextPage}
          className="mt-2"
          onClick={() => {
            setSearchUpTo(pages + pagesAtOnce);
            void fetchNextPage();
          }}
        >
          {t(isSearching ? 'activityLog.searchOlder' : 'device.activity.older')}
        </Button>
      )}
    </>
  );
}

/**
 * New events wait while the start of the list is above the window: they would move what is being read.
 * @returns the number of those that wait
 */
function useHeldBack(events: readonly DeviceEvent[]) {
  const list = useRef<HTMLDivElement>(null);
  const newest = events[0]?.id;
  const [seen, setSeen] = useState(newest);
  const fresh = Math.max(
    0,
    events.findIndex(({ id }) => id === seen),
  );
  useLayoutEffect(() => {
    const isAbove = (list.current?.getBoundingClientRect().top ?? 0) < 0;
    if (seen !== newest && !(isAbove && fresh > 0)) setSeen(newest);
  }, [seen, newest, fresh]);
  const showAll = (): void => {
    setSeen(newest);
    list.current?.scrollIntoView({ block: 'start' });
  };
  return { list, fresh, showAll };
}

function Day({ at, entries, ...guests }: { at: number; entries: readonly DeviceEvent[] } & Guests) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  const name = dayName(at, clock.now());
  return (
    <section className="not-first:mt-6">
      <h3 className="mb-1 text-small font-strong text-ink-soft first-letter:uppercase">
        {name === null
          ? dateFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' }).format(at)
          : t(`activityLog.${name}`)}
      </h3>
      <ul className="divide-y divide-line">
        {entries.map((event) => (
          <Entry key={event.id} event={event} {...guests} />
        ))}
      </ul>
    </section>
  );
}

function Entry({ event, ...guests }: { event: DeviceEvent } & Guests) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { subject, what, by } = entryWords({ t, locale, ...guests }, event);
  const at = Date.parse(event.at);
  return (
    <li className="flex items-baseline justify-between gap-4 py-2">
      <p className="min-w-0 break-words">
        {subject && (
          <>
            {subject.href === null ? (
              <span className="font-strong">{subject.name}</span>
            ) : (
              <Link
                href={subject.href}
                className="font-strong underline decoration-line-strong underline-offset-4 hover:decoration-current"
              >
                {subject.name}
              </Link>
            )}
            :{' '}
          </>
        )}
        {what}
        {by !== null && (
          <span className="text-ink-soft">
            {dot}
            {by}
          </span>
        )}
      </p>
      <time
        dateTime={event.at}
        title={formatExact(locale, at)}
        className="shrink-0 text-small text-ink-soft tabular-nums"
      >
        {dateFormat(locale, { timeStyle: 'short' }).format(at)}
      </time>
    </li>
  );
}

/** What happened at the device, newest first. */
export function ActivityCard({ deviceId, type }: { deviceId: string; type: DeviceType | undefined }) {
  const { t } = useTranslation();
  return (
    <Card title={t('device.activity.title')}>
      <ActivityList filter={{ deviceId }} nameOf={null} typeOf={() => type} />
    </Card>
  );
}
