import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import { readText, removeDurable, writeDurable, type Disk } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';
import { type Backoff, createBackoff } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { AgentConditions } from '@station/kit/conditions';
import { parseObject } from '@station/kit/json';
import type { Credentials, CredentialsBackend } from './wifi-ports.ts';
import type { Security } from '@station/protocol/wifi-password';
import { describeSsid, isSsidHex, ssidToText } from '../core/wifi-network.ts';

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

type ForwarderParts = {
  backend: CredentialsBackend;
  disk: Disk;
  dataDir: string;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  random: () => number;
};

export function createCredentialsForwarder(parts: ForwarderParts): CredentialsForwarder {
  const { disk, conditions, clock, random } = parts;
  const forwarder: Forwarder = {
    ...parts,
    path: join(parts.dataDir, credentialsFile),
    backoff: createBackoff({ initialMs: 5000, maxMs: 15 * 60_000, jitter: 0.2, random }),
    files: createExclusiveRunner(),
    pending: null,
    isRead: false,
    failures: 0,
  };
  let wake = new AbortController();

  return {
    save: async (credentials) => {
      forwarder.pending = credentials;
      forwarder.failures = 0;
      forwarder.backoff.reset();
      try {
        await forwarder.files.run(() => writeDurable(disk, forwarder.path, JSON.stringify(credentials), 0o600));
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
        const waitMs = await forward(forwarder, signal);
        await clock
          .sleep(waitMs ?? afterRefusalMs, AbortSignal.any([signal, woken.signal]))
          .catch(() => signal.throwIfAborted());
      }
    },
  };
}

type Forwarder = ForwarderParts & {
  /** The credentials file. Everything that writes it runs in `files`. */
  path: string;
  files: ExclusiveRunner;
  /** Credentials that the backend does not have yet. */
  pending: Credentials | null;
  /** Whether the file of an earlier process was read. */
  isRead: boolean;
  /** Failed tries in a row. */
  failures: number;
  backoff: Backoff;
};

/** @returns milliseconds until the next try; null: nothing is pending. */
async function forward(forwarder: Forwarder, signal: AbortSignal): Promise<number | null> {
  if (!forwarder.isRead) {
    // A card that cannot be read now may be read later.
    const isOk = await readPending(forwarder).then(
      () => true,
      () => false,
    );
    if (!isOk && !forwarder.pending) return readRetryMs;
  }
  if (!forwarder.pending) return null;
  try {
    return await send(forwarder, forwarder.pending, signal);
  } catch (error) {
    signal.throwIfAborted();
    return fail(forwarder, describeError(error), forwarder.backoff.nextMs());
  }
}

/** Reads credentials that an earlier process has left. */
async function readPending(forwarder: Forwarder): Promise<void> {
  const { disk, path, logger } = forwarder;
  const text = await readText(disk, path);
  forwarder.isRead = true;
  if (text === null || forwarder.pending) return;
  forwarder.pending = parse(text);
  if (forwarder.pending) return;
  logger.event('state_repaired', { file: credentialsFile, reason: 'not readable' });
  await forwarder.files.run(async () => {
    if (!forwarder.pending) await removeDurable(disk, path);
  });
}

async function send(forwarder: Forwarder, credentials: Credentials, signal: AbortSignal): Promise<number | null> {
  const { backend, disk, path, backoff, conditions, logger } = forwarder;
  const ssid = ssidToText(credentials.ssid);
  if (ssid === null) return fail(forwarder, 'the name of the network is not text', afterRefusalMs);
  const answer = await backend.send({ ...credentials, ssid }, signal);
  if (answer.kind === 'refused') return fail(forwarder, answer.reason, afterRefusalMs);
  if (answer.kind === 'failed') return fail(forwarder, answer.reason, backoff.nextMs());
  // Newer credentials are written after this, so their file stays.
  await forwarder.files.run(async () => {
    if (forwarder.pending === credentials) await removeDurable(disk, path);
  });
  if (forwarder.pending !== credentials) return 0;
  forwarder.pending = null;
  forwarder.failures = 0;
  backoff.reset();
  conditions.set('wifi_credentials_not_forwarded', false);
  logger.event('credentials_forwarded', { ssid: describeSsid(credentials.ssid) });
  return null;
}

/** @returns milliseconds until the next try. */
function fail(forwarder: Forwarder, reason: string, retryInMs: number): number {
  forwarder.failures += 1;
  forwarder.logger.event('credentials_forward_failed', { attempt: forwarder.failures, retryInMs, reason });
  if (forwarder.failures >= quietFailures || retryInMs === afterRefusalMs) {
    forwarder.conditions.set('wifi_credentials_not_forwarded', true);
  }
  return retryInMs;
}

function parse(text: string): Credentials | null {
  const { ssid, password, security } = parseObject(text) ?? {};
  if (typeof ssid !== 'string' || !isSsidHex(ssid)) return null;
  if (typeof password !== 'string' && password !== null) return null;
  return { ssid, password, security: typeof security === 'string' ? (security as Security) : null };
}
