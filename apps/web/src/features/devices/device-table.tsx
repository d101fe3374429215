import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp, BatteryLow, BatteryMedium } from 'lucide-react';
import { memo, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import { type DeviceTypeMap, hasLowBattery, useDevice } from '../../api/devices.ts';
import { valueWords } from '../../i18n/device-words.ts';
import { formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { classNames } from '../../ui/class-names.ts';
import { TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { DeviceIcon } from './device-icon.tsx';
import { type ListChoice, type Listed, type SortKey, sortKeys } from './device-list-decide.ts';
import { useControlledDevice } from './device-view.ts';

type ListProps = {
  listed: readonly Listed[];
  types: DeviceTypeMap;
  chosen: ReadonlySet<string>;
  /** Null: nothing can be done with many. */
  onChoose: ((id: string, isChosen: boolean) => void) | null;
};

/** In rem; every row has the same height, so that those beyond the screen need not be drawn. */
const rowHeight = { table: 3.5, list: 5 };
const overscan = 10;

/** The rows near the screen, and the space that those before and after them take. */
function useShownRows(count: number, rowRem: number) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [rem] = useState(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize));
  useLayoutEffect(() => setTop(Math.round((place.current?.getBoundingClientRect().top ?? 0) + scrollY)));
  const height = rem * rowRem;
  const virtualizer = useWindowVirtualizer({
    count,
    estimateSize: () => height,
    overscan,
    scrollMargin: top,
    useFlushSync: false,
  });
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, height]);
  const indexes = virtualizer.getVirtualItems().map(({ index }) => index);
  const first = indexes[0] ?? 0;
  const last = indexes.at(-1) ?? -1;
  return { place, first, last, before: first * height, after: Math.max(0, count - 1 - last) * height };
}

/** On a wide screen. A head sorts by its column. */
export function DeviceTable({
  listed,
  types,
  chosen,
  onChoose,
  choice,
  onSort,
}: ListProps & { choice: ListChoice; onSort: (key: SortKey) => void }) {
  const { t } = useTranslation();
  const rows = useShownRows(listed.length, rowHeight.table);
  return (
    <div ref={rows.place} className="rounded-2xl border border-line bg-surface shadow-lift">
      <table aria-rowcount={listed.length + 1} className="w-full table-fixed border-collapse text-left">
        <caption className="sr-only">{t('nav.devices')}</caption>
        <thead>
          <tr aria-rowindex={1} className="text-small text-ink-soft">
            {onChoose && (
              <td className="w-12">
                <span className="sr-only">{t('devices.column.chosen')}</span>
              </td>
            )}
            {sortKeys.map((key) => (
              <Head key={key} name={key} choice={choice} onSort={onSort} />
            ))}
            <th scope="col" className="w-[9%] px-3 font-plain">
              {t('device.capability.battery')}
            </th>
            <th scope="col" className="w-[13%] px-3 font-plain">
              {t('devices.column.value')}
            </th>
          </tr>
        </thead>
        <tbody>
          <Space height={rows.before} />
          {listed.slice(rows.first, rows.last + 1).map((one, index) => (
            <TableRow
              key={one.device.id}
              id={one.device.id}
              zoneName={one.zoneName}
              typeName={one.typeName}
              offered={one.offered}
              types={types}
              rowIndex={rows.first + index + 2}
              isChosen={chosen.has(one.device.id)}
              onChoose={onChoose}
            />
          ))}
          <Space height={rows.after} />
        </tbody>
      </table>
    </div>
  );
}

function Space({ height }: { height: number }) {
  if (height === 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={8} style={{ height }} />
    </tr>
  );
}

const widths: Record<SortKey, string> = {
  name: '',
  zone: 'w-[13%]',
  type: 'w-[14%]',
  seen: 'w-[13%]',
  firmware: 'w-[11%]',
};

function Head({ name, choice, onSort }: { name: SortKey; choice: ListChoice; onSort: (key: SortKey) => void }) {
  const { t } = useTranslation();
  const isSorted = choice.sort === name;
  const Arrow = choice.descending ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (choice.descending ? 'descending' : 'ascending') : undefined}
      className={classNames('px-1 font-plain', widths[name])}
    >
      <button
        type="button"
        onClick={() => onSort(name)}
        className={classNames(
          'flex min-h-11 w-full items-center gap-1 rounded-xl px-2 hover:text-ink',
          isSorted && 'font-strong text-ink',
        )}
      >
        {t(`devices.column.${name}`)}
        {isSorted && <Arrow aria-hidden className="size-4" />}
      </button>
    </th>
  );
}

type RowProps = Pick<Listed, 'zoneName' | 'typeName' | 'offered'> & {
  id: string;
  types: DeviceTypeMap;
  isChosen: boolean;
  onChoose: ListProps['onChoose'];
};

const TableRow = memo(function TableRow({ id, rowIndex, ...props }: RowProps & { rowIndex: number }) {
  const device = useDevice(id);
  const row = useRow(props, id);
  if (!device || !row) return null;
  const cell = 'truncate px-3 text-small';
  return (
    <tr
      aria-rowindex={rowIndex}
      className={classNames('h-14 border-t border-line', props.isChosen && 'bg-accent-soft')}
    >
      {props.onChoose && <td>{row.checkbox}</td>}
      <td className="px-3">
        <div className="flex min-w-0 items-center gap-3">
          {row.icon}
          {row.link}
        </div>
      </td>
      <td className={cell}>{props.zoneName ?? '–'}</td>
      <td className={cell}>{props.typeName}</td>
      <td className={cell}>{device.lastSeenAt === null ? '–' : <TimeAgo at={device.lastSeenAt} />}</td>
      <td className={cell}>{row.firmware ?? '–'}</td>
      <td className={cell}>{row.battery ?? '–'}</td>
      <td className={cell}>{row.state}</td>
    </tr>
  );
});

/** On a phone. */
export function DeviceList({ listed, types, chosen, onChoose }: ListProps) {
  const rows = useShownRows(listed.length, rowHeight.list);
  return (
    <div ref={rows.place}>
      <ul
        className="divide-y divide-line rounded-2xl border border-line bg-surface shadow-lift"
        style={{ paddingTop: rows.before, paddingBottom: rows.after }}
      >
        {listed.slice(rows.first, rows.last + 1).map((one, index) => (
          <ListRow
            key={one.device.id}
            id={one.device.id}
            zoneName={one.zoneName}
            typeName={one.typeName}
            offered={one.offered}
            types={types}
            position={rows.first + index + 1}
            count={listed.length}
            isChosen={chosen.has(one.device.id)}
            onChoose={onChoose}
          />
        ))}
      </ul>
    </div>
  );
}

const ListRow = memo(function ListRow({
  id,
  position,
  count,
  ...props
}: RowProps & { position: number; count: number }) {
  const row = useRow(props, id);
  if (!row) return null;
  return (
    <li
      aria-posinset={position}
      aria-setsize={count}
      className={classNames(
        'flex h-20 items-center gap-3 pr-4',
        props.onChoose ? 'pl-1' : 'pl-4',
        props.isChosen && 'bg-accent-soft',
      )}
    >
      {props.onChoose && row.checkbox}
      {row.icon}
      <div className="min-w-0 flex-1">
        <div className="flex items-center justify-between gap-3">
          {row.link}
          <span className="flex flex-none gap-3 text-small">
            {row.battery}
            {props.offered !== null && row.firmware}
          </span>
        </div>
        <div className="flex justify-between gap-3 text-small">
          <span className="min-w-0 truncate text-ink-soft">{props.zoneName ?? props.typeName}</span>
          <div className="max-w-40 flex-none truncate text-right">{row.state}</div>
        </div>
      </div>
    </li>
  );
});

/** The parts of a row, whatever its shape. */
function useRow(
  { types, offered, isChosen, onChoose }: Pick<RowProps, 'types' | 'offered' | 'isChosen' | 'onChoose'>,
  id: string,
): Record<'checkbox' | 'icon' | 'link' | 'firmware' | 'battery' | 'state', ReactNode> | null {
  const { t } = useTranslation();
  const device = useDevice(id);
  if (!device) return null;
  const type = types.of(device);
  return {
    checkbox: (
      <label className="grid size-11 shrink-0 cursor-pointer place-items-center">
        <input
          type="checkbox"
          aria-label={t('devices.choose', { name: device.name })}
          checked={isChosen}
          onChange={({ target }) => onChoose?.(id, target.checked)}
          className="size-5 accent-(--accent)"
        />
      </label>
    ),
    icon: <DeviceIcon icon={type?.icon} on={false} />,
    link: (
      <Link
        href={`/devices/${id}`}
        title={device.name}
        className="block min-w-0 truncate py-2 font-strong underline-offset-4 hover:underline"
      >
        {device.name}
      </Link>
    ),
    firmware:
      offered !== null ? (
        <span
          className="inline-flex items-center gap-1 align-top text-accent"
          title={t('devices.offered', { version: offered })}
        >
          <ArrowUp aria-hidden className="size-4" />
          {offered}
        </span>
      ) : (
        device.firmwareVersion
      ),
    battery: typeof ownValue(device.state, 'battery') === 'number' ? <BatteryLevel device={device} /> : null,
    state: (
      <ErrorBoundary instead={<span className="block truncate">{t('device.broken', { name: device.name })}</span>}>
        <RowState device={device} type={type} />
      </ErrorBoundary>
    ),
  };
}

function BatteryLevel({ device }: { device: Device }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const isLow = hasLowBattery(device);
  const Icon = isLow ? BatteryLow : BatteryMedium;
  return (
    <span
      title={t('device.capability.battery')}
      className={classNames('inline-flex items-center gap-1', isLow && 'text-attention')}
    >
      <Icon aria-hidden className="size-4" />
      {formatPercent(locale, Number(ownValue(device.state, 'battery')))}
    </span>
  );
}

/** What is wrong with the device, else its main value. */
function RowState({ device, type }: { device: Device; type: DeviceType | undefined }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { main } = useControlledDevice(device, type);
  const wrong =
    device.status === 'offline' ? t('device.status.offline') : device.fault !== null ? t('devices.mark.faulty') : null;
  if (wrong !== null) {
    return (
      <span className="flex min-w-0 items-center gap-1.5 text-attention max-lg:justify-end">
        <ToneIcon tone="attention" className="size-4" />
        <span className="truncate first-letter:uppercase">{wrong}</span>
      </span>
    );
  }
  return main?.value === undefined ? '–' : valueWords(t, locale, main);
}
