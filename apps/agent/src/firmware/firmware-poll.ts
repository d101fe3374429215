import { isForgeable } from '../core/loopback.ts';
import { type Clock, isoTime } from '@station/kit/clock';
import type { AgentConditions } from '@station/kit/conditions';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff } from '@station/kit/retry';
import { type FirmwareEntry, type FirmwareRefusal, readFirmwareManifest } from '@station/protocol/firmware-manifest';
import { maxManifestBytes } from '@station/protocol/release-manifest';
import { checkSignature, type FetchFile } from '../core/signature.ts';
import type { UpdateKeys } from '../core/update-keys.ts';

/** Polls the firmware manifest and reports failed checks. */
export type FirmwarePoll = {
  check(signal: AbortSignal): Promise<FirmwareCheck>;
  /** Monotonic time of the next check. */
  dueMs(): number;
  lastCheckAt(): string | null;
  lastError(): string | null;
};

const firstRetryMs = 15_000;
/** Quick retries after a failure; then the next check is at the usual time. */
const retries = 3;

export function createFirmwarePoll(parts: {
  source: FirmwareSource;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  checkIntervalMs: number;
  /** The operator set no address: a missing manifest at the default one means no firmware. */
  isUsualAddress: boolean;
  random: () => number;
}): FirmwarePoll {
  const { source, conditions, clock, logger, checkIntervalMs, random } = parts;
  const backoff = createBackoff({ initialMs: firstRetryMs, maxMs: checkIntervalMs, jitter: 0.2, random });
  let dueMs = -Infinity;
  let failures = 0;
  let lastCheckAt: string | null = null;
  let lastError: string | null = null;

  const fail = ({ reason, retryAfterMs = 0 }: Failure, retry: boolean): number | null => {
    failures += 1;
    lastError = reason;
    if (retry && failures <= retries) {
      const retryInMs = Math.max(Math.min(backoff.nextMs(), checkIntervalMs), retryAfterMs);
      logger.event('firmware_check_retry', { attempt: failures, retryInMs, reason });
      return retryInMs;
    }
    failures = 0;
    backoff.reset();
    logger.event('firmware_check_failed', { reason });
    return retryAfterMs > checkIntervalMs ? retryAfterMs : null;
  };

  /** Manifest and signature are two files, which are uploaded one after the other and cached apart: soon they may fit. */
  const reject = (reason: string): number => {
    failures = 0;
    lastError = reason;
    logger.event('firmware_check_failed', { reason });
    return backoff.nextMs();
  };

  return {
    check: async (signal) => {
      const answer = await source.check(signal);
      // Jitter: the stations of a fleet must not all ask at the same time.
      let nextMs = checkIntervalMs * (1 + 0.1 * (2 * random() - 1));
      if (answer.kind === 'ok') {
        failures = 0;
        backoff.reset();
        lastError = null;
        lastCheckAt = isoTime(clock.now());
      } else if (answer.kind === 'rejected') {
        nextMs = Math.min(nextMs, reject(answer.reason));
      } else {
        nextMs = fail(answer, !answer.missing) ?? nextMs;
        if (answer.missing && parts.isUsualAddress) lastError = null;
      }
      const isAway = answer.kind === 'unavailable' && !(answer.missing && parts.isUsualAddress);
      conditions.set('firmware_manifest_unreachable', isAway);
      dueMs = clock.monotonic() + nextMs;
      return answer;
    },
    dueMs: () => dueMs,
    lastCheckAt: () => lastCheckAt,
    lastError: () => lastError,
  };
}

/** `retryAfterMs`: the wait that the server asks for. */
type Failure = { reason: string; retryAfterMs?: number };

export type FirmwareCheck =
  | { kind: 'ok'; entries: FirmwareEntry[]; refused: FirmwareRefusal[]; deviceTypes: Record<string, unknown>[] }
  | { kind: 'rejected'; reason: string }
  | (Failure & { kind: 'unavailable'; /** No manifest is published there. */ missing: boolean });

export type FirmwareSource = {
  isSigned: boolean;
  /** Others on the network could write the manifest (contracts, section 2). */
  isForgeable: boolean;
  /** Fetches the manifest when it has changed, checks it, and verifies it when public keys are set. */
  check(signal: AbortSignal): Promise<FirmwareCheck>;
};

/** The firmware manifest at FIRMWARE_MANIFEST_URL. */
export function createFirmwareSource(parts: {
  url: URL;
  /** Null: manifests are not signed. */
  keys: UpdateKeys | null;
  maxBytes: number;
  fetchFile: FetchFile;
}): FirmwareSource {
  const { url, keys, maxBytes, fetchFile } = parts;
  let last: { etag: string | null; check: FirmwareCheck & { kind: 'ok' } } | null = null;
  return {
    isSigned: keys !== null,
    isForgeable: isForgeable(url, keys),
    check: async (signal) => {
      const answer = await fetchFile(url, { maxBytes: maxManifestBytes, etag: last?.etag ?? null, signal });
      if (answer.kind === 'not_modified') {
        if (last) return last.check;
        const reason = 'the server answered "not modified" to a first request';
        return { kind: 'unavailable', reason, missing: false };
      }
      if (answer.kind === 'unavailable') return { ...answer, missing: answer.missing === true };
      if (answer.kind === 'rejected') return answer;
      // After a redirect, relative file addresses start from the final address.
      const reading = readFirmwareManifest(answer.bytes, { manifestUrl: answer.url, maxBytes });
      if (reading.kind === 'rejected') return reading;
      if (keys !== null) {
        const trusted = await keys.trusted();
        const signature = await checkSignature({ url, keys: trusted, fetchFile }, answer.bytes, signal);
        if (signature.kind !== 'ok') return { missing: false, ...signature };
      }
      last = { etag: answer.etag, check: reading };
      return reading;
    },
  };
}
