import uPlot from 'uplot';
import type { Capability } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import { formatNumber } from '../../i18n/device-words.ts';
import type { Span } from './history-span.ts';
import { isMidnight } from './activity-decide.ts';
import { looks, numberSeries, stepSeries, withBreaks } from './history-view.ts';

export const heightPx = 224;
const daySeconds = 24 * 60 * 60;
const font = '13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
/** From one boolean to the next above it, which takes 1. */
const laneHeight = 1.4;

export type Drawing = {
  kind: 'number' | 'boolean' | 'text';
  /** Of the first history; the others have the same unit. */
  capability: Capability;
  count: number;
  locale: string;
  /** Of a history of texts, in order from below. */
  texts: readonly string[];
  words: (value: unknown) => string;
};

/** Times in seconds, then a line for each history; one of numbers is alone between its highest and lowest. */
export function dataOf(histories: readonly DeviceHistory[], texts: readonly string[]): uPlot.AlignedData {
  const tables = histories.map((history, index): uPlot.AlignedData => {
    if (history.kind === 'transitions') {
      const { times, values } = stepSeries(history, texts);
      const base = baseOf(index, histories.length);
      return [times, values.map((value) => (value === null ? null : value + base))];
    }
    const { times, values, lowest, highest } = numberSeries(history);
    // The line comes last, so that it lies over the band.
    return histories.length === 1 ? [times, highest, lowest, values] : [times, values];
  });
  if (tables.length === 1 && tables[0]) return tables[0];
  const [times, ...lines] = uPlot.join(tables);
  return [times, ...lines.map((line) => withBreaks(Array.from(line)))] as uPlot.AlignedData;
}

/** The first boolean is at the top. */
const baseOf = (index: number, count: number): number => (count - 1 - index) * laneHeight;

/**
 * @param element has the colours.
 * @param span what is shown now; read again at each drawing.
 */
export function optionsOf(element: HTMLElement, drawing: Drawing, span: () => Span): uPlot.Options {
  const { kind, capability, count, locale } = drawing;
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: color('--ink-soft'), font, ticks: { show: false } };
  const grid = { stroke: color('--line'), width: 1 };
  const isSteps = kind !== 'number';
  const { levels, words, top } = levelsOf(drawing);
  const fill = color('--accent-soft');
  const edge: uPlot.Series = { stroke: 'transparent', points: { show: false } };
  const lines = Array.from({ length: count }, (_, index): uPlot.Series => {
    const look = looks[index % looks.length]!;
    const line: uPlot.Series = { stroke: color(look.color), width: 2, points: { show: false } };
    if (kind === 'number') return { ...line, dash: look.dash };
    return { ...line, ...(kind === 'boolean' ? { fill, fillTo: baseOf(index, count) } : {}), ...stepped() };
  });
  return {
    width: element.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false }, focus: { prox: -1 } },
    padding: [12, 12, 0, 0],
    scales: {
      x: { time: true, range: () => [span().fromMs / 1000, span().toMs / 1000] },
      y: isSteps
        ? { range: [-0.1 * top, 1.1 * top] }
        : { range: (_chart, lowest, highest) => roomy(lowest ?? 0, highest ?? 0) },
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
        size: isSteps ? stepsWidth(words) : 52,
        ...(isSteps ? { splits: levels } : { space: 44 }),
        values: (_chart, splits) =>
          isSteps
            ? splits.map((_, index) => words[index] ?? '')
            : splits.map((value) => formatNumber(locale, capability, value)),
      },
    ],
    series: kind === 'number' && count === 1 ? [{}, edge, edge, ...lines] : [{}, ...lines],
    ...(kind === 'number' && count === 1 ? { bands: [{ series: [1, 2] as [number, number], fill }] } : {}),
  };
}

/** Where steps lie, and the words beside them. Several booleans have the numbers of the legend. */
function levelsOf({ kind, count, texts, words }: Drawing): { levels: number[]; words: string[]; top: number } {
  if (kind === 'boolean' && count > 1) {
    const levels = Array.from({ length: count }, (_, index) => baseOf(index, count) + 0.5);
    return { levels, words: levels.map((_, index) => String(index + 1)), top: baseOf(0, count) + 1 };
  }
  const top = kind === 'text' ? Math.max(texts.length - 1, 1) : 1;
  const levels = Array.from({ length: top + 1 }, (_, level) => level);
  const wordsOf = (level: number): string =>
    kind === 'text' ? (texts[level] === undefined ? '' : words(texts[level])) : words(level === 1);
  return { levels, words: levels.map(wordsOf), top };
}

/** Pixels for the words beside steps: about eight for a letter, and never most of a phone. */
const stepsWidth = (words: readonly string[]): number =>
  Math.min(140, 20 + 8 * Math.max(...words.map(({ length }) => length)));

/** The time of day; the date where a day begins or the steps are days. */
function timeWords(locale: string, splits: readonly number[], stepSeconds: number): string[] {
  const hour = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
  const date = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
  return splits.map((at) => (stepSeconds >= daySeconds || isMidnight(at * 1000) ? date : hour).format(at * 1000));
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
