import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, isoTime } from '@station/kit/clock';
import type { RetryDetails } from '@station/kit/http-errors';
import { StationError } from '@station/kit/station-error';
import type { Session, SetupState } from '@station/protocol/rest';
import { refuseForeignOrigin, userOf } from '../http/access.ts';
import { unauthorized } from '../http/caller.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { type StationStore, toUser, type UserStore } from '../store/station-store.ts';
import type { AuthService, CodeRefused, Limited, OpenedSession } from './auth-service.ts';
import type { FirstRun } from './first-run.ts';
import type { Client } from './sessions.ts';

/** A database that was lost before the set-up. */
export type LostBefore = { state(): Promise<SetupState['lost'] | null>; forget(): Promise<void> };

type Parts = { auth: AuthService; users: UserStore; station: StationStore; clock: Clock; lost: LostBefore };

/** /api/auth: first run, log in and out, the session's renewal (contracts, section 9). */
export function registerAuthRoutes(app: HttpServer, parts: Parts): void {
  serve(app, 'GET /api/auth/setup', () => readSetupState(parts));
  serve(app, 'POST /api/auth/setup', (request, reply) => setUp(parts, request, reply));
  serve(app, 'POST /api/auth/login', (request, reply) => logIn(parts, request, reply));
  serve(app, 'POST /api/auth/refresh', (request, reply) => refresh(parts, request, reply), {
    onRequest: refuseForeignOrigin,
  });
  serve(app, 'POST /api/auth/logout', (request, reply) => logOut(parts, request, reply), {
    onRequest: refuseForeignOrigin,
  });
  serve(app, 'GET /api/auth/me', (request) => getMe(parts, request));
  serve(app, 'POST /api/auth/password', (request, reply) => changePassword(parts, request, reply));
  serve(app, 'GET /api/auth/sessions', (request) => listSessions(parts, request));
  serve(app, 'DELETE /api/auth/sessions', (request, reply) => endAllSessions(parts, request, reply));
  serve(app, 'DELETE /api/auth/sessions/:id', (request, reply) => endSession(parts, request, reply));
}

export const clientOf = ({ ip, headers, cookies }: FastifyRequest): Client => ({
  address: ip,
  userAgent: headers['user-agent'] ?? null,
  device: cookies[deviceCookie] ?? null,
});
const cookieName = 'station_refresh';
/** Stays after the log-out: whoever knows it has a budget of their own for wrong passwords, and nothing else. */
const deviceCookie = 'station_device';
const deviceCookieSeconds = 400 * 24 * 60 * 60;
const cookiePath = '/api/auth';

async function readSetupState({ auth, station, lost }: Parts): Promise<SetupState> {
  const needed = await auth.isSetupNeeded();
  if (!needed) return { needed, stationName: (await station.read()).name };
  const loss = await lost.state();
  return { needed, stationName: null, ...(loss && { lost: loss }) };
}

async function setUp(
  { auth, clock, lost }: Parts,
  request: RequestOf<'POST /api/auth/setup'>,
  reply: ReplyOf<'POST /api/auth/setup'>,
) {
  const result = await auth.setup(request.body, clientOf(request));
  if (result.kind !== 'opened') throw refusedCode(result);
  await lost.forget();
  return sendSession(request, reply.code(201), result, clock);
}

function refusedCode(result: CodeRefused): StationError {
  switch (result.kind) {
    case 'limited':
      return tooMany(result);
    case 'already_done':
      return new StationError('setup_already_done', 'This station has an owner already. Log in instead.');
    case 'restoring':
      return new StationError(
        'restore_in_progress',
        'A backup is being restored. Wait until the station starts again.',
      );
    case 'wrong_code':
      return new StationError(
        'setup_code_invalid',
        'The set-up code is not right. `station-agent code` prints it on the station.',
      );
  }
}

/** What others may do only on a station without an owner. */
export type SetupGate = {
  /** @throws StationError when the station has an owner or is being restored, the code is wrong, or too many were tried. */
  checkSetupCode(code: string, address: string): Promise<void>;
  /**
   * Once the file is found nobody sets the station up, unless `action` fails.
   * @throws StationError when it has an owner, or somebody sets it up or restores it now.
   */
  restoreFirst<File, T>(find: () => Promise<File>, action: (file: File) => Promise<T>): Promise<T>;
  /** @throws StationError when the station has an owner. */
  requireSetup(): Promise<void>;
};

export function setupGateOf(auth: AuthService, firstRun: FirstRun): SetupGate {
  const requireSetup = async (): Promise<void> => {
    if (!(await auth.isSetupNeeded())) throw refusedCode({ kind: 'already_done' });
  };
  return {
    requireSetup,
    restoreFirst: async (find, action) => {
      await requireSetup();
      // Anybody may ask; only who has begun an upload with the set-up code has a file.
      const file = await find();
      return firstRun.restore(async () => {
        await requireSetup();
        return action(file);
      });
    },
    checkSetupCode: async (code, address) => {
      const result = await auth.checkSetupCode(code, address);
      if (result.kind !== 'right') throw refusedCode(result);
    },
  };
}

async function logIn(
  { auth, clock }: Parts,
  request: RequestOf<'POST /api/auth/login'>,
  reply: ReplyOf<'POST /api/auth/login'>,
) {
  const result = await auth.login(request.body.email, request.body.password, clientOf(request));
  switch (result.kind) {
    case 'opened':
      return sendSession(request, reply, result, clock);
    case 'limited':
      throw tooMany(result);
    case 'access_ended':
      throw new StationError('access_ended', 'The access of this guest has ended.');
    case 'wrong_credentials':
      throw new StationError('invalid_credentials', 'The address or the password is not right.');
  }
}

async function refresh(
  { auth, clock }: Parts,
  request: RequestOf<'POST /api/auth/refresh'>,
  reply: ReplyOf<'POST /api/auth/refresh'>,
) {
  const token = request.cookies[cookieName];
  const result = token === undefined ? null : await auth.refresh(token, clientOf(request));
  if (result?.kind === 'opened') return sendSession(request, reply, result, clock);
  void reply.clearCookie(cookieName, { path: cookiePath });
  throw new StationError('session_expired', 'The session has ended. Log in again.');
}

async function logOut(
  { auth }: Parts,
  request: RequestOf<'POST /api/auth/logout'>,
  reply: ReplyOf<'POST /api/auth/logout'>,
) {
  const token = request.cookies[cookieName];
  if (token !== undefined) await auth.logout(token);
  return reply.clearCookie(cookieName, { path: cookiePath }).code(204).send(null);
}

async function getMe({ users }: Parts, request: RequestOf<'GET /api/auth/me'>) {
  const user = await users.findById(userOf(request).userId);
  if (user === null) throw unauthorized('This user does not exist any more.');
  return toUser(user);
}

async function changePassword(
  { auth }: Parts,
  request: RequestOf<'POST /api/auth/password'>,
  reply: ReplyOf<'POST /api/auth/password'>,
) {
  const { currentPassword: current, newPassword: next } = request.body;
  const context = { client: clientOf(request), refreshToken: request.cookies[cookieName] };
  const result = await auth.changePassword(userOf(request).userId, { current, next }, context);
  switch (result.kind) {
    case 'changed':
      return reply.code(204).send(null);
    case 'limited':
      throw tooMany(result);
    case 'same_password':
      throw new StationError('conflict', 'The new password is the current one.');
    case 'wrong_password':
      throw new StationError('invalid_credentials', 'The current password is not right.');
  }
}

async function listSessions({ auth }: Parts, request: RequestOf<'GET /api/auth/sessions'>) {
  const { userId, sessionId } = userOf(request);
  const known = await auth.listSessions(userId);
  return {
    sessions: known.map(({ id, userAgent, address, openedAt, usedAt }) => ({
      id,
      isCurrent: id === sessionId,
      userAgent,
      address,
      openedAt: isoTime(openedAt),
      usedAt: isoTime(usedAt),
    })),
  };
}

async function endSession(
  { auth }: Parts,
  request: RequestOf<'DELETE /api/auth/sessions/:id'>,
  reply: ReplyOf<'DELETE /api/auth/sessions/:id'>,
) {
  const isEnded = await auth.endSession(userOf(request).userId, request.params.id);
  if (!isEnded) throw new StationError('not_found', 'This session has ended already.');
  return reply.code(204).send(null);
}

async function endAllSessions(
  { auth }: Parts,
  request: RequestOf<'DELETE /api/auth/sessions'>,
  reply: ReplyOf<'DELETE /api/auth/sessions'>,
) {
  await auth.endAllSessions(userOf(request).userId);
  return reply.clearCookie(cookieName, { path: cookiePath }).code(204).send(null);
}

export function sendSession(
  request: FastifyRequest,
  reply: FastifyReply,
  session: OpenedSession,
  clock: Clock,
): FastifyReply {
  const body: Session = {
    accessToken: session.accessToken,
    expiresAt: isoTime(session.accessExpiresAt),
    user: toUser(session.user),
  };
  const options = {
    httpOnly: true,
    sameSite: 'strict',
    path: cookiePath,
    // On the local network there is often no TLS; a Secure cookie would then never come back.
    secure: request.protocol === 'https',
  } as const;
  const maxAge = Math.floor((session.refreshExpiresAt - clock.now()) / 1000);
  return reply
    .setCookie(cookieName, session.refreshToken, { ...options, maxAge })
    .setCookie(deviceCookie, session.deviceToken, { ...options, maxAge: deviceCookieSeconds })
    .send(body);
}

export function tooMany({ retryAfterMs }: Limited): StationError {
  const details: RetryDetails = { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) };
  return new StationError('too_many_requests', 'Too many attempts. Wait a while and try again.', { details });
}
