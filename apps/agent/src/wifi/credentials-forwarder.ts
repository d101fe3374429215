import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { readText, removeDurable, writeDurable, type Disk } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { AgentConditions } from '@station/kit/conditions';
import type { Credentials, CredentialsBackend } from './wifi-ports.ts';
import {
  type Security,
  describeSsid,
  isSsidHex,
  ssidFromText,
  ssidToBytes,
  type SsidHex,
} from '../core/wifi-network.ts';

const credentialsFile = 'wifi-credentials.json';

/** Sends the credentials of the last join to the backend, for devices that are provisioned later; retries until it has them. */
export type CredentialsForwarder = {
  /** Resolves when they are on disk, or a failed write was logged; they are forwarded in both cases. Never rejects. */
  save(credentials: Credentials): Promise<void>;
  /** Ends with the signal's reason. */
  run(signal: AbortSignal): Promise<void>;
};

/** Refused credentials are refused again unless the backend has changed, so the retry is slow. */
const afterRefusalMs = 24 * 3600_000;
/** Failures of a backend that is starting are not logged. */
const quietFailures = 3;
const readRetryMs = 30_000;

export function createCredentialsForwarder(parts: {
  backend: CredentialsBackend;
  disk: Disk;
  dataDir: string;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  random: () => number;
}): CredentialsForwarder {
  const { backend, disk, conditions, clock, logger } = parts;
  const path = join(parts.dataDir, credentialsFile);
  const backoff = createBackoff({ initialMs: 5000, maxMs: 15 * 60_000, jitter: 0.2, random: parts.random });
  const files = createExclusiveRunner();
  let pending: Credentials | null = null;
  let isRead = false;
  let failures = 0;
  let wake = new AbortController();

  /** @returns milliseconds until the next try. */
  const fail = (reason: string, retryInMs: number): number => {
    failures += 1;
    logger.event('credentials_forward_failed', { attempt: failures, retryInMs, reason });
    if (failures >= quietFailures || retryInMs === afterRefusalMs) {
      conditions.set('wifi_credentials_not_forwarded', true);
    }
    return retryInMs;
  };

  const send = async (credentials: Credentials, signal: AbortSignal): Promise<number | null> => {
    const ssid = textOf(credentials.ssid);
    if (ssid === null) return fail('the name of the network is not text', afterRefusalMs);
    const answer = await backend.send({ ...credentials, ssid }, signal);
    if (answer.kind === 'refused') return fail(answer.reason, afterRefusalMs);
    if (answer.kind === 'failed') return fail(answer.reason, backoff.nextMs());
    // Newer credentials are written after this, so their file stays.
    await files.run(async () => {
      if (pending === credentials) await removeDurable(disk, path);
    });
    if (pending !== credentials) return 0;
    pending = null;
    failures = 0;
    backoff.reset();
    conditions.set('wifi_credentials_not_forwarded', false);
    logger.event('credentials_forwarded', { ssid: describeSsid(credentials.ssid) });
    return null;
  };

  /** Credentials that an earlier process has left. */
  const read = async (): Promise<void> => {
    const text = await readText(disk, path);
    isRead = true;
    if (text === null || pending) return;
    pending = parse(text);
    if (pending) return;
    logger.event('state_repaired', { file: credentialsFile, reason: 'not readable' });
    await files.run(async () => {
      if (!pending) await removeDurable(disk, path);
    });
  };

  const trySend = async (signal: AbortSignal): Promise<number | null> => {
    if (!isRead) {
      // A card that cannot be read now may be read later.
      const isOk = await read().then(
        () => true,
        () => false,
      );
      if (!isOk && !pending) return readRetryMs;
    }
    if (!pending) return null;
    try {
      return await send(pending, signal);
    } catch (error) {
      signal.throwIfAborted();
      return fail(describeError(error), backoff.nextMs());
    }
  };

  return {
    save: async (credentials) => {
      pending = credentials;
      failures = 0;
      backoff.reset();
      try {
        await files.run(() => writeDurable(disk, path, JSON.stringify(credentials), 0o600));
        conditions.set('wifi_state_not_writable', false);
      } catch {
        conditions.set('wifi_state_not_writable', true);
      }
      wake.abort();
    },
    run: async (signal) => {
      for (;;) {
        signal.throwIfAborted();
        const woken = (wake = new AbortController());
        const waitMs = await trySend(signal);
        await clock
          .sleep(waitMs ?? afterRefusalMs, AbortSignal.any([signal, woken.signal]))
          .catch(() => signal.throwIfAborted());
      }
    },
  };
}

function textOf(ssid: SsidHex): string | null {
  const text = Buffer.from(ssidToBytes(ssid)).toString('utf8');
  return ssidFromText(text) === ssid ? text : null;
}

function parse(text: string): Credentials | null {
  try {
    const { ssid, password, security } = JSON.parse(text) as Record<string, unknown>;
    if (typeof ssid !== 'string' || !isSsidHex(ssid)) return null;
    if (typeof password !== 'string' && password !== null) return null;
    return { ssid, password, security: typeof security === 'string' ? (security as Security) : null };
  } catch {
    return null;
  }
}
