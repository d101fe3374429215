import { ArrowDown, ArrowUp } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ActionData } from '@station/protocol/automation-flow';
import { actionOptions, canBeTold, keyOf } from './options.ts';
import { deviceIn, NumberPart, whatOf, type RowProps } from './part-choice.tsx';
import { Box, DurationBox } from './part-inputs.tsx';
import { IconButton, PartRow, SubjectSelect, WhatSelect } from './part-row.tsx';

const kinds = ['delay', 'notify', 'webhook'] as const;
const fresh: Readonly<Record<(typeof kinds)[number], ActionData>> = {
  delay: { kind: 'delay', config: { seconds: 120 } },
  notify: { kind: 'notify', config: { message: '' } },
  webhook: { kind: 'webhook', config: { url: 'https://' } },
};

export function ActionRow({
  data,
  number,
  around,
  fault,
  onChange,
  onRemove,
  onMove,
}: RowProps<ActionData> & {
  /** Null where there is nowhere to go. */
  onMove: { up: (() => void) | null; down: (() => void) | null } | null;
}) {
  const { t } = useTranslation();
  const device = deviceIn(data);
  const choose = (subject: string): void => {
    const kind = kinds.find((one) => one === subject);
    const next = kind === undefined ? actionOptions(around, subject)[0] : fresh[kind];
    if (next) onChange(next);
  };
  const options = device === null ? [] : actionOptions(around, device);
  const told = around.devices.filter(({ type }) => {
    const known = around.types.get(type);
    return known !== undefined && canBeTold(known);
  });
  return (
    <PartRow
      name={t('automations.build.rowAction', { number })}
      fault={fault}
      onRemove={onRemove}
      tools={
        onMove && (
          <>
            <IconButton
              label={t('automations.build.up', { number })}
              disabled={onMove.up === null}
              onClick={() => onMove.up?.()}
            >
              <ArrowUp aria-hidden className="size-5" />
            </IconButton>
            <IconButton
              label={t('automations.build.down', { number })}
              disabled={onMove.down === null}
              onClick={() => onMove.down?.()}
            >
              <ArrowDown aria-hidden className="size-5" />
            </IconButton>
          </>
        )
      }
    >
      <SubjectSelect
        value={device ?? data?.kind ?? ''}
        others={[
          { value: 'delay', label: t('automations.build.aDelay') },
          { value: 'notify', label: t('automations.build.aNote') },
          { value: 'webhook', label: t('automations.build.aWebhook') },
        ]}
        devices={told.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={choose}
      />
      {data?.kind === 'device_command' && (
        <WhatSelect
          value={keyOf(data)}
          options={whatOf(around, data, options)}
          onChange={(key) => onChange(options.find((one) => keyOf(one) === key) ?? data)}
        />
      )}
      {data !== null && <NumberPart data={data} around={around} onChange={onChange} />}
      {data !== null && <ActionInput data={data} onChange={onChange} />}
    </PartRow>
  );
}

function ActionInput({ data, onChange }: { data: ActionData; onChange: (data: ActionData) => void }) {
  const { t } = useTranslation();
  switch (data.kind) {
    case 'delay':
      return (
        <DurationBox seconds={data.config.seconds} onChange={(seconds) => onChange({ ...data, config: { seconds } })} />
      );
    case 'notify':
      return (
        <Box
          hidden
          label={t('automations.build.message')}
          placeholder={t('automations.build.message')}
          value={data.config.message}
          maxLength={500}
          onChange={(event) => onChange({ ...data, config: { message: event.target.value } })}
        />
      );
    case 'webhook':
      return (
        <Box
          hidden
          label={t('automations.build.address')}
          type="url"
          value={data.config.url}
          maxLength={2048}
          onChange={(event) => onChange({ ...data, config: { ...data.config, url: event.target.value } })}
        />
      );
    case 'device_command':
      return null;
  }
}
