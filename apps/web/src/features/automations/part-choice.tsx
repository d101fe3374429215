import { useTranslation } from 'react-i18next';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import { briefWords } from './automation-words.ts';
import { keyOf, numberIn, withNumber } from './options.ts';
import type { PartFault } from './part-fault.ts';
import { NumberBox } from './part-inputs.tsx';
import type { Subject } from './part-row.tsx';
import { capabilityOf, type Surroundings } from './surroundings.ts';

/** What every row of a sentence gets. */
export type RowProps<Data> = {
  data: Data | null;
  number: number;
  around: Surroundings;
  fault: PartFault | null;
  onChange: (data: Data) => void;
  onRemove: (() => void) | null;
};

/** The choices of a device in words, with the present one among them also when it is none of the usual. */
export function whatOf<Data extends TriggerData | ConditionData | ActionData>(
  around: Surroundings,
  data: Data,
  options: readonly Data[],
): Subject[] {
  const all = options.some((one) => keyOf(one) === keyOf(data)) ? options : [data, ...options];
  return all.map((one) => ({
    value: keyOf(one),
    label: briefWords(around, numberIn(one) === null ? one : withNumber(one, Number.NaN)),
  }));
}

export const deviceIn = (data: TriggerData | ConditionData | ActionData | null): string | null =>
  data !== null && 'deviceId' in data.config ? data.config.deviceId : null;

/** The number in a part, when there is one in it. */
export function NumberPart<Data extends TriggerData | ConditionData | ActionData>({
  data,
  around,
  onChange,
}: {
  data: Data;
  around: Surroundings;
  onChange: (data: Data) => void;
}) {
  const { t } = useTranslation();
  const value = numberIn(data);
  const device = deviceIn(data);
  if (value === null || device === null) return null;
  const capability =
    'capability' in data.config
      ? data.config.capability
      : (Object.keys(data.kind === 'device_command' ? (data.config.params ?? {}) : {})[0] ?? '');
  const { unit } = capabilityOf(around, device, capability, value);
  return (
    <NumberBox
      key={keyOf(data)}
      label={t('automations.build.value')}
      unit={unit}
      value={value}
      onChange={(next) => onChange(withNumber(data, next))}
      className="sm:col-start-2"
    />
  );
}
