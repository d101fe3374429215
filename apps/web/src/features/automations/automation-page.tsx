import { Copy, Pencil, Play, Power, Trash2, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Automation } from '@station/protocol/automations';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useServices, useUser } from '../../api/services.ts';
import { orElse } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { classNames } from '../../ui/class-names.ts';
import { useConfirm } from '../../ui/confirm.tsx';
import { BackLink, LinkButton } from '../../ui/links.tsx';
import { Dimmable, PageHead } from '../../ui/page.tsx';
import { ProblemNote, ReadFault } from '../../ui/problem.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { Gone, AutomationSentence, StatusBadge } from './automation-parts.tsx';
import { sentenceWords, titleOf } from './automation-words.ts';
import { startedWords } from './run-words.ts';
import {
  hasConditions,
  type Surroundings,
  useAddAgain,
  useAutomation,
  useDelete,
  useDuplicate,
  useRunNow,
  useSurroundings,
  useSwitch,
} from './automations.ts';
import { RunsCard } from './runs-card.tsx';
import { sentenceOf } from './sentence.ts';
import { TestButton } from './test-button.tsx';
import { UnsavedLine } from './unsaved-line.tsx';

/** One automation: what it does, what can be done with it, and what it has done. */
export function AutomationPage({ id }: { id: string }) {
  const { t } = useTranslation();
  const view = useAutomation(id);
  const around = useSurroundings();
  if (view.kind === 'shown' && around !== null)
    return <Shown automation={view.value} freshness={view.freshness} around={around} />;
  return (
    <>
      <PageHead page={t('automations.title')}>
        <BackLink href="/automations">{t('builder.back')}</BackLink>
        {view.kind === 'fault' && view.problem.isGone && <Gone />}
      </PageHead>
      {view.kind === 'fault' ? (
        !view.problem.isGone && <ReadFault title={t('automations.fault')} {...view} />
      ) : (
        <Loading cards={['h-10 w-64', 'h-36', 'h-72']} />
      )}
    </>
  );
}

function Shown({
  automation,
  freshness,
  around,
}: {
  automation: Automation;
  freshness: Freshness;
  around: Surroundings;
}) {
  const mayManage = isManager(useUser().role);
  const { t } = useTranslation();
  const stale = freshness.kind === 'stale';
  const title = titleOf(around, automation);
  return (
    <>
      <PageHead page={title} freshness={freshness}>
        <BackLink href="/automations">{t('builder.back')}</BackLink>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <h1 className="min-w-0 text-title font-strong break-words md:text-value">{title}</h1>
          <StatusBadge status={automation.status} />
        </div>
      </PageHead>
      <Dimmable stale={stale} className="main-and-side">
        <DoesCard automation={automation} around={around} />
        <AutomationActions
          automation={automation}
          around={around}
          title={title}
          isSentence={sentenceOf(automation.flow) !== null}
          mayManage={mayManage}
          usable={!stale}
          className="lg:row-span-2"
        />
        <RunsCard automation={automation} around={around} />
      </Dimmable>
    </>
  );
}

function DoesCard({ automation, around }: { automation: Automation; around: Surroundings }) {
  const { t } = useTranslation();
  const { flow, publishedFlow, hasUnpublishedChanges, conditions, faults, mode } = automation;
  const sentence = sentenceOf(flow);
  const before = publishedFlow === null ? null : sentenceOf(publishedFlow);
  const words = faults
    .filter(({ severity }) => severity === 'error')
    .map(({ code, message }) => orElse(t, `automations.flowFault.${code}`, message));
  const errors = [...new Set(words)];
  return (
    <Card title={t('automations.page.does')}>
      <div className="space-y-3">
        <AutomationSentence flow={flow} around={around} />
        <UnsavedLine id={automation.id} />
        {hasUnpublishedChanges && (
          <div className="rounded-xl bg-sunken p-3 text-small">
            <p className="font-strong">{t('automations.status.edited')}</p>
            {before && <p>{t('automations.page.inEffect', { sentence: sentenceWords(around, before) })}</p>}
          </div>
        )}
        {conditions.map((condition) => (
          <p key={condition.code} className="flex gap-2">
            <ToneIcon tone="attention" className="mt-0.5" />
            {orElse(t, `automations.condition.${condition.code}`, condition.message)}
          </p>
        ))}
        {errors.length > 0 && (
          <div className="flex gap-2">
            <ToneIcon tone="attention" className="mt-0.5" />
            <div>
              {automation.status === 'draft' && <p className="font-strong">{t('automations.page.faults')}</p>}
              <ul>
                {errors.map((words) => (
                  <li key={words}>{words}</li>
                ))}
              </ul>
            </div>
          </div>
        )}
        <p className="text-small text-ink-soft">
          {sentence === null && flow.nodes.length > 0 && <>{t('automations.elsewhere')} </>}
          {t('automations.page.mode', { mode: t(`builder.modes.${mode}`) })}
        </p>
      </div>
    </Card>
  );
}

/** What can be done with one automation. A member may start one that is switched on, and nothing else. */
export function AutomationActions({
  automation,
  around,
  title,
  isSentence,
  mayManage,
  usable,
  className,
}: {
  automation: Automation;
  around: Surroundings;
  title: string;
  isSentence: boolean;
  mayManage: boolean;
  usable: boolean;
  className: string;
}) {
  const { t } = useTranslation();
  const { id, status, faults, hasUnpublishedChanges } = automation;
  const isOn = status === 'published';
  const isPublishable = faults.every(({ severity }) => severity === 'warning');
  const run = useRunNow(id);
  const [ignoreConditions, setIgnoreConditions] = useState(false);
  const mayIgnore = mayManage && hasConditions(automation.publishedFlow ?? automation.flow);
  const publish = useSwitch(id, 'publish');
  return (
    <section
      aria-label={t('automations.page.actions')}
      className={classNames('grid grid-cols-2 gap-3 lg:grid-cols-1', className)}
    >
      {mayManage && (!isOn || hasUnpublishedChanges) && (
        <Button
          kind="primary"
          className="col-span-full"
          busy={publish.isPending}
          disabled={!usable || !isPublishable}
          onClick={() => publish.mutate()}
        >
          <Power aria-hidden className="size-5" />
          {t(isOn ? 'automations.page.putIntoEffect' : 'automations.page.switchOn')}
        </Button>
      )}
      {(mayManage || isOn) && (
        <Button
          busy={run.isPending}
          disabled={!usable || (!isOn && !isPublishable)}
          onClick={() => run.mutate(mayIgnore ? { ignoreConditions } : {})}
        >
          <Play aria-hidden className="size-5" />
          {t('automations.page.runNow')}
        </Button>
      )}
      {mayIgnore && (
        <div className="col-span-full">
          <SwitchLine label={t('automations.ignoreConditions')} on={ignoreConditions} onToggle={setIgnoreConditions} />
        </div>
      )}
      {mayManage && isSentence && (
        <LinkButton href={`/automations/${id}/edit`}>
          <Pencil aria-hidden className="size-5" />
          {t('automations.page.edit')}
        </LinkButton>
      )}
      {mayManage && <TestButton flow={() => automation.flow} around={around} disabled={!usable || !isPublishable} />}
      {mayManage && <Duplicate automation={automation} usable={usable} />}
      {mayManage && isOn && <ToDraft id={id} name={title} usable={usable} />}
      {mayManage && <Remove automation={automation} name={title} usable={usable} />}
      {!mayManage && <p className="col-span-full text-small text-ink-soft">{t('automations.readOnly')}</p>}
      <p role="status" className="text-small text-ink-soft empty:hidden col-span-full">
        {run.data && startedWords(t, run.data)}
      </p>
      {[run.error, publish.error].map(
        (problem, place) =>
          problem && (
            <div key={place} className="col-span-full">
              <ProblemNote error={problem} />
            </div>
          ),
      )}
    </section>
  );
}

/** A copy to change; its page of changes opens where it can be changed here. */
function Duplicate({ automation, usable }: { automation: Automation; usable: boolean }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const duplicate = useDuplicate(automation);
  const onSuccess = ({ id, flow }: Automation): void =>
    navigate(sentenceOf(flow) === null ? `/automations/${id}` : `/automations/${id}/edit`);
  return (
    <>
      <Button busy={duplicate.isPending} disabled={!usable} onClick={() => duplicate.mutate(undefined, { onSuccess })}>
        <Copy aria-hidden className="size-5" />
        {t('automations.page.duplicate')}
      </Button>
      {duplicate.error && (
        <div className="col-span-full">
          <ProblemNote error={duplicate.error} />
        </div>
      )}
    </>
  );
}

function ToDraft({ id, name, usable }: { id: string; name: string; usable: boolean }) {
  const { t } = useTranslation();
  const draft = useSwitch(id, 'draft');
  const [question, ask] = useConfirm();
  const askToSwitchOff = (): void =>
    ask({
      title: t('automations.page.draftTitle', { name }),
      text: <p>{t('automations.page.draftHelp')}</p>,
      confirm: t('automations.page.draftConfirm'),
      run: () => draft.mutateAsync(),
    });
  return (
    <>
      <Button busy={draft.isPending} disabled={!usable} onClick={askToSwitchOff}>
        <Undo2 aria-hidden className="size-5" />
        {t('automations.page.toDraft')}
      </Button>
      {question}
    </>
  );
}

function Remove({ automation, name, usable }: { automation: Automation; name: string; usable: boolean }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const { toast } = useServices();
  const remove = useDelete(automation.id);
  const addAgain = useAddAgain();
  const [question, ask] = useConfirm();
  const askToRemove = (): void =>
    ask({
      title: t('automations.page.removeTitle', { name }),
      text: <p>{t('automations.page.removeHelp')}</p>,
      confirm: t('automations.page.removeConfirm'),
      keep: t('automations.page.keep'),
      run: async () => {
        await remove.mutateAsync();
        navigate('/automations');
        toast.set({ words: t('automations.page.removed', { name }), undo: () => addAgain(automation) });
      },
    });
  return (
    <>
      <Button disabled={!usable} onClick={askToRemove}>
        <Trash2 aria-hidden className="size-5" />
        {t('automations.page.remove')}
      </Button>
      {question}
    </>
  );
}
