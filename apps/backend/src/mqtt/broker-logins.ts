import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { constantBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { DeviceLogin, Dynsec } from './dynsec.ts';
import type { RemovedLogins } from './ports.ts';

export type BrokerLogins = AsyncDisposable & {
  /** Gives a device its login, or a new one. @throws (rejects) when the broker is away or refuses. */
  add(login: DeviceLogin): Promise<void>;
  /** A device was removed, and its login noted as one to go: tried until the broker has done it. */
  remove(externalId: string): void;
  /** The link to the broker is there again, maybe of another one: asks anew who keeps the logins, if it seemed that others do. */
  lookAgain(): void;
};

const retryMs = 5_000;
/** At the start the broker may have much to do. */
const firstAttempts = 3;

/**
 * Keeps the logins of devices at a broker of its own in step with the station. What happened while it was not there is made good at the start.
 * Only what was noted as removed goes: that a device is not in the database says nothing, for that may be a new one, or an older copy.
 * @param known logins that were given beforehand: made at the broker when they are not there.
 */
export function startBrokerLogins(options: {
  dynsec: Dynsec;
  known: readonly DeviceLogin[];
  /** External ids of the devices that the station has. */
  externalIds: () => Promise<readonly string[]>;
  removed: RemovedLogins;
  /** Where several backends look after the same broker: one at a time. */
  exclusively?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether a login may go: the device was not added again meanwhile. */
  isGone: (externalId: string) => Promise<boolean>;
  clock: Clock;
  logger: BackendLogger;
}): BrokerLogins {
  const { dynsec, removed, exclusively = (work) => work(), isGone, clock, logger } = options;
  const known = new Map(options.known.map((login) => [login.externalId, login]));
  const ending = new AbortController();
  /** Null: not known yet. */
  let isKept: boolean | null = null;

  const insist = async (where: string, work: () => Promise<void>): Promise<void> => {
    let lastMessage = '';
    const onFailure = ({ error }: { error: unknown }): void => {
      const message = describeError(error);
      if (message !== lastMessage) logger.event('unexpected_error', { where, message });
      lastMessage = message;
    };
    const parts = { clock, signal: ending.signal, backoff: constantBackoff(retryMs), onFailure };
    await retry(work, parts).catch(() => undefined);
  };
  const prepare = async (attempts: number): Promise<void> => {
    const was = isKept;
    isKept = await dynsec.prepare(attempts, ending.signal);
    if (isKept !== was) logger.event('mqtt_logins_kept', { by: isKept ? 'station' : 'others' });
    if (isKept) await straighten();
  };
  const straighten = async (): Promise<void> => {
    const there = await dynsec.list();
    // Read after it: a device is in the table before it has a login.
    const present = new Set(await options.externalIds());
    const isMissing = ({ externalId }: DeviceLogin): boolean => !there.has(externalId) && present.has(externalId);
    await dynsec.add([...known.values()].filter(isMissing));
    await takeBack();
  };
  const takeBack = async (): Promise<void> => {
    for (const login of await removed.list()) {
      if (await isGone(login.externalId)) await dynsec.remove(login.externalId);
      await removed.forget(login);
    }
  };
  const look = (attempts: number) => insist('preparing the broker', () => exclusively(() => prepare(attempts)));
  const preparing = look(firstAttempts);
  /** One at a time: it takes all that is noted. */
  const taking = createExclusiveRunner();
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
        .then(() => (isKept ? insist('removing a login', () => taking.run(() => exclusively(takeBack))) : undefined))
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
