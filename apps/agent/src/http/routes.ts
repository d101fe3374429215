import { type Static, Type } from 'typebox';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import {
  Accepted,
  CheckResult,
  Health,
  type HistoryEntry,
  RollbackResult,
  Status,
  UpdateRequest,
  UpdateResult,
  Version,
  WifiStatus,
} from '@station/protocol/agent-api';
import { type ErrorCode, errorCodes } from '@station/protocol/errors';
import type { AgentPort } from '../core/agent-port.ts';
import type { StartAnswer } from '../core/stack-port.ts';
import type { EventStreams } from './event-stream.ts';
import type { Metrics } from './metrics.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const NoKeys = Type.Object({}, { additionalProperties: false });
const Waiting = Type.Object({ wait: Type.Optional(Type.Enum(['true', 'false'])) }, { additionalProperties: false });

export type RouteParts = {
  port: AgentPort;
  clock: Clock;
  agentVersion: string;
  /** Monotonic milliseconds. */
  startedMs: number;
  streams: EventStreams;
  metrics: Metrics;
  /** Aborts when the agent stops: waiting requests are then answered. */
  stopping: AbortSignal;
};

export function addRoutes(app: App, parts: RouteParts): void {
  const { port, clock, agentVersion, metrics, streams, stopping } = parts;
  const orStop = <T>(work: Promise<T>): Promise<T> => unlessStopped(work, stopping);
  /** A missing body is an empty one; JSON `null` is not missing. */
  const withBody = {
    preValidation: async (request: { body: unknown }) => {
      if (request.body === undefined) request.body = {};
    },
  };
  const ok = <T extends Parameters<typeof Type.Optional>[0]>(body: T) => ({
    querystring: NoKeys,
    response: { 200: body },
  });

  app.get('/health', { schema: ok(Health) }, async () => ({
    ok: true as const,
    service: 'station-agent' as const,
    version: agentVersion,
    uptimeSeconds: Math.floor((clock.monotonic() - parts.startedMs) / 1000),
  }));
  app.get('/version', { schema: ok(Version) }, async () => port.version());
  app.get('/status', { schema: ok(Status) }, async () => orStop(port.status()));
  app.get('/wifi/status', { schema: ok(WifiStatus) }, async () => port.wifiStatus());
  app.get('/metrics', { schema: { querystring: NoKeys } }, async (_request, reply) => {
    const { text, contentType } = await metrics.render(await orStop(port.status()));
    return reply.type(contentType).send(text);
  });
  app.get('/events', { schema: { querystring: NoKeys }, exposeHeadRoute: false }, (_request, reply) => {
    streams.follow(reply.raw);
    reply.hijack();
  });

  app.post('/check', { schema: { ...ok(CheckResult), body: NoKeys }, ...withBody }, async () => orStop(port.check()));
  app.post(
    '/update',
    { schema: { body: UpdateRequest, querystring: Waiting, response: started(UpdateResult) }, ...withBody },
    async (request, reply) => {
      const answer = await orStop(port.update(request.body.version ?? null));
      if (answer.kind === 'already_current') return alreadyCurrent(answer.version);
      const { operationId, ended } = accepted(answer);
      if (request.query.wait === 'false') return reply.code(202).send({ operationId });
      return updateResult(endOf(await orStop(ended)));
    },
  );
  app.post(
    '/rollback',
    { schema: { body: NoKeys, querystring: Waiting, response: started(RollbackResult) }, ...withBody },
    async (request, reply) => {
      const { operationId, ended } = accepted(await orStop(port.rollback()));
      if (request.query.wait === 'false') return reply.code(202).send({ operationId });
      return rollbackResult(endOf(await orStop(ended)));
    },
  );
}

const started = <T extends typeof UpdateResult | typeof RollbackResult>(result: T) => ({ 200: result, 202: Accepted });

const alreadyCurrent = (version: string | null): Static<typeof UpdateResult> => ({
  result: 'already_current',
  from: version,
  to: version,
  durationMs: 0,
  downtimeMs: null,
});

function accepted(answer: StartAnswer): Extract<StartAnswer, { kind: 'started' }> {
  switch (answer.kind) {
    case 'started':
      return answer;
    case 'refused':
      throw new StationError(answer.code, answer.message);
    case 'already_current':
      throw new StationError('nothing_to_roll_back', 'The rollback target is the release that runs.');
  }
}

function endOf(entry: HistoryEntry | null): HistoryEntry {
  if (entry === null) throw shuttingDown();
  return entry;
}

/** Waits for `work`, but no longer than until the agent stops. */
async function unlessStopped<T>(work: Promise<T>, stopping: AbortSignal): Promise<T> {
  if (stopping.aborted) throw shuttingDown();
  const stopped = Promise.withResolvers<never>();
  const onStop = (): void => stopped.reject(shuttingDown());
  stopping.addEventListener('abort', onStop, { once: true });
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    stopping.removeEventListener('abort', onStop);
  }
}

/** The answer to POST /update after the end of the operation. @throws StationError when it failed. */
function updateResult(entry: HistoryEntry): Static<typeof UpdateResult> {
  if (entry.result === 'updated') return { result: 'updated', ...outcome(entry) };
  if (entry.result === 'rolled_back')
    throw failure(
      'update_rolled_back',
      'The release failed and was rolled back. The previous release runs again.',
      entry,
    );
  throw failure(failureCode(entry, 'update_failed'), 'The release was not installed.', entry);
}

/** The answer to POST /rollback after the end of the operation. @throws StationError when it failed. */
function rollbackResult(entry: HistoryEntry): Static<typeof RollbackResult> {
  // With a reason, the rollback target failed and the release before the rollback runs again.
  if (entry.result === 'rolled_back' && entry.reason === null) return { result: 'rolled_back', ...outcome(entry) };
  throw failure(failureCode(entry, 'rollback_failed'), 'The rollback failed.', entry);
}

const outcome = ({ from, to, durationMs, downtimeMs }: HistoryEntry) => ({ from, to, durationMs, downtimeMs });

/** The reason's own code if clients know it. */
function failureCode({ code, result }: HistoryEntry, otherwise: ErrorCode): ErrorCode {
  return result === 'failed' && code && Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : otherwise;
}

function failure(code: ErrorCode, message: string, { from, to, reason }: HistoryEntry): StationError {
  const text = reason === null ? message : `${message} (${reason})`;
  return new StationError(code, text, { details: { from, to, reason } });
}

export const shuttingDown = (): StationError =>
  new StationError('shutting_down', 'The agent is stopping. It resumes the operation when it starts again.');
