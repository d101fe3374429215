import { isoTime } from '@station/kit/clock';
import { describeError, StationError } from '@station/kit/station-error';
import type { ServiceRestart } from '@station/protocol/agent-api';
import type { ServiceOperator } from '../core/operator-ports.ts';
import type { RestartAnswer } from '../core/stack-port.ts';
import { refused } from './release-decide.ts';
import { request } from './stack-requests.ts';
import type { Flow } from './update-flow.ts';

/** People restart one service of the stack. */
export type RequestedRestart = {
  /** Resolves before the service stops. Refused during an update, and while another one restarts. */
  restart(service: string): Promise<RestartAnswer>;
  /** The last one since the agent started; null: none. */
  last(): ServiceRestart | null;
};

/** The answer reaches the browser first: the service may be the one that passes it on. */
const answerMs = 500;

export function createRequestedRestart(
  flow: Flow,
  operator: Pick<ServiceOperator, 'restart'> | null,
): RequestedRestart {
  const { clock, logger, runner, engine, alive } = flow;
  let last: ServiceRestart | null = null;
  const run = async (service: string, signal: AbortSignal): Promise<void> => {
    await clock.sleep(answerMs, signal);
    alive();
    const failure = await (operator?.restart(service) ?? Promise.reject(new Error('this engine cannot'))).then(
      () => null,
      (error: unknown) => describeError(error),
    );
    alive();
    last = last && { ...last, endedAt: isoTime(clock.now()), isFailed: failure !== null };
    if (failure === null) logger.event('service_restarted', { service });
    else logger.event('service_restart_failed', { service, reason: failure });
  };
  const begin = async (service: string): Promise<RestartAnswer> => {
    if (last?.endedAt === null) return refused('conflict', 'Another service is being restarted.');
    const containers = await engine.containers();
    if (!containers.some((container) => container.service === service))
      throw new StationError('not_found', 'The stack has no such service.');
    const { signal } = flow.state;
    if (!signal) return refused('unavailable', 'The agent is still starting.');
    last = { service, startedAt: isoTime(clock.now()), endedAt: null, isFailed: false };
    // In the same queue as updates, so that neither interrupts the other.
    void runner.run(() => run(service, signal)).catch(() => undefined);
    return { kind: 'started' };
  };
  return { restart: (service) => request(flow, () => begin(service)), last: () => last };
}
