import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { TFunction } from 'i18next';
import { lazy, Suspense, useEffect, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capability } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import type { Device } from '@station/protocol/devices';
import { historyKey } from '../../api/devices.ts';
import { download } from '../../api/download.ts';
import { asProblem, type Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { capabilityName, valueWords } from '../../i18n/device-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { changesOf, gapMs, type Range, ranges, sharesOf, shownFrom, withReport } from './history-view.ts';

const readEveryMs = 60_000;

/** The chart and its library come in a chunk of their own, when a device is looked at. */
const HistoryChart = lazy(async () => ({ default: (await import('./history-chart.tsx')).HistoryChart }));

/** The history of one value, which one and how far back to be chosen. */
export function HistoryCard({ device, capabilities }: { device: Device; capabilities: readonly Capability[] }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const charted = capabilities.filter(({ kind }) => kind !== 'text');
  const [chosen, choose] = useState<string | null>(null);
  const [range, setRange] = useState<Range>('day');
  const capability = charted.find((one) => one.key === chosen) ?? charted[0];
  if (!capability) return null;
  return (
    <Card title={t('devicePage.history.title')}>
      {charted.length > 1 && (
        <Choice
          legend={t('devicePage.history.choose')}
          options={charted.map((one) => ({ value: one.key, words: capabilityName(t, locale, one) }))}
          chosen={capability.key}
          onChoose={choose}
        />
      )}
      <Choice
        legend={t('devicePage.history.range')}
        options={rangeNames.map((value) => ({ value, words: t(`devicePage.history.ranges.${value}`) }))}
        chosen={range}
        onChoose={setRange}
      />
      <Shown key={`${capability.key} ${range}`} device={device} capability={capability} range={range} />
    </Card>
  );
}

const rangeNames = Object.keys(ranges) as Range[];

function Choice<T extends string>({
  legend,
  options,
  chosen,
  onChoose,
}: {
  legend: string;
  options: readonly { value: T; words: string }[];
  chosen: T;
  onChoose: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset className="mb-4 flex flex-wrap gap-2">
      <legend className="sr-only">{legend}</legend>
      {options.map(({ value, words }) => (
        <label
          key={value}
          className={classNames(
            'flex min-h-11 min-w-11 cursor-pointer items-center justify-center rounded-xl border px-3 has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
            value === chosen
              ? 'border-accent bg-accent-soft font-strong text-accent'
              : 'border-line-strong hover:bg-sunken',
          )}
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={value === chosen}
            onChange={() => onChoose(value)}
          />
          {words}
        </label>
      ))}
    </fieldset>
  );
}

type ShownParts = { device: Device; capability: Capability; range: Range };

function Shown({ device, capability, range }: ShownParts) {
  const { t } = useTranslation();
  const locale = useLocale();
  const query = useHistory({ device, capability, range });
  if (!query.data) {
    if (query.error) return <ProblemNote problem={asProblem(query.error)} />;
    return (
      <div role="status" aria-label={t('app.loading')}>
        <Skeleton className="h-56 rounded-xl" />
        <Skeleton className="mt-2 h-5 w-48" />
      </div>
    );
  }
  const history = query.data;
  if (history.points.length === 0)
    return <p className="py-8 text-center text-ink-soft">{t('devicePage.history.empty')}</p>;
  const to = Date.parse(history.to);
  const summary = summaryWords(t, locale, capability, history);
  const missing = gapMs({
    ...history,
    gaps: history.gaps.filter((gap) => Date.parse(gap.to) > shownFrom(history, to)),
  });
  return (
    <figure aria-label={`${capabilityName(t, locale, capability)}. ${summary}`}>
      <div className={classNames(query.error !== null && 'dimmed')}>
        <Suspense fallback={<Skeleton className="h-56 rounded-xl" />}>
          <HistoryChart capability={capability} history={history} from={shownFrom(history, to)} to={to} />
        </Suspense>
      </div>
      <figcaption className="mt-2 text-small text-ink-soft">
        <p>{summary}</p>
        {missing > 0 && <p>{t('devicePage.history.gaps', { duration: lengthWords(t, locale, missing) })}</p>}
        <p>{t('devicePage.history.resolution', { duration: lengthWords(t, locale, history.resolutionMs) })}</p>
        {query.error !== null && <p>{t('devicePage.history.stale')}</p>}
      </figcaption>
      <Export device={device} capability={capability} range={range} />
    </figure>
  );
}

/** What the station answered, with each report of the device since then. */
function useHistory({ device, capability: { key }, range }: ShownParts) {
  const { session, clock } = useServices();
  const queries = useQueryClient();
  const at = device.stateTimes[key] ?? device.stateAt;
  const value = device.state[key];
  const queryKey = [...historyKey(device.id, key), range];
  const query = useQuery<DeviceHistory, Problem>({
    queryKey,
    queryFn: ({ signal }) =>
      session.call<DeviceHistory>('GET', pathOf(device, key, clock.now() - ranges[range], 'history'), { signal }),
    refetchInterval: ({ state }) => (state.status === 'error' ? 5_000 : readEveryMs),
  });
  const answeredAt = query.dataUpdatedAt;
  useEffect(() => {
    if (at === null) return;
    queries.setQueryData<DeviceHistory>(queryKey, (history) => history && withReport(history, at, value));
  }, [at, value, answeredAt === 0]);
  useEffect(() => {
    // A gap begins or ends.
    void queries.invalidateQueries({ queryKey });
  }, [device.status]);
  return query;
}

function pathOf({ id }: Device, capability: string, fromMs: number, what: 'history' | 'history.csv'): string {
  const search = new URLSearchParams({ capability, from: new Date(fromMs).toISOString() });
  return `/api/devices/${id}/${what}?${search}`;
}

function Export({ device, capability, range }: ShownParts) {
  const { t } = useTranslation();
  const { session, clock } = useServices();
  const [state, setState] = useState<'idle' | 'busy' | Problem>('idle');
  const save = (): void => {
    setState('busy');
    download(session, pathOf(device, capability.key, clock.now() - ranges[range], 'history.csv')).then(
      () => setState('idle'),
      (error: unknown) => setState(asProblem(error)),
    );
  };
  return (
    <div className="mt-3">
      <Button kind="quiet" onClick={save} disabled={state === 'busy'}>
        <Download aria-hidden className="size-5" />
        {t(state === 'busy' ? 'devicePage.history.exporting' : 'devicePage.history.export')}
      </Button>
      {typeof state === 'object' && <ProblemNote problem={state} />}
    </div>
  );
}

/** Days in words; shorter times as anywhere else. */
function lengthWords(t: TFunction, locale: string, ms: number): string {
  const days = Math.round(ms / ranges.day);
  return ms < 2 * ranges.day && ms !== ranges.day
    ? formatDuration(locale, ms)
    : t('devicePage.history.days', { count: days });
}

function summaryWords(t: TFunction, locale: string, capability: Capability, history: DeviceHistory): string {
  const words = (value: unknown): string => valueWords(t, locale, { capability, value });
  if (history.kind === 'number') {
    const { points } = history;
    return t('devicePage.history.numbers', {
      lowest: words(Math.min(...points.map(({ lowest }) => lowest))),
      highest: words(Math.max(...points.map(({ highest }) => highest))),
      last: words(points.at(-1)?.value),
    });
  }
  const shares = sharesOf(history);
  const shown = shares.find(({ value }) => value === true) ?? shares[0];
  const share = shown?.share ?? 0;
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: share < 0.1 ? 1 : 0 });
  const count = changesOf(history);
  return t('devicePage.history.shares', {
    what: words(shown?.value ?? true),
    share: percent.format(share),
    changes: t('devicePage.history.changes', { count, formatted: new Intl.NumberFormat(locale).format(count) }),
  });
}
