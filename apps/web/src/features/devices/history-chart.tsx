import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Capability } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import { formatNumber, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { numberSeries, stepSeries, textsOf } from './history-view.ts';

const heightPx = 224;
const daySeconds = 24 * 60 * 60;
const font = '13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

type ChartProps = { capability: Capability; history: DeviceHistory; from: number; to: number };

/**
 * Numbers: a line through the averages, in a band from the lowest to the highest. Other values: steps. The text beside it has the same
 * content.
 */
export function HistoryChart({ capability, history, from, to }: ChartProps) {
  const { t } = useTranslation();
  const locale = useLocale();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const texts = history.kind === 'transitions' ? textsOf(history, capability.values) : [];
    const words = (value: unknown): string => valueWords(t, locale, { capability, value });
    const kind = history.kind === 'number' ? 'number' : texts.length > 0 ? 'text' : 'boolean';
    const options: Drawing = { kind, capability, from, to, locale, texts, words };
    const data = dataOf(history, texts);
    let chart = new uPlot(optionsOf(element, options), data, element);
    const again = (): void => {
      chart.destroy();
      chart = new uPlot(optionsOf(element, options), data, element);
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
  }, [capability, history, from, to, t, locale]);
  return <div ref={place} aria-hidden className="h-56 overflow-hidden" />;
}

function dataOf(history: DeviceHistory, texts: readonly string[]): uPlot.AlignedData {
  if (history.kind === 'transitions') {
    const { times, values } = stepSeries(history, texts);
    return [times, values];
  }
  const { times, values, lowest, highest } = numberSeries(history);
  // The line comes last, so that it lies over the band.
  return [times, highest, lowest, values];
}

type Drawing = Omit<ChartProps, 'history'> & {
  kind: 'number' | 'boolean' | 'text';
  locale: string;
  texts: readonly string[];
  words: (value: unknown) => string;
};

function optionsOf(element: HTMLElement, drawing: Drawing): uPlot.Options {
  const { kind, capability, from, to, locale, texts, words } = drawing;
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const line: uPlot.Series = { stroke: color('--accent'), width: 2, points: { show: false } };
  const edge: uPlot.Series = { stroke: 'transparent', points: { show: false } };
  const axis = { stroke: color('--ink-soft'), font, ticks: { show: false } };
  const grid = { stroke: color('--line'), width: 1 };
  const top = kind === 'text' ? Math.max(texts.length - 1, 1) : 1;
  const levels = Array.from({ length: top + 1 }, (_, level) => level);
  const levelWords = (level: number): string =>
    kind === 'text' ? (texts[level] === undefined ? '' : words(texts[level])) : words(level === 1);
  const isSteps = kind !== 'number';
  return {
    width: element.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { show: false },
    padding: [12, 12, 0, 0],
    scales: {
      x: { time: true, range: [from / 1000, to / 1000] },
      y: isSteps ? { range: [-0.1 * top, 1.1 * top] } : { range: (_chart, lowest, highest) => roomy(lowest, highest) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 72,
        size: 32,
        values: (_chart, splits, _axis, _space, stepSeconds) => timeWords(locale, splits, stepSeconds),
      },
      {
        ...axis,
        grid,
        size: isSteps ? stepsWidth(levels.map(levelWords)) : 52,
        ...(isSteps ? { splits: levels } : { space: 44 }),
        values: (_chart, splits) =>
          splits.map((value) => (isSteps ? levelWords(value) : formatNumber(locale, capability, value))),
      },
    ],
    series: isSteps
      ? [{}, { ...line, ...(kind === 'boolean' ? { fill: color('--accent-soft'), fillTo: 0 } : {}), ...stepped() }]
      : [{}, edge, edge, line],
    ...(isSteps ? {} : { bands: [{ series: [1, 2] as [number, number], fill: color('--accent-soft') }] }),
  };
}

/** Pixels for the words beside steps: about eight for a letter, and never most of a phone. */
const stepsWidth = (words: readonly string[]): number =>
  Math.min(140, 20 + 8 * Math.max(...words.map(({ length }) => length)));

/** The time of day; the date where a day begins or the steps are days. */
function timeWords(locale: string, splits: readonly number[], stepSeconds: number): string[] {
  const hour = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
  const date = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
  const isMidnight = (at: number): boolean => new Date(at * 1000).getHours() === 0 && at % 3600 === 0;
  return splits.map((at) => (stepSeconds >= daySeconds || isMidnight(at) ? date : hour).format(at * 1000));
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
