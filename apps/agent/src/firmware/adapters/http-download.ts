import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { readRetryAfter } from '@station/kit/retry-after';
import { ConnectionLost, type Opened } from '../firmware-ports.ts';
import {
  compressionOf,
  countPieces,
  faultOf,
  followRedirects,
  tinyPiecesReason,
  webPageReason,
} from '../../core/adapters/http-request.ts';

/** A server that sends nothing for this long counts as unreachable. */
const usualSilenceMs = 20_000;
/** Limit of received but unread bytes; more stays in the kernel. */
const mostWaitingBytes = 128 * 1024;

export type DownloadRequest = {
  offset: number;
  etag: string | null;
  signal: AbortSignal;
  /** For tests. */
  silenceMs?: number;
};

/**
 * Opens a file at an http, https or file address from `offset` on (RFC 9110, section 14). A server that ignores the range, or has
 * other content by now, sends the whole: `offset` of the answer is then 0.
 */
export async function openDownload(url: URL, request: DownloadRequest): Promise<Opened> {
  if (url.protocol === 'file:') return openLocal(url, request.offset);
  const silenceMs = request.silenceMs ?? usualSilenceMs;
  const headers = rangeHeaders(request);
  try {
    const followed = await followRedirects(url, { headers, signal: request.signal, headMs: silenceMs });
    if (followed.kind === 'rejected') return followed;
    const { status, headers: received, body } = followed.response;
    const opened = readHead(status, received, { offset: request.offset, isPacked: isPacked(url, received) });
    if (opened.kind === 'ok') return { ...opened, body: arrived(body, request.signal, silenceMs) };
    body.destroy();
    return opened;
  } catch (error) {
    request.signal.throwIfAborted();
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

function rangeHeaders({ offset, etag }: DownloadRequest): Record<string, string> {
  if (offset === 0) return {};
  // Request the range even without an ETag: the checksum of the whole file decides in the end.
  return { range: `bytes=${offset}-`, ...(etag === null ? {} : { 'if-range': etag }) };
}

/** Compressed on its way. A server says the same of a file that is stored so, as one for an ESP8266 may be. */
function isPacked({ pathname }: URL, headers: IncomingHttpHeaders): boolean {
  const compression = compressionOf(headers);
  const isStoredSo = pathname.endsWith('.gz') && /^(x-)?gzip$/.test(compression);
  return compression !== '' && !isStoredSo;
}

type Head = Exclude<Opened, { kind: 'ok' }> | Omit<Extract<Opened, { kind: 'ok' }>, 'body'>;

function readHead(
  status: number,
  headers: IncomingHttpHeaders,
  { offset, isPacked }: { offset: number; isPacked: boolean },
): Head {
  if (status === 416 && offset > 0) return { kind: 'past_end' };
  if (status !== 200 && status !== 206) {
    const retryAfterMs = readRetryAfter(headers['retry-after'], Date.now());
    const reason = `the server answered ${status}`;
    return { kind: 'unavailable', reason, ...(retryAfterMs === null ? {} : { retryAfterMs }) };
  }
  if (/^(text\/html|application\/xhtml)/i.test(headers['content-type'] ?? ''))
    return { kind: 'unavailable', reason: webPageReason };
  if (isPacked) return { kind: 'rejected', reason: 'the server sends the file compressed' };
  const range = status === 206 ? readRange(headers['content-range']) : { first: 0, total: lengthOf(headers) };
  if (range === null || (range.first !== offset && range.first !== 0)) {
    return { kind: 'rejected', reason: 'the server sends a different range than requested' };
  }
  const { etag } = headers;
  // A weak ETag does not guarantee equal bytes (RFC 9110, section 13.1.5).
  const strong = etag === undefined || etag.startsWith('W/') ? null : etag;
  return { kind: 'ok', offset: range.first, totalBytes: range.total, etag: strong };
}

/** `bytes 100-199/200` (RFC 9110, section 14.4). */
function readRange(text = ''): { first: number; total: number | null } | null {
  const match = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15}|\*)$/.exec(text);
  return match && { first: Number(match[1]), total: match[2] === '*' ? null : Number(match[2]) };
}

function lengthOf(headers: IncomingHttpHeaders): number | null {
  const text = headers['content-length'] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/**
 * Yields every received byte, including those just before the connection breaks: it listens from now on, not from the first read. Time
 * without a reader does not count as silence.
 */
function arrived(response: IncomingMessage, signal: AbortSignal, silenceMs: number): AsyncIterable<Uint8Array> {
  const arriving: Arriving = { waiting: [], waitingBytes: 0, end: null, wake: () => undefined };
  const finish = (error: unknown): void => {
    arriving.end ??= { error };
    arriving.wake();
  };
  const isTiny = countPieces();
  response.on('data', (chunk: Buffer) => {
    if (isTiny(chunk.length)) finish(new Error(tinyPiecesReason));
    if (arriving.end !== null) return;
    arriving.waiting.push(chunk);
    arriving.waitingBytes += chunk.length;
    if (arriving.waitingBytes > mostWaitingBytes) response.pause();
    arriving.wake();
  });
  response.on('end', () => finish(null));
  response.on('error', finish);
  response.on('close', () => finish(new Error('the connection to the server broke')));
  const news = async (): Promise<void> => {
    const timer = setTimeout(() => finish(new Error(`no data for ${silenceMs} ms`)), silenceMs);
    try {
      await new Promise<void>((resolve) => (arriving.wake = resolve));
    } finally {
      clearTimeout(timer);
    }
  };
  return readArriving(arriving, { response, signal, news });
}

type Arriving = {
  waiting: Uint8Array[];
  waitingBytes: number;
  /** `error` is null when all has come. */
  end: { error: unknown } | null;
  wake: () => void;
};

async function* readArriving(
  arriving: Arriving,
  { response, signal, news }: { response: IncomingMessage; signal: AbortSignal; news: () => Promise<void> },
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      if (arriving.waiting.length > 0) {
        const arrivedBytes = Buffer.concat(arriving.waiting);
        arriving.waiting = [];
        arriving.waitingBytes = 0;
        response.resume();
        yield arrivedBytes;
      } else if (arriving.end === null) {
        await news();
      } else if (arriving.end.error === null) {
        return;
      } else {
        signal.throwIfAborted();
        throw new ConnectionLost(faultOf(arriving.end.error));
      }
    }
  } finally {
    response.destroy();
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
    throw new ConnectionLost(faultOf(error));
  }
}
