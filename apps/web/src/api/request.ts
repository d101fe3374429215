import type { ErrorCode } from '@station/protocol/errors';
import { ownValue } from '@station/protocol/own-value';
import type { AnswerOf, RouteKey, SentTo } from '@station/protocol/routes';

/** What can go wrong on this side of the connection, beside the codes of the station. */
type LocalCode = 'no_answer' | 'timed_out' | 'bad_answer';
export type ProblemCode = ErrorCode | LocalCode;

export type FieldFault = { in?: string; pointer: string; message: string };

/** A request that failed. `code` decides; `message` is the station's English text, shown only when nothing else fits. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number | null;
  readonly faults: readonly FieldFault[];
  /** From Retry-After, seconds; null when the station named none. */
  readonly retryAfterSeconds: number | null;
  /** `details.reason`: what exactly was refused. */
  readonly reason: string | null;
  /** Of `host_unknown`: where the station answers. */
  readonly addresses: readonly string[];

  constructor(
    code: ProblemCode,
    message: string,
    more: {
      status?: number;
      faults?: readonly FieldFault[];
      retryAfterSeconds?: number | null;
      reason?: string | null;
      addresses?: readonly string[];
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'Problem';
    this.code = code;
    this.status = more.status ?? null;
    this.faults = more.faults ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
    this.reason = more.reason ?? null;
    this.addresses = more.addresses ?? [];
  }

  /** There is nothing at this address: it was removed, or the address was mistyped. */
  get isGone(): boolean {
    return this.status === 404 || (this.faults.length > 0 && this.faults.every((fault) => fault.in === 'params'));
  }
}

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem('bad_answer', String(error), { cause: error });

/** Whether the backend was not reached, so that an automatic retry makes sense. */
export const isOutage = (problem: Problem): boolean =>
  problem.code === 'no_answer' ||
  problem.code === 'timed_out' ||
  problem.code === 'shutting_down' ||
  problem.code === 'unavailable' ||
  problem.code === 'agent_unreachable';

/** The arguments behind the key of a route: none are needed when nothing has to be sent. */
export type Arguments<Options> = Partial<Options> extends Options ? [options?: Options] : [options: Options];
export type SendOptions = { token?: string; signal?: AbortSignal; timeoutMs?: number };
/** A request of a declared route. A list is read to its last page. */
export type Send = <Key extends RouteKey>(
  route: Key,
  ...options: Arguments<SentTo<Key> & SendOptions>
) => Promise<AnswerOf<Key>>;

/** A part of a list. `next`: path of the next page; undefined: this is the last one. */
export type ListPage<T> = { items: T[]; next: string | undefined };
/** What every request may have, whatever its route. */
export type AnyOptions = SendOptions & {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  body?: unknown;
  /** The answer is a `ListPage`: the first one, or the one at this path. */
  page?: { at: string | undefined };
};

/** A `Send` that does not know what a route takes and answers. */
export type AnySend = (route: RouteKey, options?: AnyOptions) => Promise<unknown>;

/** Path and query of a request. */
export function pathOf<Key extends RouteKey>(route: Key, ...sent: Arguments<PathParts<Key>>): string {
  const { params = {}, query = {} } = (sent[0] ?? {}) as AnyOptions;
  const path = route
    .slice(route.indexOf('/'))
    .replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(ownValue(params, name) ?? ''));
  const search = Object.entries(query).map(([name, value]) => [name, String(value)]);
  return search.length === 0 ? path : `${path}?${new URLSearchParams(search)}`;
}

type PathParts<Key extends RouteKey> = Omit<SentTo<Key>, 'body'>;

/** A request that the reverse proxy holds during a backend restart is cancelled after this time; then the next one is sent. */
const defaultTimeoutMs = 15_000;

/**
 * One request to the backend. Resolves with the parsed body (undefined for 204), rejects with a `Problem`; an abort by the
 * caller's own signal rejects with that signal's reason.
 */
export function createSend(fetchImpl: typeof fetch, onServerTime: (date: string) => void): Send {
  const ask = async (method: string, path: string, options: AnyOptions): Promise<unknown> => {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
    const headers: Record<string, string> = { accept: 'application/json' };
    if (options.token !== undefined) headers['authorization'] = `Bearer ${options.token}`;
    if (options.body !== undefined) headers['content-type'] = 'application/json';
    let response: Response;
    let text: string;
    try {
      response = await fetchImpl(path, {
        method,
        headers,
        cache: 'no-store',
        credentials: 'same-origin',
        signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      });
      text = await response.text();
    } catch (error) {
      options.signal?.throwIfAborted();
      if (timeout.aborted) throw new Problem('timed_out', 'No answer in time.', { cause: error });
      throw new Problem('no_answer', 'The station did not answer.', { cause: error });
    }
    const date = response.headers.get('date');
    if (date) onServerTime(date);
    if (!response.ok) throw problemOf(response, text);
    const body = parseBody(text, response);
    const next = /^<(\/.*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    if (options.page) return { items: body, next };
    return next ? withMore(body as object, (await ask(method, next, options)) as object) : body;
  };
  const send: AnySend = (route, options = {}) =>
    ask(route.slice(0, route.indexOf(' ')), options.page?.at ?? pathOf(route, options as never), options);
  return send as Send;
}

/** A list and its next items, or an object with lists and the same object with their next items. */
const withMore = (body: object, more: object): object =>
  Array.isArray(body)
    ? body.concat(more)
    : Object.fromEntries(
        Object.entries(body).map(([key, value]: [string, unknown]) => [
          key,
          Array.isArray(value) ? value.concat(more[key as never]) : value,
        ]),
      );

function parseBody(text: string, response: Response): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem('bad_answer', 'The answer was not JSON.', { status: response.status, cause: error });
  }
}

function problemOf(response: Response, text: string): Problem {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const more = { status: response.status, retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null };
  const body = errorBody(text);
  if (body) {
    const { code, message, faults, reason, addresses } = body;
    return new Problem(code as ProblemCode, message, { ...more, faults, reason, addresses });
  }
  // When the backend is down, a proxy answers with its own error text.
  if ([502, 503, 504].includes(response.status)) return new Problem('no_answer', 'The station did not answer.', more);
  return new Problem('bad_answer', `Unexpected answer ${response.status}.`, more);
}

type ErrorParts = {
  code: string;
  message: string;
  faults: FieldFault[];
  reason: string | null;
  addresses: string[];
};

function errorBody(text: string): ErrorParts | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || typeof value['code'] !== 'string') return null;
    const details = value['details'];
    const faults = isRecord(details) && Array.isArray(details['faults']) ? details['faults'].filter(isFault) : [];
    const reason = isRecord(details) && typeof details['reason'] === 'string' ? details['reason'] : null;
    const given: unknown = isRecord(details) ? details['addresses'] : null;
    return {
      code: value['code'],
      message: typeof value['message'] === 'string' ? value['message'] : '',
      faults,
      reason,
      // They become links.
      addresses: Array.isArray(given) ? given.filter(isWebAddress) : [],
    };
  } catch {
    return null;
  }
}

const isWebAddress = (value: unknown): value is string => typeof value === 'string' && /^https?:\/\//.test(value);
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isFault = (value: unknown): value is FieldFault =>
  isRecord(value) && typeof value['pointer'] === 'string' && typeof value['message'] === 'string';
