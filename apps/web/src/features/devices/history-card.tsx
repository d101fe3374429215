import { useQuery } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { lazy, Suspense, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capability } from '@station/protocol/device-types';
import type { Device, HistoryPoint } from '@station/protocol/devices';
import { historyKey } from '../../api/devices.ts';
import { asProblem, type Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { capabilityName, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ProblemNote } from '../../ui/problem.tsx';

const dayMs = 24 * 60 * 60 * 1000;
const readEveryMs = 60_000;

/** The chart and its library come in a chunk of their own, when a device is looked at. */
const HistoryChart = lazy(async () => ({ default: (await import('./history-chart.tsx')).HistoryChart }));

/** The last day of one value, which one to be chosen. */
export function HistoryCard({ device, capabilities }: { device: Device; capabilities: readonly Capability[] }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const name = useId();
  const charted = capabilities.filter(({ kind }) => kind === 'number' || kind === 'boolean');
  const [chosen, choose] = useState<string | null>(null);
  const capability = charted.find((one) => one.key === chosen) ?? charted[0];
  if (!capability) return null;
  return (
    <Card title={t('devicePage.history.title')}>
      {charted.length > 1 && (
        <fieldset className="mb-4 flex flex-wrap gap-2">
          <legend className="sr-only">{t('devicePage.history.choose')}</legend>
          {charted.map((one) => (
            <label
              key={one.key}
              className={classNames(
                'flex min-h-11 cursor-pointer items-center rounded-xl border px-4 has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
                one === capability
                  ? 'border-accent bg-accent-soft font-strong text-accent'
                  : 'border-line-strong hover:bg-sunken',
              )}
            >
              <input
                type="radio"
                name={name}
                className="sr-only"
                checked={one === capability}
                onChange={() => choose(one.key)}
              />
              {capabilityName(t, locale, one)}
            </label>
          ))}
        </fieldset>
      )}
      <Day key={capability.key} device={device} capability={capability} />
    </Card>
  );
}

function Day({ device, capability }: { device: Device; capability: Capability }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { session, clock } = useServices();
  const query = useQuery<{ from: number; to: number; points: HistoryPoint[] }, Problem>({
    queryKey: historyKey(device.id, capability.key),
    queryFn: async ({ signal }) => {
      const to = clock.now();
      const search = new URLSearchParams({ capability: capability.key, from: new Date(to - dayMs).toISOString() });
      const path = `/api/devices/${device.id}/history?${search}`;
      return { from: to - dayMs, to, points: await session.call<HistoryPoint[]>('GET', path, { signal }) };
    },
    refetchInterval: ({ state }) => (state.status === 'error' ? 5_000 : readEveryMs),
  });
  if (!query.data) {
    if (query.error) return <ProblemNote problem={asProblem(query.error)} />;
    return (
      <div role="status" aria-label={t('app.loading')}>
        <Skeleton className="h-56 rounded-xl" />
        <Skeleton className="mt-2 h-5 w-48" />
      </div>
    );
  }
  const { points, from, to } = query.data;
  if (points.length === 0) return <p className="py-8 text-center text-ink-soft">{t('devicePage.history.empty')}</p>;
  const words = (value: unknown): string => valueWords(t, locale, { capability, value });
  const summary =
    capability.kind === 'boolean'
      ? switchedWords(t, words, points)
      : t('devicePage.history.range', {
          lowest: words(Math.min(...points.map(({ lowest }) => lowest))),
          highest: words(Math.max(...points.map(({ highest }) => highest))),
        });
  return (
    <figure aria-label={`${capabilityName(t, locale, capability)}. ${summary}`}>
      <Suspense fallback={<Skeleton className="h-56 rounded-xl" />}>
        <HistoryChart capability={capability} from={from} to={to} points={points} />
      </Suspense>
      <figcaption className="mt-2 text-small text-ink-soft">{summary}</figcaption>
    </figure>
  );
}

function switchedWords(t: TFunction, words: (value: unknown) => string, points: readonly HistoryPoint[]): string {
  const rises = points.filter(({ highest }, index) => highest > 0 && (points[index - 1]?.highest ?? 0) === 0).length;
  return t('devicePage.history.times', { what: words(true), count: rises });
}
