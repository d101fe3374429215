import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capability } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { capabilityName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Comparison } from './history-compare.tsx';
import { HistoryFigure } from './history-figure.tsx';
import type { Charted } from './history-reads.ts';
import { type Range, ranges } from './history-view.ts';

/** The history of one value, which one and how far back to be chosen, and of the same value of other devices beside it. */
export function HistoryCard({ device, capabilities }: { device: Device; capabilities: readonly Capability[] }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const charted = capabilities.filter(({ kind }) => kind !== 'text');
  const [chosen, choose] = useState<string | null>(null);
  const [range, setRange] = useState<Range>('day');
  const [others, setOthers] = useState<readonly string[]>([]);
  const capability = charted.find((one) => one.key === chosen) ?? charted[0];
  if (!capability) return null;
  const own: Charted = { device, capability };
  return (
    <Card title={t('devicePage.history.title')}>
      {charted.length > 1 && (
        <Choice
          legend={t('devicePage.history.choose')}
          options={charted.map((one) => ({ value: one.key, words: capabilityName(t, locale, one) }))}
          chosen={capability.key}
          onChoose={(key) => {
            choose(key);
            setOthers([]);
          }}
        />
      )}
      <Choice
        legend={t('devicePage.history.range')}
        options={rangeNames.map((value) => ({ value, words: t(`devicePage.history.ranges.${value}`) }))}
        chosen={range}
        onChoose={setRange}
      />
      <Comparison key={capability.key} own={own} others={others} onChange={setOthers}>
        {(shown, legend) => (
          <HistoryFigure key={`${capability.key} ${range}`} shown={shown} range={range} legend={legend} />
        )}
      </Comparison>
    </Card>
  );
}

const rangeNames = Object.keys(ranges) as Range[];

function Choice<T extends string>({
  legend,
  options,
  chosen,
  onChoose,
}: {
  legend: string;
  options: readonly { value: T; words: string }[];
  chosen: T;
  onChoose: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset className="mb-4 flex flex-wrap gap-2">
      <legend className="sr-only">{legend}</legend>
      {options.map(({ value, words }) => (
        <label
          key={value}
          className={classNames(
            'flex min-h-11 min-w-11 cursor-pointer items-center justify-center rounded-xl border px-3 has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
            value === chosen
              ? 'border-accent bg-accent-soft font-strong text-accent'
              : 'border-line-strong hover:bg-sunken',
          )}
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={value === chosen}
            onChange={() => onChoose(value)}
          />
          {words}
        </label>
      ))}
    </fieldset>
  );
}
