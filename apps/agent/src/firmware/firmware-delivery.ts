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
  /** Reads the backend's records, and sends it the device types of the manifest. */
  ask(asked: Asked, signal: AbortSignal): Promise<void>;
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

type Asked = { isPending: boolean; deviceTypes: readonly unknown[] };

/** The backend is on this machine: reading is cheap, and a backend that lost its records gets them back soon. */
const reconcileMs = 5 * 60_000;

type DeliveryParts = {
  backend: OtaBackend;
  needsApproval: () => boolean;
  clock: Clock;
  logger: AgentLogger;
  checkIntervalMs: number;
  random: () => number;
};

export function createFirmwareDelivery(parts: DeliveryParts): FirmwareDelivery {
  const delivery: Delivery = {
    ...parts,
    intervalMs: Math.min(reconcileMs, parts.checkIntervalMs),
    types: null,
    ask: { dueMs: -Infinity, failures: 0, error: null, backoff: newBackoff(parts.random) },
    records: new Map(),
    hurries: 0,
  };
  const { ask, records } = delivery;
  const attemptsOf = (items: readonly CachedFirmware[]): HandOverAttempt[] =>
    items.flatMap((item) => records.get(attemptKey(item))?.attempt ?? []);

  return {
    types: () => delivery.types,
    askDueMs: () => ask.dueMs,
    attempts: () => new Map([...records].map(([key, { attempt }]) => [key, attempt])),
    ask: (asked, signal) => exchangeTypes(delivery, asked, signal),
    handOver: (item, signal) => handOver(delivery, item, signal),
    isPending: (items, handedOver) =>
      items.some((item) => {
        const unknown = [{ type: item.name, installed: [], cached: item.version }];
        const needsApproval = delivery.needsApproval();
        return !isHandedOver(item, { handedOver, needsApproval, types: delivery.types ?? unknown });
      }),
    hurry: () => {
      hurryAll(delivery);
      delivery.hurries += 1;
      ask.dueMs = -Infinity;
    },
    failures: (items) => Math.max(ask.failures, ...attemptsOf(items).map(({ failures }) => failures)),
    lastError: (items) => ask.error ?? attemptsOf(items)[0]?.reason ?? null,
  };
}

type Delivery = DeliveryParts & {
  /** How often the backend's records are read, and the longest delay before a retry. */
  intervalMs: number;
  /** The backend's records; null: not read yet. */
  types: OtaDeviceTypes | null;
  /** The next read of the records, and the reads that failed since the last good one. */
  ask: { dueMs: number; failures: number; error: string | null; backoff: Backoff };
  /** Failed hand-overs by the key of their item. */
  records: Map<string, { name: string; attempt: HandOverAttempt; backoff: Backoff }>;
  /** How often a delay was ended: what began before the last one says nothing about when to ask next. */
  hurries: number;
};

/** @param before `hurries` when the request began. */
const dueIn = ({ clock, hurries }: Delivery, ms: number, before: number): number =>
  hurries === before ? clock.monotonic() + ms : -Infinity;

const newBackoff = (random: () => number): Backoff =>
  createBackoff({ initialMs: 5000, maxMs: reconcileMs, jitter: 0.2, random });

async function exchangeTypes(
  delivery: Delivery,
  { isPending, deviceTypes }: Asked,
  signal: AbortSignal,
): Promise<void> {
  const { backend, ask, hurries } = delivery;
  const answer = await backend.deviceTypes(signal);
  if (answer.kind === 'failed') return noteAskFailure(delivery, { isPending, hurries }, answer.reason);
  // The backend was down: earlier failures may come from that.
  if (ask.failures > 0) hurryAll(delivery);
  delivery.types = answer.types;
  // Each time anew: the backend ignores what it knows already, and may have lost its records.
  const announced = deviceTypes.length === 0 ? answer : await backend.announceTypes(deviceTypes, signal);
  if (announced.kind === 'failed') return noteAskFailure(delivery, { isPending, hurries }, announced.reason);
  ask.failures = 0;
  ask.error = null;
  ask.backoff.reset();
  ask.dueMs = dueIn(delivery, delivery.intervalMs, hurries);
}

function noteAskFailure(
  delivery: Delivery,
  { isPending, hurries }: { isPending: boolean; hurries: number },
  reason: string,
): void {
  const { ask } = delivery;
  ask.failures += 1;
  ask.error = reason;
  const retryInMs = nextRetryMs(delivery, ask.backoff);
  // Do not log a restarting backend while there is nothing to hand over.
  if (isPending) logFailure(delivery, ask.failures, retryInMs, reason);
  ask.dueMs = dueIn(delivery, retryInMs, hurries);
}

async function handOver(delivery: Delivery, item: CachedFirmware, signal: AbortSignal): Promise<boolean> {
  const { name, version, file, path, checksum, size, chip, minVersion } = item;
  const { hurries } = delivery;
  const needsApproval = delivery.needsApproval();
  const body = { name, version, file, path, checksum, size };
  const more = {
    ...(chip !== null && { chip }),
    ...(minVersion !== null && { minVersion }),
    ...(needsApproval && { needsApproval }),
  };
  const answer = await delivery.backend.firmwareReady({ ...body, ...more }, signal);
  if (answer.kind === 'failed') {
    noteFailure(delivery, item, { reason: answer.reason, hurries });
    return false;
  }
  forget(delivery, name);
  const types = delivery.types ?? [];
  const installed = types.find(({ type }) => type === name)?.installed ?? [];
  const accepted = { type: name, installed, cached: version, needsApproval };
  delivery.types = [...types.filter(({ type }) => type !== name), accepted];
  return true;
}

function noteFailure(
  delivery: Delivery,
  item: CachedFirmware,
  { reason, hurries }: { reason: string; hurries: number },
): void {
  const { records, random } = delivery;
  const before = records.get(attemptKey(item));
  const backoff = before?.backoff ?? newBackoff(random);
  const failures = (before?.attempt.failures ?? 0) + 1;
  forget(delivery, item.name);
  const retryInMs = nextRetryMs(delivery, backoff);
  logFailure(delivery, failures, retryInMs, reason);
  const attempt = { failures, dueMs: dueIn(delivery, retryInMs, hurries), reason };
  records.set(attemptKey(item), { name: item.name, attempt, backoff });
}

/** The cache holds one version of each name. */
function forget({ records }: Delivery, name: string): void {
  for (const [key, record] of records) if (record.name === name) records.delete(key);
}

function hurryAll({ records }: Delivery): void {
  for (const record of records.values()) record.attempt = { ...record.attempt, dueMs: -Infinity };
}

const nextRetryMs = ({ intervalMs }: Delivery, backoff: Backoff): number => Math.min(backoff.nextMs(), intervalMs);

const logFailure = ({ logger }: Delivery, attempt: number, retryInMs: number, reason: string): void =>
  logger.event('firmware_hand_over_failed', { attempt, retryInMs, reason });
