import { useRef, useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Automation, RunMode } from '@station/protocol/automations';
import { sentenceWords } from './automation-words.ts';
import { partFault } from './part-fault.ts';
import { flowOf, sentenceOf, type Sentence } from './sentence.ts';
import type { Surroundings } from './surroundings.ts';
import { useSave } from './use-automations.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/field.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { Select } from '../../ui/select.tsx';
import { SentenceCards } from './sentence-cards.tsx';
import { chosen, useDraft } from './use-draft.ts';

const modes = ['restart', 'single', 'parallel'] as const satisfies readonly RunMode[];
const longestName = 100;

/** An automation in words: when any of this, only if all of that, do one after another. */
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
      // After the marks are drawn: to the first of them.
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
