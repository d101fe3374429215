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
  /** Where several backends look after the same broker: one at a time. */
  exclusively?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether a login may go: the device was not added again meanwhile. */
  isGone?: (externalId: string) => Promise<boolean>;
  clock: Clock;
  log: Log;
}): BrokerLogins {
  const { dynsec, known, exclusively = (work) => work(), isGone = async () => true, clock, log } = options;
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
  const prepare = async (): Promise<void> => {
    isKept = await dynsec.prepare();
    if (!isKept || known.length === 0) return;
    const there = await dynsec.list();
    await dynsec.add(known.filter(({ externalId }) => !there.has(externalId)));
  };
  const preparing = insist('preparing the broker', () => exclusively(prepare));
  const remove = async (externalId: string): Promise<void> => {
    if (await isGone(externalId)) await dynsec.remove(externalId);
  };
  const removing = new Set<Promise<void>>();

  return {
    add: async (login) => {
      await preparing;
      if (isKept) await exclusively(() => dynsec.add([login]));
    },
    remove: (externalId) => {
      const removal = preparing
        .then(() => (isKept ? insist('removing a login', () => exclusively(() => remove(externalId))) : undefined))
        .finally(() => removing.delete(removal));
      removing.add(removal);
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all([preparing, ...removing]);
    },
  };
}
