import { ChevronLeft, ChevronRight, Download, ZoomIn, ZoomOut } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceHistory } from '@station/protocol/device-history';
import { readFile, saveFile } from '../../api/download.ts';
import { asProblem, pathOf, type Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { capabilityName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Skeleton } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import type { Legend } from './history-compare.tsx';
import { joinedCsv } from './history-csv.ts';
import { answerAt } from './history-cursor.ts';
import { askedOf, type Charted, FollowReports, useHistories, useSettled, type Wanted } from './history-reads.ts';
import { moved, type Span, zoomed } from './history-span.ts';
import { gapMs, type Range, ranges, shownFrom } from './history-view.ts';
import { answerWords, cursorTime, lengthWords, summaryWords } from './history-words.ts';

/** The chart and its library come in a chunk of their own, when a device is looked at. */
const HistoryChart = lazy(async () => ({ default: (await import('./history-chart.tsx')).HistoryChart }));

type FigureParts = { shown: readonly Charted[]; range: Range; legend: Legend };

/** A chart with what it says at the cursor, and buttons for what fingers and the wheel do. */
export function HistoryFigure({ shown, range, legend }: FigureParts) {
  const { clock } = useServices();
  const [span, setSpan] = useState<Span | null>(null);
  const wanted = { range, span: useSettled(span) };
  const { histories, error } = useHistories(shown, wanted);
  const known = useMemo(() => histories.filter((one) => one !== null), [histories]);
  const whole = wholeOf(known, ranges[range], clock.now());
  const view = span ?? whole;
  const zoom = (factor: number): void => setSpan(zoomed(view, factor, (view.fromMs + view.toMs) / 2, clock.now()));
  return (
    <>
      {span === null &&
        shown.map((one) => <FollowReports key={one.device.id + one.capability.key} charted={one} range={range} />)}
      {known.length === 0 ? (
        <Waiting error={error} />
      ) : (
        <Drawn
          shown={shown}
          histories={histories}
          error={error}
          view={view}
          zoom={zoom}
          setSpan={setSpan}
          legend={legend}
          isZoomed={span !== null}
        />
      )}
      {known.length > 0 && (
        <div className="mt-2 -ml-3 flex flex-wrap items-center">
          <Move view={view} isZoomed={span !== null} onSpan={setSpan} zoom={zoom} />
          <HistoryExport shown={shown} wanted={wanted} />
        </div>
      )}
    </>
  );
}

function wholeOf(histories: readonly DeviceHistory[], lengthMs: number, nowMs: number): Span {
  const toMs = Math.max(...histories.map(({ to }) => Date.parse(to)));
  if (histories.length === 0) return { fromMs: nowMs - lengthMs, toMs: nowMs };
  return { fromMs: Math.min(...histories.map((one) => shownFrom(one, toMs))), toMs };
}

function Waiting({ error }: { error: unknown }) {
  if (error !== null) return <ProblemNote error={error} />;
  return <Loading cards={['h-56', 'h-5 w-48']} />;
}

type DrawnParts = Omit<FigureParts, 'range'> & {
  histories: readonly (DeviceHistory | null)[];
  error: unknown;
  view: Span;
  isZoomed: boolean;
  zoom(factor: number): void;
  setSpan(span: Span | null): void;
};

function Drawn({ shown, histories, error, view, isZoomed, zoom, setSpan, legend }: DrawnParts): ReactNode {
  const { t } = useTranslation();
  const locale = useLocale();
  const [cursorMs, setCursor] = useState<number | null>(null);
  const known = useMemo(() => histories.filter((one) => one !== null), [histories]);
  const [own] = shown;
  const first = histories[0] ?? known[0];
  if (!own || !first) return null;
  if (!isZoomed && known.every(({ points }) => points.length === 0))
    return <p className="py-8 text-center text-ink-soft">{t('devicePage.history.empty')}</p>;
  const summary =
    first.points.length === 0 ? t('devicePage.history.empty') : summaryWords(t, locale, own.capability, first);
  const atMs = cursorMs ?? view.toMs;
  const said = shown.map(({ capability }, index) => {
    const history = histories[index] ?? null;
    return history === null
      ? '…'
      : answerWords(t, locale, capability, answerAt(history, Math.min(atMs, Date.parse(history.to))));
  });
  const time = cursorTime(locale, atMs, view.toMs - view.fromMs);
  const named = shown.length === 1 ? said.join() : shown.map(({ device }, n) => `${device.name} ${said[n]}`).join('; ');
  const words = cursorMs === null ? summary : `${time}: ${named}`;
  const gaps = first.gaps.filter(({ from, to }) => Date.parse(to) > view.fromMs && Date.parse(from) < view.toMs);
  const missing = gapMs({ ...first, gaps });
  return (
    <figure
      aria-label={`${capabilityName(t, locale, own.capability)}. ${summary}`}
      data-resolution={first.resolutionMs}
      data-length={view.toMs - view.fromMs}
    >
      <p aria-hidden className="mb-1 min-h-10 text-small">
        {cursorMs === null ? (
          <span className="text-ink-soft">{t('devicePage.history.hint')}</span>
        ) : (
          <>
            <span className="text-ink-soft">{time}</span>
            {shown.length === 1 && <strong className="block font-strong">{said[0]}</strong>}
          </>
        )}
      </p>
      <div className={classNames(error !== null && 'dimmed')}>
        <Suspense fallback={<Skeleton className="h-56 rounded-xl" />}>
          <HistoryChart
            capability={own.capability}
            histories={known}
            span={view}
            cursorMs={cursorMs}
            words={words}
            onCursor={setCursor}
            onSpan={setSpan}
            onZoom={zoom}
          />
        </Suspense>
      </div>
      {legend(said)}
      <figcaption className="mt-2 text-small text-ink-soft">
        {shown.length === 1 && <p>{summary}</p>}
        {missing > 0 && <p>{t('devicePage.history.gaps', { duration: lengthWords(t, locale, missing) })}</p>}
        <p>{t('devicePage.history.resolution', { duration: lengthWords(t, locale, first.resolutionMs) })}</p>
        {error !== null && <p>{t('devicePage.history.stale')}</p>}
      </figcaption>
    </figure>
  );
}

type MoveParts = { view: Span; isZoomed: boolean; onSpan(span: Span | null): void; zoom(factor: number): void };

function Move({ view, isZoomed, onSpan, zoom }: MoveParts) {
  const { t } = useTranslation();
  const { clock } = useServices();
  const look = { kind: 'quiet', className: 'min-w-11 px-0' } as const;
  return (
    <div role="group" aria-label={t('devicePage.history.section')} className="flex flex-wrap items-center">
      <Button
        {...look}
        aria-label={t('devicePage.history.earlier')}
        onClick={() => onSpan(moved(view, -0.5, clock.now()))}
      >
        <ChevronLeft aria-hidden className="size-5" />
      </Button>
      <Button
        {...look}
        aria-label={t('devicePage.history.later')}
        disabled={!isZoomed}
        onClick={() => onSpan(moved(view, 0.5, clock.now()))}
      >
        <ChevronRight aria-hidden className="size-5" />
      </Button>
      <Button {...look} aria-label={t('devicePage.history.closer')} onClick={() => zoom(0.5)}>
        <ZoomIn aria-hidden className="size-5" />
      </Button>
      <Button {...look} aria-label={t('devicePage.history.wider')} onClick={() => zoom(2)}>
        <ZoomOut aria-hidden className="size-5" />
      </Button>
      {isZoomed && (
        <Button kind="quiet" onClick={() => onSpan(null)}>
          {t('devicePage.history.whole')}
        </Button>
      )}
    </div>
  );
}

/** Saves what the chart shows: the station's own file, or one of several devices. */
function HistoryExport({ shown, wanted }: { shown: readonly Charted[]; wanted: Wanted }) {
  const { t } = useTranslation();
  const { session, clock } = useServices();
  const [state, setState] = useState<'idle' | 'busy' | Problem>('idle');
  const save = async (): Promise<void> => {
    const now = clock.now();
    const files = [];
    // One after the other: the station sends a person one export at a time.
    for (const one of shown) {
      const path = pathOf('GET /api/devices/:id/history.csv', askedOf(one, wanted, now));
      files.push(await readFile(session, path));
    }
    const [first] = files;
    if (!first) return;
    if (files.length === 1) return saveFile(first);
    const texts = await Promise.all(files.map(({ content }) => content.text()));
    const csv = joinedCsv(texts.map((text, index) => ({ device: shown[index]?.device.name ?? '', text })));
    saveFile({ name: 'history.csv', content: new Blob([csv], { type: 'text/csv' }) });
  };
  const start = (): void => {
    setState('busy');
    save().then(
      () => setState('idle'),
      (error: unknown) => setState(asProblem(error)),
    );
  };
  return (
    <>
      <Button kind="quiet" className="px-3" onClick={start} disabled={state === 'busy'}>
        <Download aria-hidden className="size-5" />
        {t(state === 'busy' ? 'devicePage.history.exporting' : 'devicePage.history.export')}
      </Button>
      {typeof state === 'object' && <ProblemNote error={state} />}
    </>
  );
}
