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

/** The backend's knowledge of the cache, kept true: it is asked what it knows, and told what it lacks, again and again. */
export type FirmwareDelivery = {
  types(): OtaDeviceTypes | null;
  askDueMs(): number;
  /** Hand-overs that failed, by the key of their item. */
  attempts(): ReadonlyMap<string, HandOverAttempt>;
  ask(isPending: boolean, signal: AbortSignal): Promise<void>;
  /** True when the backend has accepted it. */
  handOver(item: CachedFirmware, signal: AbortSignal): Promise<boolean>;
  /** What the backend does not know yet, as far as that is known. */
  isPending(items: readonly CachedFirmware[], handedOver: HandedOver): boolean;
  /** From now on without delay: something new is there, or somebody asks. */
  hurry(): void;
  /** Tries in a row that failed: of asking, or of the item with the most. */
  failures(items: readonly CachedFirmware[]): number;
  lastError(items: readonly CachedFirmware[]): string | null;
};

/** It is on this machine: asking costs little, and a backend that lost its records is told soon. */
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
  /** Of a name only one version is in the cache. */
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
        // A backend that restarts is no news while there is nothing to hand over.
        askDueMs = retryAfter(askBackoff, askFailures, answer.reason, isPending);
        return;
      }
      // It was away: what failed meanwhile may have failed for that.
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
