import { Plus } from 'lucide-react';
import { Fragment, type ReactNode, type SubmitEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import type { Automation, RunMode } from '@station/protocol/automations';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { sentenceWords } from './automation-words.ts';
import { type Surroundings, useSave } from './automations.ts';
import type { RowProps } from './part-row.tsx';
import { ActionRow, ConditionRow, TriggerRow } from './part-rows.tsx';
import { flowOf, partFault, type Sentence, sentenceOf } from './sentence.ts';

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
  const { triggers, conditions, actions } = draft;
  const sentence: Sentence = {
    triggers: chosen(triggers),
    conditions: chosen(conditions),
    actions: chosen(actions),
  };
  const submit = (publish: boolean): void => {
    if (save.isPending) return;
    setChecked(true);
    const all = [...triggers.parts, ...conditions.parts, ...actions.parts];
    if (all.some(({ data }) => partFault(around, data) !== null)) {
      // Once the marks are drawn, focus the first of them.
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[data-fault] :is(select, input)')?.focus());
      return;
    }
    const change = { name: name.trim() || shortened(sentenceWords(around, sentence)), mode, flow: flowOf(sentence) };
    save.mutate({ change, publish }, { onSuccess: ({ id }) => navigate(`/automations/${id}`) });
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
    </form>
  );
}

const shortened = (text: string): string =>
  text.length <= longestName ? text : `${text.slice(0, longestName - 1).trimEnd()}…`;

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

/** When, only if, do: a card for each, with a row for each part. */
function SentenceCards({
  draft: { triggers, conditions, actions },
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
        row={(props) => <TriggerRow {...props} />}
      />
      <PartsCard
        {...shared}
        title={t('automations.build.only')}
        help={t('automations.build.onlyHelp')}
        between={t('automations.say.and')}
        addName={t('automations.build.addCondition')}
        list={conditions}
        row={(props) => <ConditionRow {...props} />}
      />
      <PartsCard
        {...shared}
        title={t('automations.build.then')}
        help={t('automations.build.thenHelp')}
        between={null}
        addName={t('automations.build.addAction')}
        list={actions}
        row={(props, index) => <ActionRow {...props} onMove={movesOf(actions, index)} />}
      />
    </div>
  );
}

function PartsCard<Data extends TriggerData | ConditionData | ActionData>({
  title,
  help,
  between,
  addName,
  list,
  around,
  checked,
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
  row: (props: RowProps<Data>, index: number) => ReactNode;
}) {
  const propsOf = ({ key, data }: Part<Data>, index: number): RowProps<Data> => ({
    data,
    number: index + 1,
    around,
    fault: checked ? partFault(around, data) : null,
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

/** A part that may not be chosen yet; its key stays the same when it moves. */
type Part<Data> = { key: number; data: Data | null };
type PartsOf<Data> = {
  parts: readonly Part<Data>[];
  /** Fewer parts than this are not possible. */
  atLeast: number;
  add(): void;
  change(key: number, data: Data): void;
  remove(key: number): void;
  /** Swaps it with its neighbour. */
  move(key: number, by: -1 | 1): void;
};

/** Where a part can be moved; null for the only one. */
function movesOf<Data>({ parts, move }: PartsOf<Data>, index: number) {
  const part = parts[index];
  if (part === undefined || parts.length < 2) return null;
  return {
    up: index === 0 ? null : () => move(part.key, -1),
    down: index === parts.length - 1 ? null : () => move(part.key, 1),
  };
}

/** A sentence that is being built. */
type Draft = {
  triggers: PartsOf<TriggerData>;
  conditions: PartsOf<ConditionData>;
  actions: PartsOf<ActionData>;
};

function useDraft(from: Sentence | null): Draft {
  return {
    triggers: useParts<TriggerData>(from?.triggers ?? [], 1),
    conditions: useParts<ConditionData>(from?.conditions ?? [], 0),
    actions: useParts<ActionData>(from?.actions ?? [], 1),
  };
}

function useParts<Data>(from: readonly Data[], atLeast: number): PartsOf<Data> {
  const keys = useRef(0);
  const part = (data: Data | null): Part<Data> => ({ key: ++keys.current, data });
  const [parts, setParts] = useState<Part<Data>[]>(() => {
    const given = from.map(part);
    return given.length < atLeast ? [part(null)] : given;
  });
  return {
    parts,
    atLeast,
    add: () => setParts([...parts, part(null)]),
    change: (key, data) => setParts(parts.map((one) => (one.key === key ? { key, data } : one))),
    remove: (key) => setParts(parts.filter((one) => one.key !== key)),
    move: (key, by) => {
      const at = parts.findIndex((one) => one.key === key);
      const moved = parts[at];
      const neighbour = parts[at + by];
      if (!moved || !neighbour) return;
      setParts(parts.map((one, place) => (place === at ? neighbour : place === at + by ? moved : one)));
    },
  };
}

const chosen = <Data,>({ parts }: PartsOf<Data>): Data[] => parts.flatMap(({ data }) => (data === null ? [] : [data]));
