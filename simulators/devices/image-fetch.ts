import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** Takes the bytes of a file, in order. */
export type Sink = {
  /** Number of received bytes. */
  offset(): number;
  /** ETag of these bytes; null when unknown. */
  etag(): string | null;
  /** Discards all bytes; the file follows from its first byte, under this ETag. */
  restart(etag: string | null): void;
  write(bytes: Uint8Array): void | Promise<void>;
};

export type FetchOutcome =
  /** The answer is complete. */
  | { kind: 'ended' }
  /** A retry may succeed. */
  | { kind: 'cut'; reason: string }
  /** A retry would fail again. */
  | { kind: 'refused'; reason: string };

/** A connection without data for this long is closed. */
const silenceMs = 10_000;

/** Fetches the missing part of a file with one request (RFC 9110, sections 13.1.5 and 14). Never throws. */
export async function fetchMissingPart(
  sink: Sink,
  { url, size, signal }: { url: string; size: number; signal: AbortSignal },
): Promise<FetchOutcome> {
  try {
    return await receive(await request(sink, url, signal), sink, size);
  } catch (error) {
    return { kind: 'cut', reason: error instanceof Error ? error.message : String(error) };
  }
}

async function request(sink: Sink, url: string, signal: AbortSignal): Promise<IncomingMessage> {
  const offset = sink.offset();
  const etag = sink.etag();
  const isRange = offset > 0 && etag !== null;
  if (!isRange && offset > 0) sink.restart(null);
  const headers: Record<string, string> = isRange ? { range: `bytes=${offset}-`, 'if-range': etag } : {};
  const outgoing = get(url, { headers, signal, agent: false, timeout: silenceMs });
  outgoing.on('timeout', () => outgoing.destroy(new Error('no data for too long')));
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return answer;
}

async function receive(answer: IncomingMessage, sink: Sink, size: number): Promise<FetchOutcome> {
  const { statusCode = 0, headers } = answer;
  if (statusCode === 200) sink.restart(strongEtag(headers.etag));
  else if (statusCode !== 206 || !isRangeFrom(sink.offset(), headers['content-range'])) {
    answer.destroy();
    // The requested part is missing or wrong: start again with the first byte.
    if (statusCode === 206 || statusCode === 416) sink.restart(null);
    const isFinal = statusCode >= 400 && statusCode < 500 && statusCode !== 416;
    return { kind: isFinal ? 'refused' : 'cut', reason: `the station answered ${statusCode}` };
  }
  for await (const piece of answer as AsyncIterable<Buffer>) {
    if (sink.offset() + piece.length > size) return { kind: 'refused', reason: 'longer than announced' };
    await sink.write(piece);
  }
  return { kind: 'ended' };
}

const strongEtag = (etag: string | undefined): string | null => (etag?.startsWith('"') === true ? etag : null);

const isRangeFrom = (offset: number, range: string | undefined): boolean =>
  range?.startsWith(`bytes ${offset}-`) === true;
