import { useTranslation } from 'react-i18next';
import type { Zone } from '@station/protocol/devices';
import { classNames } from '../../ui/class-names.ts';
import { Select } from '../../ui/fields.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { type ListChoice, type Mark, marks, noZone, sortKeys } from './device-list-decide.ts';

/** What is shown of all devices, and in which order. */
export function DeviceFilters({
  choice,
  onChoose,
  counts,
  zones,
  types,
  withSort,
}: {
  choice: ListChoice;
  onChoose: (change: Partial<ListChoice>) => void;
  counts: Record<Mark, number>;
  zones: readonly Zone[];
  /** Of the devices that are there, with their names. */
  types: readonly { type: string; name: string }[];
  /** A table has its heads for that. */
  withSort: boolean;
}) {
  const { t } = useTranslation();
  const toggle = (mark: Mark): void =>
    onChoose({ marks: marks.filter((one) => (one === mark) !== choice.marks.includes(one)) });
  return (
    <div className="mb-4 space-y-3">
      <div className="grid grid-cols-2 gap-3 md:grid-cols-[minmax(0,1fr)_12rem_12rem]">
        <SearchField
          label={t('devices.filter.text')}
          value={choice.text}
          onChange={(text) => onChoose({ text })}
          className="col-span-2 md:col-span-1"
        />
        <Select
          bare
          label={t('devices.filter.zone')}
          value={choice.zone ?? ''}
          onChange={({ target }) => onChoose({ zone: target.value || null })}
        >
          <option value="">{t('devices.filter.allZones')}</option>
          {zones.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          <option value={noZone}>{t('devices.filter.noZone')}</option>
        </Select>
        <Select
          bare
          label={t('devices.filter.type')}
          value={choice.type ?? ''}
          onChange={({ target }) => onChoose({ type: target.value || null })}
        >
          <option value="">{t('devices.filter.allTypes')}</option>
          {types.map(({ type, name }) => (
            <option key={type} value={type}>
              {name}
            </option>
          ))}
        </Select>
        {withSort && (
          <Select
            bare
            className="col-span-2"
            label={t('devices.sort.label')}
            value={`${choice.sort} ${choice.descending ? 'down' : 'up'}`}
            onChange={({ target }) => {
              const [sort, order] = target.value.split(' ');
              onChoose({ sort: sortKeys.find((key) => key === sort) ?? 'name', descending: order === 'down' });
            }}
          >
            {sortKeys.flatMap((key) =>
              (['up', 'down'] as const).map((order) => (
                <option key={`${key} ${order}`} value={`${key} ${order}`}>
                  {t(`devices.sort.${order}`, { what: t(`devices.column.${key}`) })}
                </option>
              )),
            )}
          </Select>
        )}
      </div>
      <div role="group" aria-label={t('devices.filter.marks')} className="flex flex-wrap gap-2">
        {marks.map((mark) => {
          const on = choice.marks.includes(mark);
          return (
            <button
              key={mark}
              type="button"
              aria-pressed={on}
              onClick={() => toggle(mark)}
              className={classNames(
                'inline-flex min-h-11 items-center gap-2 rounded-full border px-4 text-small',
                on
                  ? 'border-accent bg-accent-soft font-strong text-accent'
                  : 'border-line-strong bg-surface hover:bg-sunken',
              )}
            >
              {t(`devices.mark.${mark}`)}
              <span className={on ? undefined : 'text-ink-soft'}>{counts[mark]}</span>
            </button>
          );
        })}
      </div>
    </div>
  );
}
