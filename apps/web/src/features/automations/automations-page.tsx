import { ChevronRight, Plus, Workflow } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Automation, AutomationSummary } from '@station/protocol/automations';
import { isManager } from '@station/protocol/roles';
import type { Freshness } from '../../api/reading.ts';
import { useUser } from '../../api/services.ts';
import { dot, orElse } from '../../i18n/words.ts';
import { EmptyNote, Skeleton } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { Dimmable, PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { NextTime, AutomationSentence, StatusBadge } from './automation-parts.tsx';
import { sentenceWords, titleOf } from './automation-words.ts';
import { statusOfRun, toneOfRun } from './run-words.ts';
import { sentenceOf } from './sentence.ts';
import { type Surroundings, useAutomations, useDetails, useSurroundings } from './automations.ts';
import { UnsavedLine } from './unsaved-line.tsx';

/** What the station does automatically, each in a sentence. */
export function AutomationsPage() {
  const { t } = useTranslation();
  const view = useAutomations();
  const around = useSurroundings();
  const title = t('automations.title');
  if (view.kind === 'shown' && around !== null)
    return <Shown automations={view.value} freshness={view.freshness} around={around} />;
  return (
    <>
      <PageHead page={title}>
        <h1 className="text-title font-strong md:text-value">{title}</h1>
        <p className="text-ink-soft">{t('automations.lead')}</p>
      </PageHead>
      {view.kind === 'fault' ? (
        <ReadFault title={t('automations.fault')} {...view} />
      ) : (
        <Loading cards={['h-32', 'h-32', 'h-32']} />
      )}
    </>
  );
}

function Shown({
  automations,
  freshness,
  around,
}: {
  automations: readonly AutomationSummary[];
  freshness: Freshness;
  around: Surroundings;
}) {
  const { t } = useTranslation();
  const details = useDetails(automations);
  const mayManage = isManager(useUser().role);
  const stale = freshness.kind === 'stale';
  const make = mayManage && (
    <LinkButton href="/automations/new" kind="primary">
      <Plus aria-hidden className="size-5" />
      {t('automations.new')}
    </LinkButton>
  );
  return (
    <>
      <PageHead page={t('automations.title')} freshness={freshness}>
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-4">
          <div>
            <h1 className="text-title font-strong md:text-value">{t('automations.title')}</h1>
            <p className="text-ink-soft">{t('automations.lead')}</p>
          </div>
          {automations.length > 0 && make}
        </div>
      </PageHead>
      <Dimmable stale={stale} className="space-y-4">
        {mayManage && <UnsavedLine id={null} />}
        {automations.length === 0 ? (
          <EmptyNote
            icon={Workflow}
            title={t('automations.empty.title')}
            help={t(mayManage ? 'automations.empty.help' : 'automations.empty.readOnly')}
          >
            {make}
          </EmptyNote>
        ) : (
          <ul className="grid grid-cols-1 gap-3">
            {automations.map((automation) => (
              <Row key={automation.id} automation={automation} detail={details.get(automation.id)} around={around} />
            ))}
          </ul>
        )}
        {!mayManage && automations.length > 0 && <p className="text-ink-soft">{t('automations.readOnly')}</p>}
      </Dimmable>
    </>
  );
}

function Row({
  automation,
  detail,
  around,
}: {
  automation: AutomationSummary;
  detail: Automation | undefined;
  around: Surroundings;
}) {
  const { t } = useTranslation();
  const { id, name, status, conditions, hasUnpublishedChanges } = automation;
  const flow = detail?.publishedFlow ?? detail?.flow;
  const sentence = flow && sentenceOf(flow);
  // Without a name it is called what it does, which is said once.
  const said = name === '' && sentence ? sentenceWords(around, sentence) : null;
  const title = said ?? titleOf(around, { name, flow });
  return (
    <li className="relative rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong md:px-6">
      <div className="flex items-center gap-3">
        <h2 className="min-w-0 flex-1 font-strong break-words">
          {/* The whole card leads there; its name is what is read out. */}
          <Link href={`/automations/${id}`} className="rounded-lg after:absolute after:inset-0 after:rounded-2xl">
            {title}
          </Link>
        </h2>
        <StatusBadge status={status} />
        <ChevronRight aria-hidden className="-mr-1 size-5 shrink-0 text-ink-soft" />
      </div>
      {said === null && (
        <div className="mt-1 text-ink-soft">
          {flow === undefined ? <Skeleton className="h-6 w-3/4" /> : <AutomationSentence flow={flow} around={around} />}
        </div>
      )}
      {conditions.map((condition) => (
        <p key={condition.code} className="mt-2 flex gap-2 text-small">
          <ToneIcon tone="attention" />
          {orElse(t, `automations.condition.${condition.code}`, condition.message)}
        </p>
      ))}
      <LastRun automation={automation} />
      {hasUnpublishedChanges && <p className="text-small text-ink-soft">{t('automations.status.edited')}</p>}
    </li>
  );
}

function LastRun({ automation: { lastRun, nextRunAt } }: { automation: AutomationSummary }) {
  const { t } = useTranslation();
  const next = nextRunAt !== null && (
    <Sentence text={(time) => t('automations.next', { time })} slot={<NextTime at={nextRunAt} />} />
  );
  return (
    <p className="mt-2 flex gap-x-2 text-small text-ink-soft">
      {lastRun !== null && <ToneIcon tone={toneOfRun[lastRun.status]} className="size-4 translate-y-0.5" />}
      <span>
        {lastRun === null ? (
          <span className="inline-block first-letter:uppercase">{t('automations.never')}</span>
        ) : (
          <>
            {statusOfRun(t, lastRun)}
            {dot}
            <TimeAgo at={lastRun.startedAt} />
          </>
        )}
        {next && dot}
        {next}
      </span>
    </p>
  );
}
