import { useTranslation } from 'react-i18next';
import type { Automation } from '@station/protocol/automations';
import type { Freshness } from '../../api/freshness.ts';
import { useUser } from '../../api/services.ts';
import { BackLink } from '../../ui/back-link.tsx';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { PageHead } from '../../ui/page-head.tsx';
import { ReadFault } from '../../ui/read-fault.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { AutomationActions } from './automation-actions.tsx';
import { automationConditionWords, flowFaultWords, sentenceWords } from './automation-words.ts';
import { Gone } from './gone.tsx';
import { RunsCard } from './runs-card.tsx';
import { Says } from './says.tsx';
import { sentenceOf } from './sentence.ts';
import { StatusBadge } from './status-badge.tsx';
import type { Surroundings } from './surroundings.ts';
import { useAutomation, useSurroundings } from './use-automations.ts';

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
        <BackLink href="/automations">{t('automations.build.back')}</BackLink>
        {view.kind === 'fault' && view.problem.status === 404 && <Gone />}
      </PageHead>
      {view.kind === 'fault' ? (
        view.problem.status !== 404 && <ReadFault title={t('automations.fault')} {...view} />
      ) : (
        <Loading />
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
  const mayManage = useUser().role !== 'member';
  const { t } = useTranslation();
  const stale = freshness.kind === 'stale';
  return (
    <>
      <PageHead page={automation.name} freshness={freshness}>
        <BackLink href="/automations">{t('automations.build.back')}</BackLink>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <h1 className="min-w-0 text-title font-strong break-words md:text-value">{automation.name}</h1>
          <StatusBadge status={automation.status} />
        </div>
      </PageHead>
      <div
        className={classNames(
          'grid grid-cols-1 items-start gap-4 text-ink transition-[filter] duration-500 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]',
          stale && 'dimmed',
        )}
      >
        <DoesCard automation={automation} around={around} />
        <AutomationActions
          automation={automation}
          isSentence={sentenceOf(automation.flow) !== null}
          mayManage={mayManage}
          usable={!stale}
          className="lg:row-span-2"
        />
        <RunsCard automation={automation} around={around} />
      </div>
    </>
  );
}

function DoesCard({ automation, around }: { automation: Automation; around: Surroundings }) {
  const { t } = useTranslation();
  const { flow, publishedFlow, hasUnpublishedChanges, conditions, faults, mode } = automation;
  const sentence = sentenceOf(flow);
  const before = publishedFlow === null ? null : sentenceOf(publishedFlow);
  const errors = [
    ...new Set(faults.filter(({ severity }) => severity === 'error').map((fault) => flowFaultWords(t, fault))),
  ];
  return (
    <Card title={t('automations.page.does')}>
      <div className="space-y-3">
        <Says flow={flow} around={around} />
        {hasUnpublishedChanges && (
          <div className="rounded-xl bg-sunken p-3 text-small">
            <p className="font-strong">{t('automations.status.edited')}</p>
            {before && <p>{t('automations.page.inEffect', { sentence: sentenceWords(around, before) })}</p>}
          </div>
        )}
        {conditions.map((condition) => (
          <p key={condition.code} className="flex gap-2">
            <ToneIcon tone="attention" className="mt-0.5" />
            {automationConditionWords(t, condition)}
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
          {t('automations.page.mode', { mode: t(`automations.build.modes.${mode}`) })}
        </p>
      </div>
    </Card>
  );
}

function Loading() {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('app.loading')} className="grid items-start gap-4 md:gap-6">
      <Skeleton className="h-10 w-64" />
      <Skeleton className="h-36 rounded-2xl" />
      <Skeleton className="h-72 rounded-2xl" />
    </div>
  );
}
