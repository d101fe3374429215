import { Plus } from 'lucide-react';
import { Fragment, type ReactNode, type SubmitEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { InstantCondition, TriggerData } from '@station/protocol/automation-flow';
import type { Automation, RunMode } from '@station/protocol/automations';
import { useKeeping, useKeptDraft } from '../../api/kept-draft.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field, Select } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { UnsavedNote } from '../../ui/unsaved-note.tsx';
import { sentenceWords } from './automation-words.ts';
import { type Surroundings, useSave } from './automations.ts';
import type { RowProps } from './part-row.tsx';
import { ActionRow, ConditionRow, TriggerRow } from './part-rows.tsx';
import {
  type Draft,
  movesOf,
  type Part,
  type PartsOf,
  placeOfDraft,
  sentenceIn,
  shownParts,
  useDraft,
} from './draft.ts';
import { flowOf, isGone, type PartFault, partFault, type Sentence, sentenceOf, type StepData } from './sentence.ts';
import { TestButton } from './test-button.tsx';

const modes = ['restart', 'single', 'parallel'] as const satisfies readonly RunMode[];
const longestName = 100;

type BuilderProps = { automation: Automation | null; around: Surroundings };

/** Edits an automation as a sentence: when any of these, only if all of those, do one after another. What is not saved is kept. */
export function Builder(props: BuilderProps) {
  const [round, setRound] = useState(0);
  return <BuilderForm key={round} {...props} onDiscarded={() => setRound(round + 1)} />;
}

/** `revision`: what was changed; null for a new one. */
type Changes = { sentence: Sentence; name: string; mode: RunMode; revision: number | null };

function areChanges(kept: unknown): kept is Changes {
  const { sentence, name, mode } = (kept ?? {}) as Partial<Changes>;
  if (sentence === undefined || typeof name !== 'string' || !modes.some((one) => one === mode)) return false;
  try {
    return sentenceOf(flowOf(sentence)) !== null;
  } catch {
    return false;
  }
}

const empty: Sentence = { triggers: [], conditions: [], actions: [], otherwise: [] };

const textOf = ({ triggers, conditions, actions, otherwise }: Sentence, name: string, mode: RunMode): string =>
  JSON.stringify([triggers, conditions, actions, otherwise, name, mode]);

function BuilderForm({ automation, around, onDiscarded }: BuilderProps & { onDiscarded: () => void }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const form = useRef<HTMLFormElement>(null);
  const kept = useKeptDraft(placeOfDraft(automation?.id ?? null), areChanges);
  const [saved] = useState<Changes>(() => ({
    sentence: (automation && sentenceOf(automation.flow)) ?? empty,
    name: automation?.name ?? '',
    mode: automation?.mode ?? 'restart',
    revision: automation?.revision ?? null,
  }));
  const [start] = useState(kept.found ?? saved);
  const draft = useDraft(start.sentence);
  const [name, setName] = useState(start.name);
  const [mode, setMode] = useState(start.mode);
  const [checked, setChecked] = useState(false);
  const save = useSave(automation && { ...automation, revision: start.revision ?? automation.revision });
  const sentence = sentenceIn(draft);
  const isChanged = textOf(sentence, name, mode) !== textOf(saved.sentence, saved.name, saved.mode);
  useKeeping(kept, { sentence, name, mode, revision: start.revision }, isChanged);
  const discard = (): void => {
    kept.end();
    onDiscarded();
  };
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
      kept.end();
      navigate(`/automations/${id}`);
    };
    save.mutate({ change, publish }, { onSuccess });
  };
  const onSubmit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    submit(true);
  };
  return (
    <form ref={form} noValidate onSubmit={onSubmit} className="main-and-side">
      {kept.found !== null && isChanged && <UnsavedNote onDiscard={discard} />}
      <SentenceCards draft={draft} around={around} checked={checked} />
      <div className="grid grid-cols-1 gap-4 md:gap-6 lg:sticky lg:top-8">
        <Card title={t('builder.preview')}>
          <p aria-live="polite" className="break-words">
            {sentenceWords(around, sentence)}
          </p>
        </Card>
        <TestButton flow={() => (check() ? flowOf(sentence) : null)} around={around} />
        <DetailsCard name={name} mode={mode} onName={setName} onMode={setMode} />
        <div className="grid gap-3">
          {save.error?.code === 'conflict' && automation !== null ? (
            <Conflict onReload={kept.end} />
          ) : (
            save.error && <ProblemNote error={save.error} />
          )}
          <Button kind="primary" type="submit" busy={save.isPending} onClick={() => undefined}>
            {t('builder.publish')}
          </Button>
          <Button busy={save.isPending} onClick={() => submit(false)}>
            {t(automation?.status === 'published' ? 'builder.saveOn' : 'builder.save')}
          </Button>
        </div>
      </div>
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
    <Card title={t('builder.nameTitle')}>
      <div className="space-y-4">
        <Field
          label={t('builder.name')}
          help={t('builder.nameHelp')}
          value={name}
          maxLength={longestName}
          onChange={(event) => onName(event.target.value)}
          fault={null}
        />
        <Select
          label={t('builder.mode')}
          value={mode}
          onChange={(event) => onMode(modes.find((one) => one === event.target.value) ?? 'restart')}
        >
          {modes.map((one) => (
            <option key={one} value={one}>
              {t(`builder.modes.${one}`)}
            </option>
          ))}
        </Select>
      </div>
    </Card>
  );
}

/** @param onReload what is edited here is given up. */
function Conflict({ onReload }: { onReload: () => void }) {
  const { t } = useTranslation();
  return (
    <div role="alert" className="space-y-3 rounded-xl bg-fault-soft p-3">
      <p>{t('builder.conflict')}</p>
      <Button
        onClick={() => {
          onReload();
          location.reload();
        }}
      >
        {t('builder.reload')}
      </Button>
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
    <div className="cards">
      <PartsCard
        {...shared}
        title={t('builder.when')}
        help={t('builder.whenHelp')}
        between={t('automations.say.or')}
        addName={t('builder.addTrigger')}
        list={triggers}
        nameOf={(number) => t('builder.rowTrigger', { number })}
        row={(props) => <TriggerRow {...props} />}
      />
      <PartsCard
        {...shared}
        title={t('builder.only')}
        help={t('builder.onlyHelp')}
        between={t('automations.say.and')}
        addName={t('builder.addCondition')}
        list={conditions}
        nameOf={(number) => t('builder.rowCondition', { number })}
        row={(props) => <ConditionRow {...props} />}
      />
      <PartsCard
        {...shared}
        title={t('builder.then')}
        help={t('builder.thenHelp')}
        between={null}
        addName={t('builder.addAction')}
        list={actions}
        nameOf={(number) => t('builder.rowAction', { number })}
        row={(props, index) => <ActionRow {...props} onMove={movesOf(actions, index)} />}
      />
      {conditions.parts.length > 0 && (
        <PartsCard
          {...shared}
          title={t('builder.otherwise')}
          help={t('builder.otherwiseHelp')}
          between={null}
          addName={t('builder.addOtherwise')}
          list={otherwise}
          nameOf={(number) => t('builder.rowOtherwise', { number })}
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
