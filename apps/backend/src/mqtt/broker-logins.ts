import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { Log } from '../log.ts';
import type { DeviceLogin, Dynsec } from './dynsec.ts';

export type BrokerLogins = AsyncDisposable & {
  /** Gives a device its login, or a new one. @throws (rejects) when the broker is away or refuses. */
  add(login: DeviceLogin): Promise<void>;
  /** Tried until the broker has done it. */
  remove(externalId: string): void;
  /** The link to the broker is there again, maybe of another one: asks anew who keeps the logins, if it seemed that others do. */
  lookAgain(): void;
};

const retryMs = 5_000;
/** At the start the broker may have much to do. */
const firstAttempts = 3;

/**
 * Keeps the logins of devices at a broker of its own in step with the station. What happened while it was not there is made good at the start;
 * logins that the station did not make are left alone.
 * @param known logins that were given beforehand: made at the broker when they are not there.
 */
export function startBrokerLogins(options: {
  dynsec: Dynsec;
  known: readonly DeviceLogin[];
  /** External ids of the devices that the station has. */
  externalIds: () => Promise<readonly string[]>;
  /** Where several backends look after the same broker: one at a time. */
  exclusively?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether a login may go: the device was not added again meanwhile. */
  isGone: (externalId: string) => Promise<boolean>;
  clock: Clock;
  log: Log;
}): BrokerLogins {
  const { dynsec, exclusively = (work) => work(), isGone, clock, log } = options;
  const known = new Map(options.known.map((login) => [login.externalId, login]));
  const ending = new AbortController();
  /** Null: not known yet. */
  let isKept: boolean | null = null;

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
  const prepare = async (attempts: number): Promise<void> => {
    const was = isKept;
    isKept = await dynsec.prepare(attempts, ending.signal);
    if (isKept !== was) log.event('mqtt_logins_kept', { by: isKept ? 'station' : 'others' });
    if (isKept) await straighten();
  };
  const straighten = async (): Promise<void> => {
    const there = await dynsec.list();
    // Read after it: a device is in the table before it has a login.
    const present = new Set(await options.externalIds());
    const names = new Set(there.map(({ username }) => username));
    const isMissing = ({ externalId }: DeviceLogin): boolean => !names.has(externalId) && present.has(externalId);
    await dynsec.add([...known.values()].filter(isMissing));
    // Of a device that was removed while the broker was away, and then the backend ended.
    for (const { username, isOfDevice } of there) {
      if (isOfDevice && !present.has(username) && (await dynsec.isOwn(username))) await remove(username);
    }
  };
  const look = (attempts: number) => insist('preparing the broker', () => exclusively(() => prepare(attempts)));
  const preparing = look(firstAttempts);
  const remove = async (externalId: string): Promise<void> => {
    if (await isGone(externalId)) await dynsec.remove(externalId);
  };
  const removing = new Set<Promise<void>>();
  let looking: Promise<void> | null = null;
  const lookAgain = (): Promise<void> => (looking ??= look(1).finally(() => (looking = null)));

  return {
    add: async (login) => {
      await preparing;
      known.delete(login.externalId);
      if (!isKept) await exclusively(() => prepare(1));
      if (isKept) await exclusively(() => dynsec.add([login]));
    },
    remove: (externalId) => {
      known.delete(externalId);
      const removal = preparing
        .then(() => (isKept ? undefined : lookAgain()))
        .then(() => (isKept ? insist('removing a login', () => exclusively(() => remove(externalId))) : undefined))
        .finally(() => removing.delete(removal));
      removing.add(removal);
    },
    lookAgain: () => {
      if (isKept === false) void lookAgain();
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all([preparing, looking, ...removing]);
    },
  };
}
