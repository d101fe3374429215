import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { constantBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { DeviceLogin, Dynsec } from './dynsec.ts';
import type { RemovedLogins } from './ports.ts';

export type BrokerLogins = AsyncDisposable & {
  /** Adds or replaces the login of a device. @throws (rejects) when the broker is offline or refuses. */
  add(login: DeviceLogin): Promise<void>;
  /** Removes the login of a removed device; retries until the broker has done it. */
  remove(externalId: string): void;
  /** The link is back, perhaps to another broker. If others seemed to manage the logins, it checks again. */
  checkAgain(): void;
};

const retryMs = 5_000;
/** At the start the broker may be busy. */
const firstAttempts = 3;

/**
 * Keeps the device logins of an external broker in step with the station, and catches up at the start. It removes only logins noted as
 * removed: a device missing from the database proves nothing, because the database may be new or an older copy.
 * @param known preset logins: added at the broker when they are missing.
 */
export function startBrokerLogins(options: {
  dynsec: Dynsec;
  known: readonly DeviceLogin[];
  /** External ids of the station's devices. */
  externalIds: () => Promise<readonly string[]>;
  removed: RemovedLogins;
  /** With several backends on one broker: runs one at a time. */
  exclusively?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether a login may be removed: the device was not added again meanwhile. */
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
    // Read after the broker's list: a device is in the table before it has a login.
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
  /** One run at a time: each run handles all noted logins. */
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
    checkAgain: () => {
      if (isKept === false) void lookAgain();
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all([preparing, looking, ...removing]);
    },
  };
}
