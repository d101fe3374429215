import { Readable } from 'node:stream';
import { collectBytes } from '@station/kit/collect-bytes';
import { within } from '@station/kit/within';

/** Of each answer that is no file. Ten thousand files of a folder fit. */
const mostAnswerBytes = 4 * 1024 * 1024;
const mostEntries = 10_000;
export const silenceMs = 60_000;

/** What the server sent is more than any answer has, or of a form that only harms. */
export class AnswerRefusedError extends Error {}

type FetchOptions = {
  method: string;
  headers: Record<string, string>;
  body: Readable | string | undefined;
  signal: AbortSignal;
};

/**
 * `fetch` for a server that may be hostile. Answers have a limit and are free of entities; a redirect is an answer. The content of a file
 * (GET) is not read here.
 * @throws AnswerRefusedError, or the error of `fetch`.
 */
export async function limitedFetch(url: URL, options: FetchOptions): Promise<Response> {
  const { method, headers, body, signal } = options;
  const streamed = body instanceof Readable ? { duplex: 'half' } : {};
  const init = { method, headers, signal, redirect: 'manual', ...(body === undefined ? {} : { body, ...streamed }) };
  const response = await fetch(url, init as RequestInit);
  return method === 'GET' && response.ok ? response : readAnswer(response);
}

/** Of RFC 4918: the only answer whose content counts, apart from a file. */
const multiStatus = 207;

async function readAnswer(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (status !== multiStatus) {
    // A page for people, of which only the status counts.
    await response.body?.cancel();
    return new Response(null, { status, headers });
  }
  const bytes = await collectBytes((response.body ?? []) as AsyncIterable<Uint8Array>, mostAnswerBytes);
  if (bytes === null) throw new AnswerRefusedError('The answer of the server is too large');
  const text = bytes.toString('utf8');
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw new AnswerRefusedError('The answer of the server defines entities');
  const entries = text.match(/<([\w-]+:)?response[\s>]/gi)?.length ?? 0;
  if (entries > mostEntries) throw new AnswerRefusedError('The folder of the server has too many files');
  return new Response(text, { status, headers });
}

/** Passes chunks on. @throws when the next one takes too long. */
export async function* withoutSilence<T>(source: AsyncIterable<T>, mostMs: number): AsyncGenerator<T> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await within(mostMs, chunks.next());
      if (next === null) throw new Error('The transfer is silent');
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a source that is silent does not end either.
    void Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}
