import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Capability } from '@station/protocol/device-types';
import type { HistoryPoint } from '@station/protocol/devices';
import { formatNumber, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';

const heightPx = 224;
const shortestMs = 10 * 60 * 1000;
const font = '13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

type ChartProps = { capability: Capability; from: number; to: number; points: readonly HistoryPoint[] };

/** A line through the averages, in a band from the lowest to the highest. The text beside it has the same content. */
export function HistoryChart({ capability, from, to, points }: ChartProps) {
  const { t } = useTranslation();
  const locale = useLocale();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const words = (value: number): string => valueWords(t, locale, { capability, value: read(capability, value) });
    const options = { capability, from: beginning(from, to, points), to, locale, words };
    let chart = new uPlot(optionsOf(element, options), dataOf(capability, points, to), element);
    const again = (): void => {
      chart.destroy();
      chart = new uPlot(optionsOf(element, options), dataOf(capability, points, to), element);
    };
    const dark = matchMedia('(prefers-color-scheme: dark)');
    // A canvas does not follow the variables automatically.
    dark.addEventListener('change', again);
    const watching = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: heightPx }));
    watching.observe(element);
    return () => {
      dark.removeEventListener('change', again);
      watching.disconnect();
      chart.destroy();
    };
  }, [capability, from, to, points, t, locale]);
  return <div ref={place} aria-hidden className="h-56 overflow-hidden" />;
}

const read = ({ kind }: Capability, value: number): unknown => (kind === 'boolean' ? value >= 0.5 : value);

/** uPlot counts in seconds. The last value holds until now. */
function dataOf({ kind }: Capability, points: readonly HistoryPoint[], to: number): uPlot.AlignedData {
  const last = points.at(-1);
  if (!last) return [[], []];
  const held = [...points, { ...last, lowest: last.value, highest: last.value }];
  const times = [...points.map(({ at }) => Date.parse(at) / 1000), to / 1000];
  if (kind === 'boolean')
    return [times, held.map(({ value, highest }, n) => Number((n < points.length ? highest : value) > 0))];
  return [
    times,
    held.map(({ highest }) => highest),
    held.map(({ lowest }) => lowest),
    // Last, so that the line lies over the band.
    held.map(({ value }) => value),
  ];
}

/** The whole day, or less of it when there is little to show: the first minutes of a new device would be a speck at the edge. */
function beginning(from: number, to: number, points: readonly HistoryPoint[]): number {
  const first = Date.parse(points[0]?.at ?? '');
  return Number.isNaN(first) ? from : Math.max(from, Math.min(first, to - shortestMs));
}

function optionsOf(
  element: HTMLElement,
  {
    capability,
    from,
    to,
    locale,
    words,
  }: Omit<ChartProps, 'points'> & { locale: string; words: (v: number) => string },
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const { kind } = capability;
  const isSwitch = kind === 'boolean';
  const line: uPlot.Series = { stroke: color('--accent'), width: 2, points: { show: false } };
  const edge: uPlot.Series = { stroke: 'transparent', points: { show: false } };
  const axis = { stroke: color('--ink-soft'), font, ticks: { show: false } };
  const grid = { stroke: color('--line'), width: 1 };
  const hour = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
  return {
    width: element.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { show: false },
    padding: [12, 12, 0, 0],
    scales: {
      x: { time: true, range: [from / 1000, to / 1000] },
      y: isSwitch ? { range: [-0.1, 1.1] } : { range: (_chart, lowest, highest) => roomy(lowest, highest) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 72,
        size: 32,
        values: (_chart, splits) => splits.map((at) => hour.format(at * 1000)),
      },
      {
        ...axis,
        grid,
        size: isSwitch ? 80 : 52,
        ...(isSwitch ? { splits: [0, 1] } : { space: 44 }),
        values: (_chart, splits) =>
          splits.map((value) => (isSwitch ? words(value) : formatNumber(locale, capability, value))),
      },
    ],
    series: isSwitch
      ? [{}, { ...line, fill: color('--accent-soft'), fillTo: 0, ...stepped() }]
      : [{}, edge, edge, line],
    ...(isSwitch ? {} : { bands: [{ series: [1, 2] as [number, number], fill: color('--accent-soft') }] }),
  };
}

function stepped(): Pick<uPlot.Series, 'paths'> {
  const paths = uPlot.paths.stepped?.({ align: 1 });
  return paths ? { paths } : {};
}

/** A tenth of room above and below, and never a flat line at the edge. */
function roomy(lowest: number, highest: number): [number, number] {
  const room = Math.max((highest - lowest) * 0.1, 0.5);
  return [lowest - room, highest + room];
}
