import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Capability } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import { useServices } from '../../api/services.ts';
import { valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { momentsOf, movedCursor } from './history-cursor.ts';
import { dataOf, type Drawing, heightPx, optionsOf } from './history-drawing.ts';
import { gesturesOf } from './history-gestures.ts';
import type { Span } from './history-span.ts';
import { textsOf } from './history-view.ts';

type ChartProps = {
  capability: Capability;
  histories: readonly DeviceHistory[];
  span: Span;
  cursorMs: number | null;
  /** What is at the cursor, or the whole in short. */
  words: string;
  onCursor(atMs: number | null): void;
  /** null: the whole range. */
  onSpan(span: Span | null): void;
  onZoom(factor: number): void;
};

/**
 * Numbers: lines through the averages; one alone is in a band from the lowest to the highest. Other values: steps, of booleans filled as
 * bars. For a keyboard and a screen reader it is a slider along the time, that says what is there.
 */
export function HistoryChart(props: ChartProps) {
  const { t } = useTranslation();
  const { histories, span, cursorMs, words } = props;
  const texts = useMemo(() => textsIn(histories, props.capability), [histories, props.capability]);
  const data = useMemo(() => dataOf(histories, texts), [histories, texts]);
  const place = useChart(props, data, texts);
  const press = (event: KeyboardEvent): void => {
    const at = movedCursor(event.key, cursorMs, momentsOf(histories, span));
    if (at !== null) props.onCursor(at);
    else if (event.key === '+' || event.key === '=') props.onZoom(0.5);
    else if (event.key === '-') props.onZoom(2);
    else if (event.key === 'Escape') props.onSpan(null);
    else return;
    event.preventDefault();
  };
  const breaks = data
    .slice(1)
    .map((line) => Array.from(line).filter((one, n) => one === null && line[n - 1] !== null).length);
  return (
    <div
      ref={place}
      role="slider"
      tabIndex={0}
      aria-label={t('devicePage.history.cursor')}
      aria-description={t('devicePage.history.keys')}
      aria-valuemin={Math.round(span.fromMs / 1000)}
      aria-valuemax={Math.round(span.toMs / 1000)}
      aria-valuenow={Math.round((cursorMs ?? span.toMs) / 1000)}
      aria-valuetext={words}
      onKeyDown={press}
      onBlur={() => props.onCursor(null)}
      data-breaks={Math.max(...breaks)}
      data-points={data[0].length}
      className="h-56 overflow-hidden rounded-xl focus-visible:outline-3 focus-visible:outline-accent"
    />
  );
}

const textsIn = ([first]: readonly DeviceHistory[], { values }: Capability): string[] =>
  first?.kind === 'transitions' ? textsOf(first, values) : [];

/** The chart in an element. It is made again when another kind of chart is needed, and only drawn again for other values or times. */
function useChart(props: ChartProps, data: uPlot.AlignedData, texts: readonly string[]) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const latest = useRef({ props, data });
  const { capability, histories, span, cursorMs } = props;
  const kind = histories[0]?.kind === 'number' ? 'number' : texts.length > 0 ? 'text' : 'boolean';
  const recipe = JSON.stringify([kind, histories.length, locale, texts, capability]);
  useEffect(() => {
    latest.current = { props, data };
  });
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const words = (value: unknown): string => valueWords(t, locale, { capability, value });
    const drawing: Drawing = { kind, capability, count: histories.length, locale, texts, words };
    const shown = (): Span => latest.current.props.span;
    const hooks = gesturesOf({
      span: shown,
      now: () => clock.now(),
      onSpan: (wanted) => latest.current.props.onSpan(wanted),
      onCursor: (atMs) => latest.current.props.onCursor(atMs),
    });
    const make = (): uPlot => new uPlot({ ...optionsOf(element, drawing, shown), hooks }, latest.current.data, element);
    chart.current = make();
    const again = (): void => {
      chart.current?.destroy();
      chart.current = make();
    };
    const dark = matchMedia('(prefers-color-scheme: dark)');
    // A canvas does not follow the variables automatically.
    dark.addEventListener('change', again);
    const watching = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: heightPx }));
    watching.observe(element);
    return () => {
      dark.removeEventListener('change', again);
      watching.disconnect();
      chart.current?.destroy();
      chart.current = null;
    };
  }, [recipe, t]);
  useEffect(() => chart.current?.setData(data), [data, span.fromMs, span.toMs, recipe]);
  useEffect(() => {
    const isShown = cursorMs !== null && cursorMs >= span.fromMs && cursorMs <= span.toMs;
    const left = isShown ? (chart.current?.valToPos(cursorMs / 1000, 'x') ?? -10) : -10;
    chart.current?.setCursor({ left, top: 0 }, false);
  }, [cursorMs, data, span.fromMs, span.toMs, recipe]);
  return place;
}
