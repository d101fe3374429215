import { Plus } from 'lucide-react';
import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { partFault, type PartFault } from './part-fault.ts';
import type { Sentence } from './sentence.ts';
import type { Surroundings } from './surroundings.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ActionRow } from './action-row.tsx';
import { ConditionRow, TriggerRow } from './part-rows.tsx';
import type { Draft, Part } from './use-draft.ts';

/** When, only if, do: a card for each, with a row for each part. */
export function SentenceCards({
  draft: { triggers, conditions, actions },
  around,
  checked,
}: {
  draft: Draft;
  around: Surroundings;
  /** Whether what is missing is marked. */
  checked: boolean;
}) {
  const { t } = useTranslation();
  const faultOf = ({ data }: Part<Sentence[keyof Sentence][number]>): PartFault | null =>
    checked ? partFault(around, data) : null;
  return (
    <div className="grid grid-cols-1 gap-4 md:gap-6">
      <PartsCard
        title={t('automations.build.when')}
        help={t('automations.build.whenHelp')}
        between={t('automations.say.or')}
        addName={t('automations.build.addTrigger')}
        onAdd={triggers.add}
        rows={triggers.parts.map((part, index) => (
          <TriggerRow
            key={part.key}
            data={part.data}
            number={index + 1}
            around={around}
            fault={faultOf(part)}
            onChange={(data) => triggers.change(part.key, data)}
            onRemove={triggers.parts.length > 1 ? () => triggers.remove(part.key) : null}
          />
        ))}
      />
      <PartsCard
        title={t('automations.build.only')}
        help={t('automations.build.onlyHelp')}
        between={t('automations.say.and')}
        addName={t('automations.build.addCondition')}
        onAdd={conditions.add}
        rows={conditions.parts.map((part, index) => (
          <ConditionRow
            key={part.key}
            data={part.data}
            number={index + 1}
            around={around}
            fault={faultOf(part)}
            onChange={(data) => conditions.change(part.key, data)}
            onRemove={() => conditions.remove(part.key)}
          />
        ))}
      />
      <PartsCard
        title={t('automations.build.then')}
        help={t('automations.build.thenHelp')}
        between={null}
        addName={t('automations.build.addAction')}
        onAdd={actions.add}
        rows={actions.parts.map((part, index) => (
          <ActionRow
            key={part.key}
            data={part.data}
            number={index + 1}
            around={around}
            fault={faultOf(part)}
            onChange={(data) => actions.change(part.key, data)}
            onRemove={actions.parts.length > 1 ? () => actions.remove(part.key) : null}
            onMove={
              actions.parts.length > 1
                ? {
                    up: index === 0 ? null : () => actions.move(part.key, -1),
                    down: index === actions.parts.length - 1 ? null : () => actions.move(part.key, 1),
                  }
                : null
            }
          />
        ))}
      />
    </div>
  );
}

function PartsCard({
  title,
  help,
  between,
  addName,
  onAdd,
  rows,
}: {
  title: string;
  help: string;
  /** The word between two rows; null where they follow each other. */
  between: string | null;
  addName: string;
  onAdd: () => void;
  rows: readonly ReactNode[];
}) {
  return (
    <Card title={title}>
      <p className="-mt-3 mb-3 text-small text-ink-soft">{help}</p>
      <div className="space-y-2 empty:hidden">
        {rows.map((row, index) => (
          <Fragment key={index}>
            {index > 0 && between !== null && <p className="pl-3 text-small text-ink-soft">{between}</p>}
            {row}
          </Fragment>
        ))}
      </div>
      <Button kind="quiet" className="mt-2 -mb-2 -ml-3" onClick={onAdd}>
        <Plus aria-hidden className="size-5" />
        {addName}
      </Button>
    </Card>
  );
}
