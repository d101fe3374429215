import { Plus, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { useDevices, useDeviceTypes } from '../../api/devices.ts';
import { capabilityName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/fields.tsx';
import { viewOf } from './device-view.ts';
import type { Charted } from './history-reads.ts';
import { looks } from './history-view.ts';

/** Says for each line what it has at the cursor. */
export type Legend = (values: readonly string[]) => ReactNode;

type ComparisonParts = {
  own: Charted;
  /** Ids of `charted` values, in the order in which they were added. */
  others: readonly string[];
  onChange(others: readonly string[]): void;
  children(shown: readonly Charted[], legend: Legend): ReactNode;
};

const idOf = ({ device, capability }: Charted): string => `${device.id} ${capability.key}`;

/** Values of other devices with the same kind and unit, on the same chart. */
export function Comparison({ own, others, onChange, children }: ComparisonParts) {
  const { t } = useTranslation();
  const view = useDevices();
  const types = useDeviceTypes();
  const [isOpen, open] = useState(false);
  const devices = view.kind === 'shown' && types !== null ? view.value : [];
  const chartedOf = (device: Device): Charted[] =>
    viewOf(device, types?.of(device), undefined).readings.map(({ capability }) => ({ device, capability }));
  const added = others.flatMap((id) => {
    const device = devices.find((one) => id.startsWith(`${one.id} `));
    return device === undefined ? [] : chartedOf(device).filter((one) => idOf(one) === id);
  });
  const shown = [own, ...added];
  const isComparable = own.capability.kind === 'number' || own.capability.kind === 'boolean';
  const legend: Legend = (values) =>
    added.length > 0 && (
      <ul className="mt-2 space-y-1">
        {shown.map((one, index) => (
          <Entry
            key={idOf(one)}
            charted={one}
            index={index}
            value={values[index] ?? ''}
            {...(index > 0 ? { onRemove: () => onChange(others.filter((id) => id !== idOf(one))) } : {})}
          />
        ))}
      </ul>
    );
  return (
    <>
      {children(shown, legend)}
      {isComparable && shown.length < looks.length && !isOpen && (
        <Button kind="quiet" className="-ml-4" onClick={() => open(true)}>
          <Plus aria-hidden className="size-5" />
          {t('devicePage.history.add')}
        </Button>
      )}
      {isComparable && shown.length < looks.length && isOpen && (
        <AddDevice
          choices={devices
            .flatMap(chartedOf)
            .filter((one) => isLike(one, own) && !shown.some((other) => idOf(other) === idOf(one)))}
          onAdd={(id) => {
            open(false);
            if (id !== '') onChange([...others, id]);
          }}
        />
      )}
    </>
  );
}

const isLike = (one: Charted, { capability: { kind, unit } }: Charted): boolean =>
  one.capability.kind === kind && one.capability.unit === unit;

function AddDevice({ choices, onAdd }: { choices: readonly Charted[]; onAdd(id: string): void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  if (choices.length === 0) return <p className="mt-2 text-small text-ink-soft">{t('devicePage.history.nobody')}</p>;
  const options = choices
    .map((one) => ({ value: idOf(one), words: `${one.device.name}: ${capabilityName(t, locale, one.capability)}` }))
    .toSorted((a, b) => a.words.localeCompare(b.words, locale));
  return (
    <div className="mt-2 max-w-sm">
      <Select label={t('devicePage.history.add')} value="" onChange={(event) => onAdd(event.target.value)}>
        <option value="">{t('devicePage.history.choose')}</option>
        {options.map(({ value, words }) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </Select>
    </div>
  );
}

type EntryParts = { charted: Charted; index: number; value: string; onRemove?: () => void };

/** Number, pattern and colour of a line, so that it is found in the chart by each of them. */
function Entry({ charted: { device, capability }, index, value, onRemove }: EntryParts) {
  const { t } = useTranslation();
  const locale = useLocale();
  const look = looks[index % looks.length]!;
  const name = `${device.name}: ${capabilityName(t, locale, capability)}`;
  return (
    <li className="flex min-h-11 items-center gap-2 text-small">
      <span className="w-4 shrink-0 text-center font-strong">{index + 1}</span>
      <svg aria-hidden width="36" height="4" className="shrink-0">
        <line
          x2="36"
          y1="2"
          y2="2"
          stroke={`var(${look.color})`}
          strokeWidth="3"
          strokeDasharray={look.dash.join(' ')}
        />
      </svg>
      <span className="min-w-0 grow">
        <span className="break-words">{name}</span> <span className="font-strong">{value}</span>
      </span>
      {onRemove && (
        <Button
          kind="quiet"
          className="min-w-11 px-0"
          aria-label={t('devicePage.history.drop', { name })}
          onClick={onRemove}
        >
          <X aria-hidden className="size-5" />
        </Button>
      )}
    </li>
  );
}
