import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import type { StationClock, StationClockRequest } from '@station/protocol/rest';
import { isManager } from '@station/protocol/roles';
import type { Problem } from '../../api/request.ts';
import { useServices, useUser } from '../../api/services.ts';
import { conditionsKey, isSwitching, useStatus } from '../../api/station.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Read } from '../../ui/loading.tsx';
import { ConditionsCard } from '../../ui/conditions-card.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { MachineCard } from './machine-card.tsx';
import { ServicesCard } from './services-card.tsx';
import { useOtherConditions } from './updates-page.tsx';

/** What is wrong with the station and what helps, its services and its machine. `checks`: what it finds in itself. */
export function DiagnosticsPage({ checks }: { checks: (usable: boolean) => ReactNode }) {
  const { t } = useTranslation();
  const view = useStatus();
  const mayManage = isManager(useUser().role);
  const others = useOtherConditions();
  const title = t('settings.rows.diagnostics.title');
  const isShown = view.kind === 'shown';
  const stale = isShown && view.freshness.kind === 'stale';
  const conditions = [...(isShown ? view.value.conditions : []), ...others];
  return (
    <>
      <PageHead
        page={title}
        restarting={isShown && isSwitching(view.value.operation)}
        {...(isShown && { freshness: view.freshness })}
      >
        <PageTitle title={title}>{t('settings.rows.diagnostics.help')}</PageTitle>
      </PageHead>
      <Dimmable stale={stale} className="main-and-side">
        <div className="cards">
          {conditions.length > 0 && <ConditionsCard conditions={conditions} />}
          {mayManage && others.some(({ id }) => id === 'clock_untrusted') && <ClockCard />}
          {mayManage && checks(!stale)}
        </div>
        <Read view={view} fault={t('health.fault')} cards={['h-64']}>
          {(status) => <OfMachine status={status} mayManage={mayManage} stale={stale} />}
        </Read>
      </Dimmable>
    </>
  );
}

function OfMachine({ status, mayManage, stale }: { status: Status; mayManage: boolean; stale: boolean }) {
  const manage = { allowed: mayManage, possible: !stale && status.operation === null };
  return (
    <div className="cards">
      <ServicesCard stack={status.stack} manage={manage} />
      {mayManage && <MachineCard usable={manage.possible} />}
    </div>
  );
}

/** The agent may have to stop and start the service that sets the clock automatically. */
const setTimeoutMs = 30_000;

/** Sets a clock that nobody else sets: the station has no clock battery and no internet. */
function ClockCard() {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const setting = useMutation<StationClock, Problem>({
    mutationFn: () => {
      // Not the clock of the services: that one follows the station, which is wrong here.
      const body: StationClockRequest = { now: new Date().toISOString() };
      return session.call('POST /api/system/clock', { body, timeoutMs: setTimeoutMs });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: conditionsKey }),
  });
  return (
    <Card title={t('station.clock.title')}>
      <p className="mb-4 text-ink-soft">{t('station.clock.help')}</p>
      <Button disabled={setting.isPending} onClick={() => setting.mutate()}>
        {t('station.clock.use')}
      </Button>
      {setting.error && (
        <div className="mt-4">
          <ProblemNote error={setting.error} />
        </div>
      )}
    </Card>
  );
}
