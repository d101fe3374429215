import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff, type Backoff } from '@station/kit/retry';
import type { OtaDeviceTypes } from '@station/protocol/firmware';
import {
  attemptKey,
  isHandedOver,
  type CachedFirmware,
  type HandedOver,
  type HandOverAttempt,
} from './firmware-decide.ts';
import type { OtaBackend } from './firmware-ports.ts';

/** Keeps the backend's records of the cache up to date: reads them and sends what is missing, repeatedly. */
export type FirmwareDelivery = {
  types(): OtaDeviceTypes | null;
  askDueMs(): number;
  /** Hand-overs that failed, by the key of their item. */
  attempts(): ReadonlyMap<string, HandOverAttempt>;
  ask(isPending: boolean, signal: AbortSignal): Promise<void>;
  /** True when the backend has accepted it. */
  handOver(item: CachedFirmware, signal: AbortSignal): Promise<boolean>;
  /** Items that the backend does not know yet, as far as the agent knows. */
  isPending(items: readonly CachedFirmware[], handedOver: HandedOver): boolean;
  /** Ends the delay: there is a new item, or a check was requested. */
  hurry(): void;
  /** Failed tries in a row: of reading the records, or of the item with the most. */
  failures(items: readonly CachedFirmware[]): number;
  lastError(items: readonly CachedFirmware[]): string | null;
};

/** The backend is on this machine: reading is cheap, and a backend that lost its records gets them back soon. */
const reconcileMs = 5 * 60_000;

export function createFirmwareDelivery(parts: {
  backend: OtaBackend;
  clock: Clock;
  logger: AgentLogger;
  checkIntervalMs: number;
  random: () => number;
}): FirmwareDelivery {
  const { backend, clock, logger, random } = parts;
  const intervalMs = Math.min(reconcileMs, parts.checkIntervalMs);
  const newBackoff = () => createBackoff({ initialMs: 5000, maxMs: reconcileMs, jitter: 0.2, random });
  const askBackoff = newBackoff();
  const records = new Map<string, { name: string; attempt: HandOverAttempt; backoff: Backoff }>();
  let types: OtaDeviceTypes | null = null;
  let askDueMs = -Infinity;
  let askFailures = 0;
  let askError: string | null = null;

  const retryAfter = (backoff: Backoff, attempt: number, reason: string, tell: boolean): number => {
    const retryInMs = Math.min(backoff.nextMs(), intervalMs);
    if (tell) logger.event('firmware_hand_over_failed', { attempt, retryInMs, reason });
    return clock.monotonic() + retryInMs;
  };
  const noteFailure = (item: CachedFirmware, reason: string): void => {
    const before = records.get(attemptKey(item));
    const backoff = before?.backoff ?? newBackoff();
    const failures = (before?.attempt.failures ?? 0) + 1;
    forget(item.name);
    const dueMs = retryAfter(backoff, failures, reason, true);
    records.set(attemptKey(item), { name: item.name, attempt: { failures, dueMs, reason }, backoff });
  };
  /** The cache holds one version of each name. */
  const forget = (name: string): void => {
    for (const [key, record] of records) if (record.name === name) records.delete(key);
  };
  const hurryAll = (): void => {
    for (const record of records.values()) record.attempt = { ...record.attempt, dueMs: -Infinity };
  };
  const attemptsOf = (items: readonly CachedFirmware[]): HandOverAttempt[] =>
    items.flatMap((item) => records.get(attemptKey(item))?.attempt ?? []);

  return {
    types: () => types,
    askDueMs: () => askDueMs,
    attempts: () => new Map([...records].map(([key, { attempt }]) => [key, attempt])),
    ask: async (isPending, signal) => {
      const answer = await backend.deviceTypes(signal);
      if (answer.kind === 'failed') {
        askFailures += 1;
        askError = answer.reason;
        // Do not log a restarting backend while there is nothing to hand over.
        askDueMs = retryAfter(askBackoff, askFailures, answer.reason, isPending);
        return;
      }
      // The backend was down: earlier failures may come from that.
      if (askFailures > 0) hurryAll();
      askFailures = 0;
      askError = null;
      askBackoff.reset();
      types = answer.types;
      askDueMs = clock.monotonic() + intervalMs;
    },
    handOver: async (item, signal) => {
      const { name, version, file, path, checksum, size, chip, minVersion } = item;
      const body = { name, version, file, path, checksum, size };
      const more = { ...(chip === null ? {} : { chip }), ...(minVersion === null ? {} : { minVersion }) };
      const answer = await backend.firmwareReady({ ...body, ...more }, signal);
      if (answer.kind === 'failed') {
        noteFailure(item, answer.reason);
        return false;
      }
      forget(name);
      const rest = (types ?? []).filter(({ type }) => type !== name);
      const installed = types?.find(({ type }) => type === name)?.installed ?? [];
      types = [...rest, { type: name, installed, cached: version }];
      return true;
    },
    isPending: (items, handedOver) =>
      items.some(
        (item) => !isHandedOver(item, handedOver, types ?? [{ type: item.name, installed: [], cached: item.version }]),
      ),
    hurry: () => {
      hurryAll();
      askDueMs = -Infinity;
    },
    failures: (items) => Math.max(askFailures, ...attemptsOf(items).map(({ failures }) => failures)),
    lastError: (items) => askError ?? attemptsOf(items)[0]?.reason ?? null,
  };
}
