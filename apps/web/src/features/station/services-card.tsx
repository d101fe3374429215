import { useMutation } from '@tanstack/react-query';
import { ScrollText } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ServiceRestart, ServiceStatus, Status } from '@station/protocol/agent-api';
import type { ServiceRestartRequest } from '@station/protocol/agent-machine';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { statusKey } from '../../api/station.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { LinkRow } from '../../ui/links.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { serviceState, toneOfService } from './health.ts';
import { stopsWith } from './machine-view.ts';
import type { Manage } from './release-commands.ts';
import { serviceName, shortImage } from './station-words.ts';

/** The services of the stack. Those who manage the station may restart one, and read the logs. */
export function ServicesCard({ stack, manage }: { stack: Status['stack']; manage: Manage }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [question, ask] = useConfirm();
  const restart = useMutation<unknown, Problem, ServiceRestartRequest>({
    mutationFn: (body) => session.call('POST /api/system/services/restart', { body }),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
  const askToRestart = (service: string): void =>
    ask({
      kind: 'primary',
      title: t('machine.restart.serviceTitle', { service: serviceName(t, service) }),
      text: <p>{t(`machine.restart.stops.${stopsWith(service)}`)}</p>,
      confirm: t('machine.restart.confirm'),
      keep: t('machine.restart.keep'),
      run: () => restart.mutate({ service }),
    });
  const last = stack.restart ?? null;
  const isRestarting = last?.endedAt === null;
  return (
    <Card title={t('station.services.title')}>
      {stack.services.length === 0 ? (
        <p className="text-ink-soft">{t('station.services.empty')}</p>
      ) : (
        <ul className="space-y-3">
          {stack.services.map((service) => (
            <li key={service.name} className="flex flex-wrap gap-x-3">
              <ServiceLine service={service} last={last?.service === service.name ? last : null} />
              {manage.allowed && (
                <Button
                  kind="quiet"
                  className="-my-1 -mr-3 ml-auto shrink-0 self-start"
                  aria-label={t('machine.restart.serviceOf', { service: serviceName(t, service.name) })}
                  disabled={!manage.possible || isRestarting || restart.isPending}
                  onClick={() => askToRestart(service.name)}
                >
                  {t('machine.restart.service')}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {restart.error && (
        <div className="mt-4">
          <ProblemNote error={restart.error} />
        </div>
      )}
      {manage.allowed && (
        <div className="mt-4">
          <LinkRow href="/settings/log" icon={ScrollText} title={t('log.open')} />
        </div>
      )}
      {question}
    </Card>
  );
}

function ServiceLine({ service, last }: { service: ServiceStatus; last: ServiceRestart | null }) {
  const { t } = useTranslation();
  const state = serviceState(service);
  const isRestarting = last?.endedAt === null;
  return (
    <>
      <ToneIcon tone={isRestarting ? 'working' : toneOfService[state]} className="mt-0.5" />
      <div className="min-w-32 flex-1">
        <h3 className="font-strong">{serviceName(t, service.name)}</h3>
        <p className="text-small break-words text-ink-soft" title={service.image}>
          {t(`station.services.state.${state}`) + dot}
          <code>{shortImage(service.image)}</code>
        </p>
        <div role="status" className="text-small text-ink-soft">
          {isRestarting && t('machine.restart.running')}
          {last && last.endedAt !== null && (
            <Sentence
              text={(time) => t(last.isFailed ? 'machine.restart.failed' : 'machine.restart.done', { time })}
              slot={<TimeAgo at={last.endedAt} />}
            />
          )}
        </div>
      </div>
    </>
  );
}
