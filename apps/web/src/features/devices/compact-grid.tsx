import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual';
import { memo, useId, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { DeviceTypeMap } from '../../api/devices.ts';
import { heightOf, listHeight, rowsOf, sizes } from './compact-rows.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { LiveTile } from './device-tile.tsx';
import type { ZonePart } from './home-parts-decide.ts';
import { NoTiles, ZoneHead } from './zone-head.tsx';
import { ZoneSummary } from './zone-summary.tsx';

/** Rows beyond the screen that are drawn as well: a swipe or the Tab key must not outrun them. */
const overscan = 8;

type GridProps = {
  parts: readonly ZonePart[];
  titleOf: (part: ZonePart) => string;
  types: DeviceTypeMap;
  usable: boolean;
};

/**
 * Home with many devices: compact tiles of one height, of which only those near the screen are in the page. Every zone keeps its heading and
 * its list, in the height that all of its tiles would have, so nothing moves when tiles come and go.
 */
export function CompactGrid({ parts, titleOf, types, usable }: GridProps) {
  const columns = useColumns();
  const place = useRef<HTMLDivElement>(null);
  const rows = useMemo(
    () =>
      rowsOf(
        parts.map(({ devices }) => devices.length),
        columns,
      ),
    [parts, columns],
  );
  const shown = useShownRows(place, rows);
  return (
    <div ref={place} className="flex flex-col" style={{ gap: `${sizes.section}rem` }} onFocus={shown.keepFocused}>
      {parts.map((part, index) => (
        <CompactSection
          key={part.zone?.id ?? part.kind}
          number={index}
          title={titleOf(part)}
          part={part}
          columns={columns}
          rows={shown.ofPart(index)}
          types={types}
          usable={usable}
        />
      ))}
    </div>
  );
}

type Rows = ReturnType<typeof rowsOf>;

function useShownRows(place: React.RefObject<HTMLDivElement | null>, rows: Rows) {
  const [top, setTop] = useState(0);
  const [rem] = useState(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize));
  // The row with the focus stays, or the keyboard would lose its place.
  const focused = useRef<number | null>(null);
  useLayoutEffect(() => {
    const at = place.current?.getBoundingClientRect().top ?? 0;
    setTop(Math.round(at + scrollY));
  });
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => {
      const row = rows[index];
      return row === undefined ? 0 : rem * heightOf(row, rows[index + 1]);
    },
    overscan,
    scrollMargin: top,
    useFlushSync: false,
    rangeExtractor: (range) => {
      const near = defaultRangeExtractor(range);
      const kept = focused.current;
      return kept === null || kept >= rows.length || near.includes(kept) ? near : [...near, kept].sort((a, b) => a - b);
    },
  });
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rows]);
  const byPart = new Map<number, number[]>();
  for (const { index } of virtualizer.getVirtualItems()) {
    const row = rows[index];
    if (row?.kind === 'tiles') byPart.set(row.part, [...(byPart.get(row.part) ?? []), row.index]);
  }
  return {
    /** Numbers of the rows of a part, as text: the same text draws nothing again. */
    ofPart: (part: number): string => (byPart.get(part) ?? []).join(' '),
    keepFocused: ({ target }: React.FocusEvent): void => {
      const { row } = target.closest<HTMLElement>('[data-row]')?.dataset ?? {};
      const { part } = target.closest<HTMLElement>('[data-part]')?.dataset ?? {};
      const index = rows.findIndex(
        (one) => one.kind === 'tiles' && one.part === Number(part) && one.index === Number(row),
      );
      focused.current = index === -1 ? null : index;
    },
  };
}

const CompactSection = memo(function CompactSection({
  number,
  title,
  part,
  columns,
  rows,
  types,
  usable,
}: {
  number: number;
  title: string;
  part: ZonePart;
  columns: number;
  rows: string;
  types: DeviceTypeMap;
  usable: boolean;
}) {
  const id = useId();
  const { devices, all } = part;
  const indexes = rows === '' ? [] : rows.split(' ').map(Number);
  const tiles = indexes.flatMap((row) =>
    devices
      .slice(row * columns, (row + 1) * columns)
      .map((device, column) => (
        <LiveTile
          key={device.id}
          id={device.id}
          types={types}
          usable={usable}
          row={row}
          column={column}
          position={row * columns + column + 1}
          count={devices.length}
        />
      )),
  );
  return (
    <section aria-labelledby={id}>
      <ZoneHead id={id} title={title} isShort>
        {usable && (
          <ErrorBoundary instead={null}>
            <ZoneSummary name={title} devices={all} types={types} />
          </ErrorBoundary>
        )}
      </ZoneHead>
      {devices.length === 0 && <NoTiles isEmpty={all.length === 0} isShort />}
      {devices.length > 0 && (
        <ul
          data-part={number}
          className="grid"
          style={{
            height: `${listHeight(Math.ceil(devices.length / columns))}rem`,
            gap: `${sizes.gap}rem`,
            gridAutoRows: `${sizes.row}rem`,
            gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
          }}
        >
          {tiles}
        </ul>
      )}
    </section>
  );
});

const wide = [matchMediaOf('(width >= 64rem)'), matchMediaOf('(width >= 48rem)')] as const;

function useColumns(): number {
  return useSyncExternalStore(
    (listener) => {
      for (const one of wide) one().addEventListener('change', listener);
      return () => wide.forEach((one) => one().removeEventListener('change', listener));
    },
    () => 1 + wide.filter((one) => one().matches).length,
  );
}

function matchMediaOf(query: string): () => MediaQueryList {
  let found: MediaQueryList | undefined;
  return () => (found ??= matchMedia(query));
}
