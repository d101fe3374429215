import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { LineBroken, type Opened } from '../firmware/ports.ts';
import { faultOf, fetchFollowing } from './http-follow.ts';

/** Longest silence of a server before it counts as gone. */
const silenceMs = 20_000;

/**
 * Opens a file at an http, https or file address from `offset` on (RFC 9110, section 14). A server that ignores the range, or has
 * another content by now, sends the whole: `offset` of the answer is then 0.
 * @param options.silenceMs for tests.
 */
export async function openDownload(
  url: URL,
  options: { offset: number; etag: string | null; signal: AbortSignal; silenceMs?: number },
): Promise<Opened> {
  if (url.protocol === 'file:') return openLocal(url, options.offset);
  const silence = new AbortController();
  const watch = createWatch(silence, options.silenceMs ?? silenceMs);
  const signal = AbortSignal.any([options.signal, silence.signal]);
  try {
    const followed = await watch(fetchFollowing(url, rangeHeaders(options), signal));
    if (followed.kind === 'rejected') return followed;
    return await readAnswer(followed.response, options, watch);
  } catch (error) {
    options.signal.throwIfAborted();
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

type Watch = <T>(work: Promise<T>) => Promise<T>;

/** Gives up on whatever takes longer than the silence that is bearable. Time in which nobody waits does not count. */
const createWatch =
  (controller: AbortController, ms: number): Watch =>
  async (work) => {
    const timer = setTimeout(() => controller.abort(new LineBroken(`nothing came for ${ms} ms`)), ms);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  };

function rangeHeaders({ offset, etag }: { offset: number; etag: string | null }): Record<string, string> {
  // Content that is compressed on its way has other offsets.
  const plain = { 'accept-encoding': 'identity' };
  if (offset === 0) return plain;
  // Without a name for the content the range is asked for all the same: the checksum over the whole has the last word.
  return { ...plain, range: `bytes=${offset}-`, ...(etag === null ? {} : { 'if-range': etag }) };
}

async function readAnswer(
  response: Response,
  { offset, signal }: { offset: number; signal: AbortSignal },
  watch: Watch,
): Promise<Opened> {
  const { status, headers, body } = response;
  const leave = async <T extends Opened>(answer: T): Promise<T> => {
    await body?.cancel();
    return answer;
  };
  if (status === 416 && offset > 0) return leave({ kind: 'past_end' });
  if (status !== 200 && status !== 206) return leave({ kind: 'unavailable', reason: `the server answered ${status}` });
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') {
    return leave({ kind: 'rejected', reason: 'the server compresses the file on its way' });
  }
  const range = status === 206 ? readRange(headers.get('content-range')) : { first: 0, total: lengthOf(headers) };
  if (range === null || (range.first !== offset && range.first !== 0)) {
    return leave({ kind: 'rejected', reason: 'the server sends another part than was asked for' });
  }
  const etag = headers.get('etag');
  return {
    kind: 'ok',
    offset: range.first,
    totalBytes: range.total,
    // A weak one says nothing of single bytes (RFC 9110, section 13.1.5).
    etag: etag === null || etag.startsWith('W/') ? null : etag,
    body: watched(body ?? new ReadableStream(), watch, signal),
  };
}

/** `bytes 100-199/200` (RFC 9110, section 14.4). */
function readRange(text: string | null): { first: number; total: number | null } | null {
  const match = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15}|\*)$/.exec(text ?? '');
  return match && { first: Number(match[1]), total: match[2] === '*' ? null : Number(match[2]) };
}

function lengthOf(headers: Headers): number | null {
  const text = headers.get('content-length') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

async function* watched(
  body: AsyncIterable<Uint8Array>,
  watch: Watch,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await watch(chunks.next()).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error instanceof LineBroken ? error : new LineBroken(faultOf(error));
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.().catch(() => undefined);
  }
}

async function openLocal(url: URL, offset: number): Promise<Opened> {
  try {
    const { size } = await stat(url);
    if (offset > size) return { kind: 'past_end' };
    return { kind: 'ok', offset, totalBytes: size, etag: null, body: readLocal(url, offset) };
  } catch (error) {
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

async function* readLocal(url: URL, start: number): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(url, { start })) yield chunk as Uint8Array;
  } catch (error) {
    throw new LineBroken(faultOf(error));
  }
}
