import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** What takes the bytes of a file, in order. */
export type Sink = {
  /** How many it has. */
  offset(): number;
  /** Under which they came; null: nobody knows. */
  etag(): string | null;
  /** Forgets what it has: what follows is the file from its first byte, under this ETag. */
  restart(etag: string | null): void;
  write(bytes: Uint8Array): void | Promise<void>;
};

export type FetchOutcome =
  /** The answer came to its end. */
  | { kind: 'ended' }
  /** Worth another try. */
  | { kind: 'cut'; reason: string }
  /** Another try would change nothing. */
  | { kind: 'refused'; reason: string };

/** Without a byte for so long, a connection is given up. */
const silenceMs = 10_000;

/** Fetches what is missing of a file by one request (RFC 9110, sections 13.1.5 and 14). Never throws. */
export async function fetchRest(
  sink: Sink,
  { url, size, signal }: { url: string; size: number; signal: AbortSignal },
): Promise<FetchOutcome> {
  try {
    return await take(await ask(sink, url, signal), sink, size);
  } catch (error) {
    return { kind: 'cut', reason: error instanceof Error ? error.message : String(error) };
  }
}

async function ask(sink: Sink, url: string, signal: AbortSignal): Promise<IncomingMessage> {
  const [offset, etag] = [sink.offset(), sink.etag()];
  const isRest = offset > 0 && etag !== null;
  if (!isRest && offset > 0) sink.restart(null);
  const headers: Record<string, string> = isRest ? { range: `bytes=${offset}-`, 'if-range': etag } : {};
  const asking = get(url, { headers, signal, agent: false, timeout: silenceMs });
  asking.on('timeout', () => asking.destroy(new Error('nothing came for too long')));
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return answer;
}

async function take(answer: IncomingMessage, sink: Sink, size: number): Promise<FetchOutcome> {
  const { statusCode = 0, headers } = answer;
  if (statusCode === 200) sink.restart(strongEtag(headers.etag));
  else if (statusCode !== 206 || !isRestFrom(sink.offset(), headers['content-range'])) {
    answer.destroy();
    // The part that was asked for is not there, or is another one: from the first byte, then.
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

const isRestFrom = (offset: number, range: string | undefined): boolean =>
  range?.startsWith(`bytes ${offset}-`) === true;
