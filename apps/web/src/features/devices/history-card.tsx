import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Capability } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { capabilityName } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Card } from '../../ui/card.tsx';
import { RadioTiles } from '../../ui/fields.tsx';
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
        <RadioTiles
          isInline
          legend={t('devicePage.history.choose')}
          options={charted.map((one) => ({ value: one.key, label: capabilityName(t, locale, one) }))}
          chosen={capability.key}
          onChoose={(key) => {
            choose(key);
            setOthers([]);
          }}
        />
      )}
      <RadioTiles
        isInline
        legend={t('devicePage.history.range')}
        options={rangeNames.map((value) => ({ value, label: t(`devicePage.history.ranges.${value}`) }))}
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
