import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';

const reportEveryMs = 60_000;
/** Of a user name, in the log: whoever tries chooses it. */
const nameLength = 64;

/** Says that logins were refused: the first at once, then at most once a minute, with how many there were. */
export function createRefusedLogins({
  clock,
  logger,
}: {
  clock: Clock;
  logger: BackendLogger;
}): (externalId: string) => void {
  let count = 0;
  let toldMs = -Infinity;
  return (externalId) => {
    count += 1;
    const nowMs = clock.monotonic();
    if (nowMs - toldMs < reportEveryMs) return;
    logger.event('mqtt_login_refused', { count, externalId: externalId.slice(0, nameLength) });
    count = 0;
    toldMs = nowMs;
  };
}
