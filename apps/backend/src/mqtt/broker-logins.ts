import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { constantBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { SystemLogin } from '../core/foreign-devices-port.ts';
import type { DeviceLogin, Dynsec } from './dynsec.ts';
import type { RemovedLogins } from './ports.ts';

export type BrokerLogins = AsyncDisposable & {
  /** Adds or replaces logins. @throws (rejects) when the broker is offline or refuses, or has not begun when `signal` aborts. */
  add(logins: readonly DeviceLogin[], signal: AbortSignal): Promise<void>;
  /** As `add`, for another system. @returns false: somebody else manages the logins. */
  addSystem(login: SystemLogin & { token: string }): Promise<boolean>;
  /** @throws (rejects) when the broker is offline or refuses. */
  removeSystem(login: SystemLogin): Promise<void>;
  /** Whether the station manages the logins; null: not known. */
  isKept(): boolean | null;
  /** Removes the login of a removed device; retries until the broker has done it. */
  remove(externalId: string): void;
  /** Ends the connections of a login. @throws (rejects) when the broker is offline or refuses. */
  reconnect(externalId: string): Promise<void>;
  /** The link is back, perhaps to another broker, or to one that lost its logins: it checks again. */
  checkAgain(): void;
};

const retryMs = 5_000;
/** At the start the broker may be busy. */
const firstAttempts = 3;

type LoginsParts = {
  dynsec: Dynsec;
  /** Preset logins: added at the broker when they are missing. */
  known: readonly DeviceLogin[];
  /** External ids of the station's devices. */
  externalIds: () => Promise<readonly string[]>;
  removed: RemovedLogins;
  /** With several backends on one broker: runs one at a time. */
  exclusively?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether a login may be removed: the device was not added again meanwhile. */
  isGone: (externalId: string) => Promise<boolean>;
  /** The devices that have no login at the broker, and whose token the station does not know, are not what they were. */
  onMissing: (externalIds: readonly string[]) => void;
  clock: Clock;
  logger: BackendLogger;
};

type LoginsState = {
  parts: LoginsParts;
  exclusively: <T>(work: () => Promise<T>) => Promise<T>;
  known: Map<string, DeviceLogin>;
  /** Whether the station manages the logins; null: not known yet. */
  isKept: boolean | null;
  checking: Promise<void> | null;
  /** Devices without a login at the broker. */
  missing: readonly string[];
  signal: AbortSignal;
};

/**
 * Keeps the device logins of an external broker in step with the station, and catches up at the start. It removes only logins noted as
 * removed: a device missing from the database proves nothing, because the database may be new or an older copy.
 */
export function startBrokerLogins(parts: LoginsParts): BrokerLogins {
  const { dynsec, exclusively = createExclusiveRunner().run } = parts;
  const ending = new AbortController();
  const known = new Map(parts.known.map((login) => [login.externalId, login]));
  const state: LoginsState = {
    parts,
    exclusively,
    known,
    isKept: null,
    checking: null,
    missing: [],
    signal: ending.signal,
  };
  const preparing = prepareWithRetries(state, firstAttempts);
  /** One run at a time: each run handles all noted logins. */
  const removals = createExclusiveRunner();
  const removing = new Set<Promise<void>>();
  const removeNoted = (): Promise<void> =>
    retryUntilEnd(state, 'removing a login', () => removals.run(() => exclusively(() => removeNotedLogins(parts))));
  return {
    add: async (logins, signal) => {
      await Promise.race([preparing, rejectedBy(signal)]);
      const externalIds = logins.map(({ externalId }) => externalId);
      for (const externalId of externalIds) known.delete(externalId);
      if (!state.isKept) await exclusively(() => prepare(state, 1));
      const add = (): Promise<void> => {
        // A login that is added later would be one that nobody removes.
        signal.throwIfAborted();
        return dynsec.add(logins);
      };
      if (state.isKept) await exclusively(add);
      setMissing(state, without(state.missing, externalIds));
    },
    remove: (externalId) => {
      known.delete(externalId);
      setMissing(state, without(state.missing, [externalId]));
      const removal = preparing
        .then(() => (state.isKept ? undefined : checkAgain(state)))
        .then(() => (state.isKept ? removeNoted() : undefined))
        .finally(() => removing.delete(removal));
      removing.add(removal);
    },
    addSystem: async (login) => {
      await preparing;
      if (state.isKept !== true) return false;
      await exclusively(() => dynsec.addSystem(login));
      return true;
    },
    removeSystem: async (login) => {
      await preparing;
      if (state.isKept === true) await exclusively(() => dynsec.removeSystem(login));
    },
    isKept: () => state.isKept,
    reconnect: async (externalId) => {
      await preparing;
      if (state.isKept) await exclusively(() => dynsec.disconnect(externalId));
    },
    checkAgain: () => {
      // Otherwise the first check is still under way.
      if (state.isKept !== null) void checkAgain(state);
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all([preparing, state.checking, ...removing]);
    },
  };
}

const checkAgain = (state: LoginsState): Promise<void> =>
  (state.checking ??= prepareWithRetries(state, 1).finally(() => (state.checking = null)));

const prepareWithRetries = (state: LoginsState, attempts: number): Promise<void> =>
  retryUntilEnd(state, 'preparing the broker', () => state.exclusively(() => prepare(state, attempts)));

async function prepare(state: LoginsState, attempts: number): Promise<void> {
  const { dynsec, logger } = state.parts;
  const before = state.isKept;
  state.isKept = await dynsec.prepare(attempts, state.signal);
  if (state.isKept !== before) logger.event('mqtt_logins_kept', { by: state.isKept ? 'station' : 'others' });
  if (!state.isKept) return;
  await addMissingLogins(state);
  await removeNotedLogins(state.parts);
}

async function addMissingLogins(state: LoginsState): Promise<void> {
  const { known } = state;
  const { dynsec, externalIds } = state.parts;
  const there = await dynsec.list();
  // Read after the broker's list: a device is in the table before it has a login.
  const present = new Set(await externalIds());
  const isMissing = ({ externalId }: DeviceLogin): boolean => !there.has(externalId) && present.has(externalId);
  await dynsec.add([...known.values()].filter(isMissing));
  setMissing(state, [...present].filter((externalId) => !there.has(externalId) && !known.has(externalId)).sort());
}

function setMissing(state: LoginsState, missing: readonly string[]): void {
  const isSame = missing.join('/') === state.missing.join('/');
  state.missing = missing;
  if (!isSame) state.parts.onMissing(missing);
}

const without = (names: readonly string[], gone: readonly string[]): string[] =>
  names.filter((name) => !gone.includes(name));

const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });

async function removeNotedLogins({ dynsec, removed, isGone }: LoginsParts): Promise<void> {
  for (const login of await removed.list()) {
    if (await isGone(login.externalId)) await dynsec.remove(login.externalId);
    await removed.forget(login);
  }
}

async function retryUntilEnd({ parts, signal }: LoginsState, where: string, work: () => Promise<void>): Promise<void> {
  const { clock, logger } = parts;
  let lastMessage = '';
  const onFailure = ({ error }: { error: unknown }): void => {
    const message = describeError(error);
    if (message !== lastMessage) logger.event('unexpected_error', { where, message });
    lastMessage = message;
  };
  const backoff = constantBackoff(retryMs);
  await retry(work, { clock, signal, backoff, onFailure }).catch(() => undefined);
}
