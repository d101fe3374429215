import { collectBytes } from '@station/kit/collect-bytes';
import { statfs } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { pipeline, Readable } from 'node:stream';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseJson } from '@station/kit/json';
import { responseOf } from '@station/kit/response-of';
import { StationError } from '@station/kit/station-error';

export type ApiAnswer = { status: number; body: unknown };

type CallOptions = {
  query?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** A tar archive, instead of `body`; a stream is closed when the call fails. */
  archive?: Uint8Array | Readable;
  headers?: Record<string, string>;
  /** For a call that may take long. A call without it is cancelled after a minute: the engine is then `unavailable`. */
  signal?: AbortSignal;
};

/** Docker Engine API over its Unix socket (docs.docker.com/engine/api). Versions are negotiated; nothing is retried here. */
export type EngineApi = {
  /** Calls and reads a JSON answer. @throws StationError `unavailable` when the engine cannot be reached. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiAnswer>;
  /** Calls and yields each JSON line of the answer as it arrives. @throws StationError `unavailable` when it breaks off. */
  lines(method: string, path: string, onLine: (line: unknown) => void, options?: CallOptions): Promise<ApiAnswer>;
  /**
   * Calls and gives the bytes of the answer as they arrive. Reading slowly slows the engine, and leaving the loop ends the call.
   * They end with an error when the answer breaks off.
   */
  stream(path: string, signal: AbortSignal): Promise<{ status: number; content: AsyncIterable<Buffer> }>;
  /** Calls and reads an answer of at most `maxBytes`; `bytes` is null when it is longer. @throws StationError `unavailable`. */
  bytes(
    method: string,
    path: string,
    options: CallOptions & { maxBytes: number },
  ): Promise<{ status: number; bytes: Uint8Array | null }>;
  /**
   * Calls and passes on each piece of a successful answer as it arrives, waiting for `onChunk`: reading slowly slows the engine.
   * Such a call may last for days, so it has a connection of its own. @throws StationError `unavailable` when it breaks off.
   */
  follow(
    path: string,
    onChunk: (chunk: Buffer) => Promise<void>,
    options: { query: Record<string, string>; signal: AbortSignal },
  ): Promise<ApiAnswer>;
  [Symbol.dispose](): void;
};

/** Newest API version that this code supports; an older engine is called with its own version. */
const newestKnown = [1, 51] as const;
const usualTimeoutMs = 60_000;

export function createEngineApi(socketPath: string, { timeoutMs = usualTimeoutMs } = {}): EngineApi {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const engine: Engine = { socketPath, agent, timeoutMs, versionPrefix: null };
  return {
    call: (method, path, given = {}) =>
      withDeadline(engine, given, async (options) => {
        const response = await send(engine, { ...options, method, path });
        return { status: response.statusCode ?? 0, body: await readJson(response) };
      }),
    lines: (method, path, onLine, given = {}) =>
      withDeadline(engine, given, async (options) => {
        const response = await send(engine, { ...options, method, path });
        if (response.statusCode !== 200) return { status: response.statusCode ?? 0, body: await readJson(response) };
        await readLines(response, onLine, options.signal);
        return { status: 200, body: null };
      }),
    stream: async (path, signal) => {
      const response = await send(engine, { method: 'GET', path, signal, isAlone: true });
      return { status: response.statusCode ?? 0, content: response as AsyncIterable<Buffer> };
    },
    bytes: (method, path, { maxBytes, ...given }) =>
      withDeadline(engine, given, async (options) => {
        const response = await send(engine, { ...options, method, path });
        return { status: response.statusCode ?? 0, bytes: await readBytes(response, maxBytes) };
      }),
    follow: async (path, onChunk, options) => {
      const response = await send(engine, { ...options, method: 'GET', path, isAlone: true });
      if (response.statusCode !== 200) return { status: response.statusCode ?? 0, body: await readJson(response) };
      try {
        for await (const chunk of response as AsyncIterable<Buffer>) await onChunk(chunk);
      } catch (error) {
        options.signal.throwIfAborted();
        throw brokenOff(error);
      }
      return { status: 200, body: null };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

type Engine = {
  socketPath: string;
  agent: Agent;
  /** Limit of a call that has no signal. */
  timeoutMs: number;
  /** The agreed API version as the start of every path; null: it is negotiated with the next call. */
  versionPrefix: Promise<string> | null;
};

/** `isAlone`: not on one of the connections that all calls share. */
type Call = CallOptions & { method: string; path: string; isAlone?: boolean };

/** An engine may accept a call and never answer it. */
async function withDeadline<T>(
  engine: Engine,
  options: CallOptions,
  action: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (options.signal) return action(options);
  const deadline = AbortSignal.timeout(engine.timeoutMs);
  try {
    return await action({ ...options, signal: deadline });
  } catch (error) {
    throw deadline.aborted ? doesNotAnswer(error) : error;
  }
}

/** Sends a call with the agreed API version. Resolves when the head of the response is there. */
async function send(engine: Engine, call: Call): Promise<IncomingMessage> {
  const before = await (engine.versionPrefix ?? negotiate(engine)).catch((error: unknown) => {
    if (call.archive instanceof Readable) call.archive.destroy();
    throw error;
  });
  const response = await open(engine, { ...call, path: before + call.path });
  if (response.statusCode !== 400) return response;
  // An upgraded engine may no longer support the version: negotiate again, once.
  const now = await negotiate(engine);
  if (now === before) return response;
  response.resume();
  return open(engine, { ...call, path: now + call.path });
}

function negotiate(engine: Engine): Promise<string> {
  const answer = requestVersion(engine);
  engine.versionPrefix = answer;
  // The next call asks again.
  answer.catch(() => {
    if (engine.versionPrefix === answer) engine.versionPrefix = null;
  });
  return answer;
}

async function requestVersion(engine: Engine): Promise<string> {
  const body = await withDeadline(engine, {}, async (options) =>
    readJson(await open(engine, { ...options, method: 'GET', path: '/version' })),
  );
  const { ApiVersion: version } = body as { ApiVersion?: unknown };
  const offered = typeof version === 'string' ? version.split('.').map(Number) : [];
  const [major = 1, minor = 24] = offered;
  const older = major < newestKnown[0] || (major === newestKnown[0] && minor < newestKnown[1]);
  return `/v${(older ? [major, minor] : newestKnown).join('.')}`;
}

async function open(engine: Engine, call: Call): Promise<IncomingMessage> {
  const { method, path, query, body, archive, headers, signal } = call;
  const payload = archive ?? (body === undefined ? null : Buffer.from(JSON.stringify(body)));
  const isStream = payload instanceof Readable;
  const type = archive ? 'application/x-tar' : 'application/json';
  const outgoing = request({
    socketPath: engine.socketPath,
    agent: call.isAlone ? false : engine.agent,
    method,
    path: query ? `${path}?${new URLSearchParams(query).toString()}` : path,
    headers: {
      ...(payload === null ? {} : { 'content-type': type }),
      ...(payload === null || isStream ? {} : { 'content-length': payload.length }),
      ...headers,
    },
    ...(signal ? { signal } : {}),
  });
  // A fault of either ends the request; it is reported below.
  if (isStream) pipeline(payload, outgoing, () => undefined);
  else outgoing.end(payload ?? undefined);
  try {
    return await responseOf(outgoing);
  } catch (error) {
    engine.versionPrefix = null;
    signal?.throwIfAborted();
    throw doesNotAnswer(error);
  }
}

/** @throws StationError `unavailable` when the response breaks off. */
async function readLines(
  response: IncomingMessage,
  onLine: (line: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      if (line.trim() !== '') onLine(parseLine(line));
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw brokenOff(error);
  }
}

/** Null when the response is longer than `maxBytes`; the rest is not read. */
async function readBytes(response: IncomingMessage, maxBytes: number): Promise<Uint8Array | null> {
  try {
    return await collectBytes(response, maxBytes);
  } catch (error) {
    throw brokenOff(error);
  }
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw brokenOff(error);
  }
  return parseLine(Buffer.concat(chunks).toString('utf8'));
}

const doesNotAnswer = (cause: unknown): StationError =>
  new StationError('unavailable', 'the container engine does not answer', { cause });

const brokenOff = (cause: unknown): StationError =>
  new StationError('unavailable', 'the answer of the container engine broke off', { cause });

const parseLine = (text: string): unknown => parseJson(text) ?? { message: text.slice(0, 500) };

/** The body of a successful answer. @throws StationError `unavailable` when the engine refused or sent something else. */
export function expectBody<T extends TSchema>(answer: ApiAnswer, schema: T, what: string): Static<T> {
  if (answer.status < 300 && Value.Check(schema, answer.body)) return answer.body;
  throw new StationError('unavailable', `the container engine did not answer ${what} as expected`, {
    cause: new Error(messageOf(answer.body)),
  });
}

/** The engine's message of a refusal. */
export function messageOf(body: unknown): string {
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : null;
  return typeof message === 'string' ? message.slice(0, 500) : 'no reason given';
}

const Info = Type.Object({
  DockerRootDir: Type.String(),
  /** Storage driver, `overlay2` mostly. */
  Driver: Type.Optional(Type.String()),
  DriverStatus: Type.Optional(Type.Union([Type.Array(Type.Array(Type.String())), Type.Null()])),
  OSType: Type.String(),
  /** Where its containerd answers, since Docker 27. */
  Containerd: Type.Optional(
    Type.Object({
      Address: Type.Optional(Type.String()),
      Namespaces: Type.Optional(Type.Object({ Containers: Type.Optional(Type.String()) })),
    }),
  ),
  RegistryConfig: Type.Optional(
    Type.Object({
      IndexConfigs: Type.Optional(Type.Record(Type.String(), Type.Object({ Secure: Type.Boolean() }))),
      /** Of `insecure-registries`; loopback is always one of them. */
      InsecureRegistryCIDRs: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
    }),
  ),
});

export type EngineInfo = Static<typeof Info>;
export type ReadInfo = () => Promise<EngineInfo>;

/** Caches the engine's information: the call is slow, and the answer changes only at a restart. */
const infoKeptMs = 60_000;

export function createInfo(api: EngineApi, now: () => number): ReadInfo {
  let kept: { at: number; info: EngineInfo } | null = null;
  return async () => {
    if (kept && Math.abs(now() - kept.at) < infoKeptMs) return kept.info;
    kept = { at: now(), info: expectBody(await api.call('GET', '/info'), Info, 'GET /info') };
    return kept.info;
  };
}

/** With less free space than this, a failed write of the engine counts as a full disk. */
export const fullDiskBytes = 8 * 1024 * 1024;

/** Bytes free to an ordinary user at a path; null when unknown. */
export async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}
