import type { Clock } from '@station/kit/clock';
import type { Report } from '@station/kit/report';
import { createBackoff } from '@station/kit/retry';
import type { OtaDeviceTypes } from '@station/protocol/firmware';
import { isHandedOver, type CachedFirmware, type HandedOver } from './decide.ts';
import type { OtaBackend } from './ports.ts';

/** The backend's knowledge of the cache, kept true: it is asked what it knows, and told what it lacks, again and again. */
export type HandOver = {
  types(): OtaDeviceTypes | null;
  askDueMs(): number;
  handOverDueMs(): number;
  ask(isPending: boolean, signal: AbortSignal): Promise<void>;
  /** True when the backend has accepted it. */
  handOver(item: CachedFirmware, signal: AbortSignal): Promise<boolean>;
  /** What the backend does not know yet, as far as that is known. */
  isPending(items: readonly CachedFirmware[], handedOver: HandedOver): boolean;
  /** From now on without delay: something new is there, or somebody asks. */
  hurry(): void;
  failures(): number;
  lastError(): string | null;
};

/** It is on this machine: asking costs little, and a backend that lost its records is told soon. */
const reconcileMs = 5 * 60_000;

export function createHandOver(parts: {
  backend: OtaBackend;
  clock: Clock;
  report: Report;
  checkIntervalMs: number;
  random: () => number;
}): HandOver {
  const { backend, clock, report, random } = parts;
  const backoff = createBackoff({ initialMs: 5000, maxMs: reconcileMs, jitter: 0.2, random });
  const intervalMs = Math.min(reconcileMs, parts.checkIntervalMs);
  let types: OtaDeviceTypes | null = null;
  let askDueMs = -Infinity;
  let handOverDueMs = -Infinity;
  let failures = 0;
  let lastError: string | null = null;

  const succeed = (): void => {
    failures = 0;
    lastError = null;
    backoff.reset();
  };
  /** @returns monotonic time of the next try. */
  const fail = (reason: string, tell: boolean): number => {
    failures += 1;
    lastError = reason;
    const retryInMs = Math.min(backoff.nextMs(), intervalMs);
    if (tell) report.event('firmware_hand_over_failed', { attempt: failures, retryInMs, reason });
    return clock.monotonic() + retryInMs;
  };

  return {
    types: () => types,
    askDueMs: () => askDueMs,
    handOverDueMs: () => handOverDueMs,
    ask: async (isPending, signal) => {
      const answer = await backend.deviceTypes(signal);
      if (answer.kind === 'failed') {
        // A backend that restarts is no news while there is nothing to hand over.
        askDueMs = fail(answer.reason, isPending);
        return;
      }
      succeed();
      types = answer.types;
      askDueMs = clock.monotonic() + intervalMs;
      handOverDueMs = -Infinity;
    },
    handOver: async (item, signal) => {
      const { name, version, file, checksum, size, chip, minVersion } = item;
      const body = { name, version, file, checksum, size };
      const more = { ...(chip === null ? {} : { chip }), ...(minVersion === null ? {} : { minVersion }) };
      const answer = await backend.firmwareReady({ ...body, ...more }, signal);
      if (answer.kind === 'failed') {
        handOverDueMs = fail(answer.reason, true);
        return false;
      }
      succeed();
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
      handOverDueMs = -Infinity;
      askDueMs = -Infinity;
    },
    failures: () => failures,
    lastError: () => lastError,
  };
}
