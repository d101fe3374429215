import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { StationClock, StationClockRequest } from '@station/protocol/rest';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { conditionsKey } from '../../api/station.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ProblemNote } from '../../ui/problem.tsx';

/** The agent may have to stop and start the service that sets the clock automatically. */
const setTimeoutMs = 30_000;

/** Sets a clock that nobody else sets: the station has no clock battery and no internet. */
export function ClockCard() {
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
          <ProblemNote problem={setting.error} />
        </div>
      )}
    </Card>
  );
}
