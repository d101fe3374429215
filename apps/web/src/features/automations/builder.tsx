import { Plus } from 'lucide-react';
import { Fragment, type ReactNode, type SubmitEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { InstantCondition, TriggerData } from '@station/protocol/automation-flow';
import type { Automation, RunMode } from '@station/protocol/automations';
import { useLeaveGuard } from '../../api/leave-guard.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { LeaveDialog } from '../../ui/leave-dialog.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { sentenceWords } from './automation-words.ts';
import { type Surroundings, useSave } from './automations.ts';
import type { RowProps } from './part-row.tsx';
import { ActionRow, ConditionRow, TriggerRow } from './part-rows.tsx';
import { type Draft, movesOf, type Part, type PartsOf, sentenceIn, shownParts, useDraft } from './draft.ts';
import { flowOf, isGone, type PartFault, partFault, sentenceOf, type StepData } from './sentence.ts';
import { TestButton } from './test-button.tsx';

const modes = ['restart', 'single', 'parallel'] as const satisfies readonly RunMode[];
const longestName = 100;

/** Edits an automation as a sentence: when any of these, only if all of those, do one after another. */
export function Builder({ automation, around }: { automation: Automation | null; around: Surroundings }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const form = useRef<HTMLFormElement>(null);
  const draft = useDraft(automation === null ? null : sentenceOf(automation.flow));
  const [name, setName] = useState(automation?.name ?? '');
  const [mode, setMode] = useState<RunMode>(automation?.mode ?? 'restart');
  const [checked, setChecked] = useState(false);
  const save = useSave(automation);
  const sentence = sentenceIn(draft);
  const [initial] = useState(() => JSON.stringify({ sentence, name, mode }));
  const guard = useLeaveGuard(JSON.stringify({ sentence, name, mode }) !== initial);
  /** Marks what is missing, and leads there. True when nothing is. */
  const check = (): boolean => {
    setChecked(true);
    if (shownParts(draft).every(({ data }) => partFault(around, data) === null)) return true;
    // Once the marks are drawn, focus the first of them.
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[data-fault] :is(select, input)')?.focus());
    return false;
  };
  const submit = (publish: boolean): void => {
    if (save.isPending || !check()) return;
    const change = { name: name.trim(), mode, flow: flowOf(sentence) };
    const onSuccess = ({ id }: Automation): void => {
      guard.release();
      navigate(`/automations/${id}`);
    };
    save.mutate({ change, publish }, { onSuccess });
  };
  const onSubmit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    submit(true);
  };
  return (
    <form
      ref={form}
      noValidate
      onSubmit={onSubmit}
      className="grid grid-cols-1 items-start gap-4 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]"
    >
      <SentenceCards draft={draft} around={around} checked={checked} />
      <div className="grid grid-cols-1 gap-4 md:gap-6 lg:sticky lg:top-8">
        <Card title={t('automations.build.preview')}>
          <p aria-live="polite" className="break-words">
            {sentenceWords(around, sentence)}
          </p>
        </Card>
        <TestButton flow={() => (check() ? flowOf(sentence) : null)} around={around} />
        <DetailsCard name={name} mode={mode} onName={setName} onMode={setMode} />
        <div className="grid gap-3">
          {save.error?.code === 'conflict' && automation !== null ? (
            <Conflict />
          ) : (
            save.error && <ProblemNote problem={save.error} />
          )}
          <Button kind="primary" type="submit" busy={save.isPending} onClick={() => undefined}>
            {t('automations.build.publish')}
          </Button>
          <Button busy={save.isPending} onClick={() => submit(false)}>
            {t(automation?.status === 'published' ? 'automations.build.saveOn' : 'automations.build.save')}
          </Button>
        </div>
      </div>
      {guard.leave && <LeaveDialog onLeave={guard.leave} onStay={guard.stay} />}
    </form>
  );
}

function DetailsCard({
  name,
  mode,
  onName,
  onMode,
}: {
  name: string;
  mode: RunMode;
  onName: (name: string) => void;
  onMode: (mode: RunMode) => void;
}) {
  const { t } = useTranslation();
  return (
    <Card title={t('automations.build.nameTitle')}>
      <div className="space-y-4">
        <Field
          label={t('automations.build.name')}
          help={t('automations.build.nameHelp')}
          value={name}
          maxLength={longestName}
          autoComplete="off"
          onChange={(event) => onName(event.target.value)}
          fault={null}
        />
        <Select
          label={t('automations.build.mode')}
          value={mode}
          onChange={(event) => onMode(modes.find((one) => one === event.target.value) ?? 'restart')}
        >
          {modes.map((one) => (
            <option key={one} value={one}>
              {t(`automations.build.modes.${one}`)}
            </option>
          ))}
        </Select>
      </div>
    </Card>
  );
}

function Conflict() {
  const { t } = useTranslation();
  return (
    <div role="alert" className="space-y-3 rounded-xl bg-fault-soft p-3">
      <p>{t('automations.build.conflict')}</p>
      <Button onClick={() => location.reload()}>{t('automations.build.reload')}</Button>
    </div>
  );
}

/** When, only if, do, otherwise: a card for each, with a row for each part. */
function SentenceCards({
  draft: { triggers, conditions, actions, otherwise },
  ...shared
}: {
  draft: Draft;
  around: Surroundings;
  /** Whether what is missing is marked. */
  checked: boolean;
}) {
  const { t } = useTranslation();
  return (
    <div className="grid grid-cols-1 gap-4 md:gap-6">
      <PartsCard
        {...shared}
        title={t('automations.build.when')}
        help={t('automations.build.whenHelp')}
        between={t('automations.say.or')}
        addName={t('automations.build.addTrigger')}
        list={triggers}
        nameOf={(number) => t('automations.build.rowTrigger', { number })}
        row={(props) => <TriggerRow {...props} />}
      />
      <PartsCard
        {...shared}
        title={t('automations.build.only')}
        help={t('automations.build.onlyHelp')}
        between={t('automations.say.and')}
        addName={t('automations.build.addCondition')}
        list={conditions}
        nameOf={(number) => t('automations.build.rowCondition', { number })}
        row={(props) => <ConditionRow {...props} />}
      />
      <PartsCard
        {...shared}
        title={t('automations.build.then')}
        help={t('automations.build.thenHelp')}
        between={null}
        addName={t('automations.build.addAction')}
        list={actions}
        nameOf={(number) => t('automations.build.rowAction', { number })}
        row={(props, index) => <ActionRow {...props} onMove={movesOf(actions, index)} />}
      />
      {conditions.parts.length > 0 && (
        <PartsCard
          {...shared}
          title={t('automations.build.otherwise')}
          help={t('automations.build.otherwiseHelp')}
          between={null}
          addName={t('automations.build.addOtherwise')}
          list={otherwise}
          nameOf={(number) => t('automations.build.rowOtherwise', { number })}
          row={(props, index) => <ActionRow {...props} onMove={movesOf(otherwise, index)} />}
        />
      )}
    </div>
  );
}

type NamedRow<Data> = RowProps<Data> & { name: string };

function PartsCard<Data extends TriggerData | InstantCondition | StepData>({
  title,
  help,
  between,
  addName,
  list,
  around,
  checked,
  nameOf,
  row,
}: {
  title: string;
  help: string;
  /** The word between two rows; null where they follow each other. */
  between: string | null;
  addName: string;
  list: PartsOf<Data>;
  around: Surroundings;
  checked: boolean;
  nameOf: (number: number) => string;
  row: (props: NamedRow<Data>, index: number) => ReactNode;
}) {
  const faultOf = (data: Data | null): PartFault | null => {
    const fault = partFault(around, data);
    return checked || isGone(fault) ? fault : null;
  };
  const propsOf = ({ key, data }: Part<Data>, index: number): NamedRow<Data> => ({
    data,
    name: nameOf(index + 1),
    around,
    fault: faultOf(data),
    onChange: (changed) => list.change(key, changed),
    onRemove: list.parts.length > list.atLeast ? () => list.remove(key) : null,
  });
  return (
    <Card title={title}>
      <p className="-mt-3 mb-3 text-small text-ink-soft">{help}</p>
      <div className="space-y-2 empty:hidden">
        {list.parts.map((part, index) => (
          <Fragment key={part.key}>
            {index > 0 && between !== null && <p className="pl-3 text-small text-ink-soft">{between}</p>}
            {row(propsOf(part, index), index)}
          </Fragment>
        ))}
      </div>
      <Button kind="quiet" className="mt-2 -mb-2 -ml-3" onClick={list.add}>
        <Plus aria-hidden className="size-5" />
        {addName}
      </Button>
    </Card>
  );
}
