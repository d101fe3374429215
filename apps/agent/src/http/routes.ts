import type { ServerResponse } from 'node:http';
import { type Static, type TSchema, Type } from 'typebox';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import {
  Accepted,
  AutoUpdateRequest,
  ClockRequest,
  Health,
  type HistoryEntry,
  RollbackResult,
  UpdateRequest,
  UpdateResult,
} from '@station/protocol/agent-api';
import { AgentBackup } from '@station/protocol/agent-backup';
import { LogQuery, ServiceRestartRequest } from '@station/protocol/agent-machine';
import { NetworkJoinRequest, type NetworkState } from '@station/protocol/agent-network';
import { type ErrorCode, errorCodes } from '@station/protocol/errors';
import type { AgentPort } from '../core/agent-port.ts';
import type { RestartAnswer, StartAnswer } from '../core/stack-port.ts';
import { wifiPasswordProblemAmong } from '@station/protocol/wifi-password';
import type { EventStreams, LogStreams } from './event-stream.ts';
import type { Metrics } from './metrics.ts';

/** The routes of one path by method. */
export type Methods = Readonly<Record<string, Route>>;

type Route = {
  query: TSchema;
  /** Null: the route reads no body. */
  body: TSchema | null;
  /** More than the usual 4 KiB. */
  maxBodyBytes?: number;
  /** The body or the answer holds secrets: see `Guard`. */
  isSecret?: boolean;
  /** Takes the checked values. */
  answer: (request: { query: unknown; body: unknown }) => Promise<Answer>;
};

export type Answer =
  | { kind: 'json'; status: number; body: unknown; headers?: Readonly<Record<string, string>> }
  | { kind: 'text'; text: string; contentType: string }
  /** Takes over the response. */
  | { kind: 'stream'; follow: (response: ServerResponse) => void };

const NoKeys = Type.Object({}, { additionalProperties: false });
const Waiting = Type.Object({ wait: Type.Optional(Type.Enum(['true', 'false'])) }, { additionalProperties: false });

export type RouteParts = {
  port: AgentPort;
  clock: Clock;
  agentVersion: string;
  /** Monotonic milliseconds. */
  startedMs: number;
  streams: EventStreams;
  logStreams: LogStreams;
  metrics: Metrics;
  /** Aborts when the agent stops: waiting requests are then answered. */
  stopping: AbortSignal;
};

/** 3 MiB of logins, 100 networks. */
const maxBackupBytes = 4 * 1024 * 1024;

/** Path → methods. All paths are constant, so that a map finds them. */
export function createRoutes(parts: RouteParts): ReadonlyMap<string, Methods> {
  const orStop: OrStop = (work) => unlessStopped(work, parts.stopping);
  return new Map([
    ...stateRoutes(parts, orStop),
    ...machineRoutes(parts, orStop),
    ...networkRoutes(parts, orStop),
    ...backupRoutes(parts, orStop),
    ...updateRoutes(parts, orStop),
  ]);
}

/** The work, or an error when the agent stops first. */
type OrStop = <T>(work: Promise<T>) => Promise<T>;
type Routes = readonly (readonly [path: string, methods: Methods])[];

function stateRoutes(parts: RouteParts, orStop: OrStop): Routes {
  const { port, metrics, streams, logStreams } = parts;
  return [
    ['/health', readable(async () => ok(healthOf(parts)))],
    ['/version', readable(async () => ok(port.version()))],
    ['/status', readable(async () => ok(await orStop(port.status())))],
    ['/wifi/status', readable(async () => ok(port.wifiStatus()))],
    [
      '/logs',
      {
        GET: {
          ...route(LogQuery, NoKeys, async ({ query }) => {
            const log = await orStop(port.openLog(query));
            return { kind: 'stream', follow: (response) => logStreams.follow(log, response) };
          }),
          body: null,
          isSecret: true,
        },
      },
    ],
    ['/metrics', readable(async () => ({ kind: 'text', ...(await metrics.render(await orStop(port.status()))) }))],
    ['/doctor', readable(async () => ok(await orStop(port.doctor())))],
    ['/log', readable(async () => ok({ lines: await orStop(port.log()) }))],
    ['/events', { GET: reading(async () => ({ kind: 'stream', follow: streams.follow })) }],
  ];
}

function machineRoutes({ port }: RouteParts, orStop: OrStop): Routes {
  return [
    [
      '/clock',
      {
        ...readable(async () => ok(await orStop(port.clock()))),
        POST: route(NoKeys, ClockRequest, async ({ body }) => ok(await orStop(port.setClock(timeOf(body.now))))),
      },
    ],
    ['/machine', readable(async () => ok(await orStop(port.machine())))],
    ['/machine/restart', { POST: route(NoKeys, NoKeys, async () => begun(await orStop(port.restartMachine()))) }],
    [
      '/services/restart',
      {
        POST: route(NoKeys, ServiceRestartRequest, async ({ body }) =>
          begun(await orStop(port.restartService(body.service))),
        ),
      },
    ],
  ];
}

function networkRoutes({ port }: RouteParts, orStop: OrStop): Routes {
  return [
    ['/hotspot', { GET: { ...reading(async () => ok(port.hotspot())), isSecret: true } }],
    ['/network', { GET: { ...reading(async () => ok(await orStop(port.network()))), isSecret: true } }],
    [
      '/network/scan',
      { POST: { ...route(NoKeys, NoKeys, async () => ok(await orStop(port.scanNetwork()))), isSecret: true } },
    ],
    [
      '/network/join',
      {
        POST: {
          ...route(NoKeys, NetworkJoinRequest, async ({ body }) => join(port, body, await orStop(port.network()))),
          isSecret: true,
        },
      },
    ],
  ];
}

function backupRoutes({ port }: RouteParts, orStop: OrStop): Routes {
  return [
    ['/backup', { GET: { ...reading(async () => ok(await orStop(port.readBackup()))), isSecret: true } }],
    [
      '/backup/restore',
      {
        POST: {
          ...route(NoKeys, AgentBackup, async ({ body }) => ok(await orStop(port.restoreBackup(body)))),
          isSecret: true,
          maxBodyBytes: maxBackupBytes,
        },
      },
    ],
  ];
}

function updateRoutes({ port }: RouteParts, orStop: OrStop): Routes {
  return [
    ['/check', { POST: route(NoKeys, NoKeys, async () => ok(await orStop(port.check()))) }],
    [
      '/auto-update',
      {
        POST: route(NoKeys, AutoUpdateRequest, async ({ body }) =>
          ok(await orStop(port.chooseAutoUpdate(body.autoUpdate))),
        ),
      },
    ],
    [
      '/update',
      {
        POST: route(Waiting, UpdateRequest, async ({ query, body }) => {
          const answer = await orStop(port.update(body.version ?? null, { isPrompt: query.wait === 'false' }));
          if (answer.kind === 'already_current') return ok(alreadyCurrent(answer.version));
          const { operationId, ended } = accepted(answer);
          if (query.wait === 'false') return started(operationId);
          return ok(updateResult(endOf(await orStop(ended))));
        }),
      },
    ],
    [
      '/rollback',
      {
        POST: route(Waiting, NoKeys, async ({ query }) => {
          const { operationId, ended } = accepted(await orStop(port.rollback({ isPrompt: query.wait === 'false' })));
          if (query.wait === 'false') return started(operationId);
          return ok(rollbackResult(endOf(await orStop(ended))));
        }),
      },
    ],
  ];
}

/** A route whose schemas type the request that it answers. */
function route<Query extends TSchema, Body extends TSchema>(
  query: Query,
  body: Body,
  answer: (request: { query: Static<Query>; body: Static<Body> }) => Promise<Answer>,
): Route {
  return { query, body, answer: answer as Route['answer'] };
}

const reading = (answer: () => Promise<Answer>): Route => ({ query: NoKeys, body: null, answer });

function readable(answer: () => Promise<Answer>): Methods {
  const get = reading(answer);
  return { GET: get, HEAD: get };
}

/** @throws StationError `bad_request` */
function timeOf(text: string): number {
  const at = Date.parse(text);
  if (!Number.isFinite(at) || at < 0) throw new StationError('bad_request', '"now" must be a time.');
  return at;
}

const ok = (body: object): Answer => ({ kind: 'json', status: 200, body });

const started = (operationId: string): Answer => {
  const body: Static<typeof Accepted> = { operationId };
  return { kind: 'json', status: 202, body };
};

const done = (): Answer => ({ kind: 'json', status: 202, body: {} });

/** @throws StationError when it was refused. */
function begun(answer: RestartAnswer): Answer {
  if (answer.kind === 'refused') throw new StationError(answer.code, answer.message);
  return done();
}

/** The answer leaves before the network changes. @throws StationError; never with the password. */
function join(port: AgentPort, request: Static<typeof NetworkJoinRequest>, { networks }: NetworkState): Answer {
  const { ssid, security, isHidden } = request;
  const password = request.password === '' ? null : request.password;
  const seen = networks.filter((network) => network.ssid === ssid).map((network) => network.security);
  const problem = wifiPasswordProblemAmong(security === null ? seen : [security], password ?? '', { mayBeOpen: true });
  if (problem !== null)
    throw new StationError('bad_request', 'This network cannot be joined so.', { details: { reason: problem } });
  const answer = port.joinNetwork({ ssid, security, password, isHidden });
  if (answer !== 'accepted')
    throw new StationError('conflict', 'No network can be joined now.', { details: { reason: answer } });
  return done();
}

const healthOf = ({ agentVersion, clock, startedMs }: RouteParts): Static<typeof Health> => ({
  ok: true,
  service: 'station-agent',
  version: agentVersion,
  uptimeSeconds: Math.floor((clock.monotonic() - startedMs) / 1000),
});

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
