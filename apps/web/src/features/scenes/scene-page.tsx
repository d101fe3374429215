import { Copy, Play, Plus } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { flushSync } from 'react-dom';
import { useLocation } from 'wouter';
import { isManager } from '@station/protocol/roles';
import type { Scene, SceneCommand } from '@station/protocol/scenes';
import { nameText } from '@station/protocol/text-fields';
import { useDevices } from '../../api/devices.ts';
import { useKeeping, useKeptDraft } from '../../api/kept-draft.ts';
import { useScenes } from '../../api/scenes.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormProblem } from '../../ui/form-parts.tsx';
import { BackLink } from '../../ui/links.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { UnsavedNote } from '../../ui/unsaved-note.tsx';
import { UsedBy } from '../../ui/used-by.tsx';
import { PresentStateDialog, type StateCommands } from './present-state-dialog.tsx';
import { runWords } from './scene-bar.tsx';
import { isSceneDraft, type SceneDraft, type SceneForm, useSceneForm } from './scene-form.ts';
import { useAddAgain, useRemoveScene, useSaveScene, useTryScene } from './scenes.ts';

/** What scenes show of other features; handed in. */
export type SceneGuests = {
  /** Null while devices and their types are read. */
  commands: CommandParts | null;
  stateCommands: StateCommands;
};

type CommandParts = {
  row: (row: {
    name: string;
    command: SceneCommand | null;
    isChecked: boolean;
    onChange: (command: SceneCommand) => void;
    onRemove: () => void;
  }) => ReactNode;
  isComplete: (command: SceneCommand | null) => boolean;
};

/** A new scene, or one that is changed: which devices, and what each of them does. */
export function ScenePage({ id, ...guests }: { id: string | null } & SceneGuests) {
  const { t } = useTranslation();
  const scenes = useScenes();
  const devices = useDevices();
  const mayManage = isManager(useUser().role);
  const scene = scenes?.find((one) => one.id === id) ?? null;
  const title = id === null ? t('scenes.new') : scene === null ? t('scenes.title') : t('scenes.changeNamed', scene);
  const [round, setRound] = useState(0);
  const [openedId, setOpenedId] = useState<string | null>(null);
  if (scene !== null && openedId !== id) setOpenedId(id);
  const isGone = id !== null && scenes !== null && scene === null;
  /** Somebody removed it while it was open: what was typed stays. */
  const wasOpen = isGone && openedId === id;
  const { commands } = guests;
  return (
    <>
      <PageHead page={title} {...(devices.kind === 'shown' && { freshness: devices.freshness })}>
        <BackLink href="/scenes">{t('scenes.title')}</BackLink>
        <h1 className="text-title font-strong break-words md:text-value">{isGone ? t('scenes.isGone') : title}</h1>
        {wasOpen && mayManage && <p role="status">{t('scenes.isGoneHelp')}</p>}
      </PageHead>
      {!mayManage ? (
        <p>{t('scenes.emptyHelpMember')}</p>
      ) : isGone && !wasOpen ? null : commands === null || scenes === null ? (
        <Loading cards={['h-64']} />
      ) : (
        // Changes by other people do not overwrite what is being edited.
        <Editor
          key={`${id} ${round}`}
          onDiscarded={() => setRound(round + 1)}
          scene={scene}
          {...guests}
          commands={commands}
          usable={devices.kind === 'shown' && devices.freshness.kind !== 'stale'}
        />
      )}
    </>
  );
}

type EditorProps = SceneGuests & {
  scene: Scene | null;
  commands: CommandParts;
  usable: boolean;
  /** What was not saved was given up. */
  onDiscarded: () => void;
};

function Editor({ scene, commands, stateCommands, usable, onDiscarded }: EditorProps) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const kept = useKeptDraft(`scene/${scene?.id ?? 'new'}`, isSceneDraft);
  const [saved] = useState<SceneDraft>(() => ({ name: scene?.name ?? '', commands: scene?.commands ?? [] }));
  const draft = useSceneForm(saved, kept.found ?? saved);
  useKeeping(kept, { name: draft.name, commands: draft.commands }, draft.isChanged);
  const save = useSaveScene(scene?.id ?? null);
  const attempt = useTryScene();
  const [isChecked, setChecked] = useState(false);
  const { toast } = useServices();
  const remove = useRemoveScene();
  const addAgain = useAddAgain();
  const [question, ask] = useConfirm();
  const leave = (): void => {
    kept.end();
    navigate('/scenes');
  };
  const askToRemove = (removed: Scene): void =>
    ask({
      title: t('scenes.removeAsk', removed),
      text: (
        <>
          <p>{t('scenes.removeHelp')}</p>
          <UsedBy ids={[removed.id]} />
        </>
      ),
      confirm: t('scenes.remove'),
      run: async () => {
        await remove.mutateAsync(removed.id);
        leave();
        toast.set({ words: t('scenes.removed', removed), undo: () => addAgain(removed) });
      },
    });
  /** Marks the lines where something is missing. True when nothing is. */
  const check = (): boolean => {
    setChecked(true);
    return draft.lines.length > 0 && draft.lines.every(({ command }) => commands.isComplete(command));
  };
  const form = useForm({
    body: { properties: { name: nameText } },
    fields: ['name'],
    check,
    send: ({ name }) => save.mutateAsync({ name, commands: [...draft.commands] }),
    onDone: leave,
  });
  const onTry = (): void => {
    if (flushSync(check)) attempt.mutate([...draft.commands]);
    else form.focusFault();
  };
  return (
    <form {...form.props} className="main-and-side">
      {kept.found !== null && draft.isChanged && (
        <UnsavedNote
          onDiscard={() => {
            kept.end();
            onDiscarded();
          }}
        />
      )}
      <LinesCard draft={draft} commands={commands} stateCommands={stateCommands} isChecked={isChecked} />
      <div className="grid grid-cols-1 gap-4 md:gap-6 lg:sticky lg:top-8">
        <Card title={t('scenes.details')}>
          <Field
            label={t('scenes.name')}
            {...form.field('name')}
            value={draft.name}
            onChange={({ target }) => draft.rename(target.value)}
          />
        </Card>
        <div className="grid gap-3">
          <Button disabled={!usable} busy={attempt.isPending} onClick={onTry}>
            <Play aria-hidden className="size-5" />
            {t('scenes.try')}
          </Button>
          <p role="status" className="text-small text-ink-soft">
            {attempt.data ? runWords(t, attempt.data) : t('scenes.tryHelp')}
          </p>
          <ProblemNote error={attempt.error} />
          <FormProblem form={form} />
          <Button kind="primary" type="submit" busy={form.isBusy}>
            {t('scenes.save')}
          </Button>
          {scene && <Button onClick={() => askToRemove(scene)}>{t('scenes.remove')}</Button>}
        </div>
      </div>
      {question}
    </form>
  );
}

function LinesCard({
  draft,
  commands,
  stateCommands,
  isChecked,
}: Pick<EditorProps, 'commands' | 'stateCommands'> & { draft: SceneForm; isChecked: boolean }) {
  const { t } = useTranslation();
  const rows = useRef<HTMLDivElement>(null);
  const [isTaking, setTaking] = useState(false);
  /** The keyboard goes on in the last row, or at what adds another: at once, because the next key may come in the same moment. */
  const change = (lines: () => void, next: 'field' | 'button'): void => {
    flushSync(lines);
    const last = [
      ...(rows.current?.querySelectorAll<HTMLElement>(next === 'field' ? '[role=combobox]' : 'button') ?? []),
    ];
    last.at(next === 'field' ? -1 : -2)?.focus();
  };
  return (
    <Card title={t('scenes.lines')}>
      <p className="-mt-3 mb-3 text-small text-ink-soft">{t('scenes.linesHelp')}</p>
      <div ref={rows}>
        <div className="space-y-2 empty:hidden">
          {draft.lines.map(({ key, command }, index) => (
            <div key={key}>
              {commands.row({
                name: t('scenes.line', { number: index + 1 }),
                command,
                isChecked,
                onChange: (changed) => draft.change(key, changed),
                onRemove: () => change(() => draft.remove(key), 'button'),
              })}
            </div>
          ))}
        </div>
        {isChecked && draft.lines.length === 0 && (
          <p role="alert" className="text-small text-fault">
            {t('scenes.nothingChosen')}
          </p>
        )}
        <div className="mt-2 -mb-2 -ml-3 flex flex-wrap">
          <Button kind="quiet" onClick={() => change(draft.add, 'field')}>
            <Plus aria-hidden className="size-5" />
            {t('scenes.add')}
          </Button>
          <Button kind="quiet" onClick={() => setTaking(true)}>
            <Copy aria-hidden className="size-5" />
            {t('scenes.present')}
          </Button>
        </div>
      </div>
      {isTaking && (
        <PresentStateDialog stateCommands={stateCommands} onTake={draft.takeOver} onClose={() => setTaking(false)} />
      )}
    </Card>
  );
}
