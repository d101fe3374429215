import { useInfiniteQuery } from '@tanstack/react-query';
import { ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Automation, AutomationRun, RunStep } from '@station/protocol/automations';
import { useServices } from '../../api/services.ts';
import { spelled } from '../../i18n/device-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';
import { type Tone, ToneIcon } from '../../ui/tone.tsx';
import { nodeWords } from './automation-words.ts';
import { reasonOfRun, seenWords, statusOfRun, statusOfStep, toneOfRun, triggerOfRun } from './run-words.ts';
import type { Surroundings } from './automations.ts';
import { runsKey } from './follow-automations.ts';
import { nodeData } from './sentence.ts';
import { StepLine } from './step-line.tsx';

const pageSize = 20;

/** Its runs, newest first, each with its steps and why it ended as it did. */
export function RunsCard({ automation, around }: { automation: Automation; around: Surroundings }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const { id } = automation;
  const query = useInfiniteQuery({
    queryKey: runsKey(id),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      session.page('GET /api/automations/:id/runs', pageParam, { params: { id }, query: { limit: pageSize }, signal }),
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => (state.status === 'error' ? 5_000 : 30_000),
  });
  const runs = query.data?.pages.flatMap(({ items }) => items);
  return (
    <Card title={t('automations.runs.title')}>
      {runs === undefined &&
        (query.error ? <ProblemNote error={query.error} /> : <Loading cards={['h-11', 'h-11', 'h-11']} />)}
      {runs?.length === 0 && <p className="text-ink-soft">{t('automations.runs.empty')}</p>}
      {runs !== undefined && runs.length > 0 && (
        <ol className="-my-3 divide-y divide-line">
          {runs.map((run) => (
            <Run key={run.id} run={run} automation={automation} around={around} />
          ))}
        </ol>
      )}
      {query.hasNextPage && (
        <Button
          kind="quiet"
          busy={query.isFetchingNextPage}
          className="mt-2"
          onClick={() => void query.fetchNextPage()}
        >
          {t('automations.runs.older')}
        </Button>
      )}
    </Card>
  );
}

function Run({ run, automation, around }: { run: AutomationRun; automation: Automation; around: Surroundings }) {
  const { t } = useTranslation();
  const reason = reasonOfRun(t, run);
  const took = run.endedAt === null ? null : Date.parse(run.endedAt) - Date.parse(run.startedAt);
  return (
    <li className="flex gap-3 py-3">
      <ToneIcon tone={toneOfRun[run.status]} className="mt-0.5" />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap justify-between gap-x-4">
          <span className="font-strong">{statusOfRun(t, run)}</span>
          <span className="text-small leading-6 text-ink-soft">
            <TimeAgo at={run.startedAt} />
          </span>
        </div>
        {reason !== null && <p>{reason}</p>}
        <p className="text-small text-ink-soft">
          {triggerOfRun(around, run)}
          {took !== null && dot + t('automations.runs.took', { duration: formatDuration(around.locale, took) })}
        </p>
        {run.steps.length > 0 && (
          <details className="group mt-1" open={run.status === 'running' || run.status === 'waiting'}>
            <summary className="-ml-1 inline-flex min-h-11 list-none items-center gap-1 rounded-xl pr-2 text-accent [&::-webkit-details-marker]:hidden">
              <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
              {t('automations.runs.steps')}
            </summary>
            <ol className="mb-1 space-y-2 border-l border-line pl-3">
              {run.steps.map((step) => (
                <Step key={step.nodeId} step={step} automation={automation} around={around} />
              ))}
            </ol>
          </details>
        )}
      </div>
    </li>
  );
}

const toneOfStep: Record<RunStep['status'], Tone | null> = {
  running: 'working',
  waiting: 'working',
  done: 'ok',
  met: 'ok',
  not_met: null,
  ignored: 'attention',
  failed: 'fault',
  expired: 'fault',
  unknown: 'attention',
  cancelled: null,
  missed: 'attention',
};

function Step({ step, automation, around }: { step: RunStep; automation: Automation; around: Surroundings }) {
  const tone = toneOfStep[step.status];
  // An older run may have parts that the flow no longer has.
  const data = [automation.publishedFlow, automation.flow]
    .map((flow) => nodeData(flow, step.nodeId))
    .find((found) => found?.kind === step.kind);
  const words = data ? nodeWords(around, data) : spelled(step.kind);
  return (
    <StepLine
      tone={tone}
      words={words}
      status={statusOfStep(around, step)}
      seen={seenWords(around, data ?? undefined, step.seen)}
      detail={step.seen === null && (step.status === 'failed' || step.status === 'unknown') ? step.detail : null}
    />
  );
}
