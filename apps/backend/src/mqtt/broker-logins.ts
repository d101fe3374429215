import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { Log } from '../log.ts';
import type { DeviceLogin, Dynsec } from './dynsec.ts';

export type BrokerLogins = AsyncDisposable & {
  /** Gives a device its login, or a new one. @throws (rejects) when the broker is away or refuses. */
  add(login: DeviceLogin): Promise<void>;
  /** Tried until the broker has done it. */
  remove(externalId: string): void;
};

const retryMs = 5_000;

/**
 * Keeps the logins of devices at a broker of its own in step with the station.
 * @param known logins that were given beforehand: made at the broker when they are not there.
 */
export function startBrokerLogins(options: {
  dynsec: Dynsec;
  known: readonly DeviceLogin[];
  clock: Clock;
  log: Log;
}): BrokerLogins {
  const { dynsec, known, clock, log } = options;
  const ending = new AbortController();
  let isKept = true;

  const insist = async (where: string, work: () => Promise<void>): Promise<void> => {
    for (let said = ''; !ending.signal.aborted;) {
      try {
        return await work();
      } catch (error) {
        const message = describeError(error);
        if (message !== said && !ending.signal.aborted) log.event('unexpected_error', { where, message });
        said = message;
      }
      await clock.sleep(retryMs, ending.signal).catch(() => undefined);
    }
  };
  const preparing = insist('preparing the broker', async () => {
    isKept = await dynsec.prepare();
    if (!isKept || known.length === 0) return;
    const there = await dynsec.list();
    await dynsec.add(known.filter(({ externalId }) => !there.has(externalId)));
  });
  const removing = new Set<Promise<void>>();

  return {
    add: async (login) => {
      await preparing;
      if (isKept) await dynsec.add([login]);
    },
    remove: (externalId) => {
      const removal = preparing
        .then(() => (isKept ? insist('removing a login', () => dynsec.remove(externalId)) : undefined))
        .finally(() => removing.delete(removal));
      removing.add(removal);
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all([preparing, ...removing]);
    },
  };
}
