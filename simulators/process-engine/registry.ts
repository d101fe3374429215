import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { get as getHttp, type IncomingMessage } from 'node:http';
import { get as getHttps } from 'node:https';
import { fileURLToPath } from 'node:url';
import { maxProcessImageBytes } from './process-image.ts';
import type { RegistryFailure } from './engine-port.ts';
import { isMissingFile } from './file-faults.ts';

/** Source of images: a folder or an http URL (layout: `process-image.ts`). */
export type Registry = {
  /** A file by its path at the registry. Reading it throws {@link RegistryBroken} when the connection breaks. */
  open(path: string, signal: AbortSignal): Promise<{ kind: 'ok'; body: AsyncIterable<Uint8Array> } | RegistryFailure>;
};

/** The registry did not deliver the complete file. */
export class RegistryBroken extends Error {
  constructor(cause: unknown) {
    super('the connection to the registry broke', { cause });
    this.name = 'RegistryBroken';
  }
}

/** A registry counts as unreachable after this time without data. */
const silenceMs = 20_000;

/** @param base `file:` or `http(s):` address; paths are resolved below it. */
export function createRegistry(base: URL): Registry {
  const root = new URL(base.href.endsWith('/') ? base.href : `${base.href}/`);
  const open = root.protocol === 'file:' ? openFile : openHttp;
  return { open: (path, signal) => open(new URL(encodePath(path), root), signal) };
}

/** Reads a complete description. */
export async function readDescription(
  registry: Registry,
  path: string,
  signal: AbortSignal,
): Promise<{ kind: 'ok'; bytes: Uint8Array } | RegistryFailure> {
  const answer = await registry.open(path, signal);
  if (answer.kind === 'failed') return answer;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body) {
      size += chunk.byteLength;
      if (size > maxProcessImageBytes) return notAnImage;
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RegistryBroken) return unavailable(error.message, error.cause);
    throw error;
  }
  return { kind: 'ok', bytes: Buffer.concat(chunks) };
}

export const unavailable = (reason: string, cause: unknown): RegistryFailure => ({
  kind: 'failed',
  code: 'registry_unavailable',
  reason,
  detail: cause instanceof Error ? cause.message : String(cause),
  transient: true,
});

const missing: RegistryFailure = {
  kind: 'failed',
  code: 'image_missing',
  reason: 'the registry has no such image',
  transient: false,
};

export const notAnImage: RegistryFailure = {
  kind: 'failed',
  code: 'engine_failed',
  reason: 'the registry has no valid image of the process engine under this name',
  transient: false,
};

async function openFile(url: URL): ReturnType<Registry['open']> {
  const path = fileURLToPath(url);
  try {
    if (!(await stat(path)).isFile()) return missing;
  } catch (error) {
    return isMissingFile(error) ? missing : unavailable('the registry cannot be read', error);
  }
  return { kind: 'ok', body: watched(createReadStream(path)) };
}

async function openHttp(url: URL, signal: AbortSignal): ReturnType<Registry['open']> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error(`no data for ${silenceMs} ms`)), silenceMs);
  try {
    // Not by fetch, which needs WebAssembly: the agent's executable has none.
    const get = url.protocol === 'https:' ? getHttps : getHttp;
    const sent = get(url, { agent: false, signal: AbortSignal.any([signal, silence.signal]) });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    // From here on the response reports faults; the request may repeat them.
    sent.on('error', () => undefined);
    if (response.statusCode === 200) return { kind: 'ok', body: watched(response, timer) };
    clearTimeout(timer);
    response.destroy();
    return failureOfStatus(response.statusCode ?? 0);
  } catch (error) {
    clearTimeout(timer);
    signal.throwIfAborted();
    return unavailable('the registry does not answer', error);
  }
}

async function* watched(body: AsyncIterable<Uint8Array>, timer?: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      timer?.refresh();
      yield chunk;
    }
  } catch (error) {
    throw new RegistryBroken(error);
  } finally {
    clearTimeout(timer);
  }
}

function failureOfStatus(status: number): RegistryFailure {
  if (status === 404 || status === 410) return missing;
  if (status === 401 || status === 403) {
    const reason = 'the registry refused the credentials';
    return { kind: 'failed', code: 'registry_auth_failed', reason, transient: false };
  }
  return unavailable(`the registry answered with status ${status}`, status);
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
