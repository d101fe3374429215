import cookie from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type Clock, isoTime } from '@station/kit/clock';
import type { RetryDetails } from '@station/kit/http-errors';
import { StationError } from '@station/kit/station-error';
import {
  LoginRequest,
  PasswordChange,
  Session,
  type Session as SessionBody,
  SetupRequest,
  SetupState,
  User,
} from '@station/protocol/rest';
import { refuseForeignOrigin, userOf } from '../http/access.ts';
import { unauthorized } from '../http/caller.ts';
import type { HttpServer } from '../http/server.ts';
import { toUser, type UserStore } from '../store/station-store.ts';
import type { AuthService, Limited, OpenedSession } from './auth-service.ts';

const cookieName = 'station_refresh';
const cookiePath = '/api/auth';

/** /api/auth: first run, log in and out, the session's renewal (contracts, section 9). */
export async function registerAuthRoutes(
  app: HttpServer,
  { auth, users, clock }: { auth: AuthService; users: UserStore; clock: Clock },
): Promise<void> {
  await app.register(cookie);

  app.get(
    '/api/auth/setup',
    { config: { access: 'public' }, schema: { tags: ['auth'], response: { 200: SetupState } } },
    async () => ({ needed: await auth.isSetupNeeded() }),
  );

  app.post(
    '/api/auth/setup',
    { config: { access: 'public' }, schema: { tags: ['auth'], body: SetupRequest, response: { 201: Session } } },
    async (request, reply) => {
      const result = await auth.setup(request.body, request.ip);
      switch (result.kind) {
        case 'opened':
          return sendSession(request, reply.code(201), result, clock);
        case 'limited':
          throw tooMany(result);
        case 'already_done':
          throw new StationError('setup_already_done', 'This station has an owner already. Log in instead.');
        case 'wrong_code':
          throw new StationError(
            'setup_code_invalid',
            'The set-up code is not right. The station prints it when it starts.',
          );
      }
    },
  );

  app.post(
    '/api/auth/login',
    { config: { access: 'public' }, schema: { tags: ['auth'], body: LoginRequest, response: { 200: Session } } },
    async (request, reply) => {
      const result = await auth.login(request.body.email, request.body.password, request.ip);
      switch (result.kind) {
        case 'opened':
          return sendSession(request, reply, result, clock);
        case 'limited':
          throw tooMany(result);
        case 'wrong_credentials':
          throw new StationError('invalid_credentials', 'The address or the password is not right.');
      }
    },
  );

  app.post(
    '/api/auth/refresh',
    {
      config: { access: 'public' },
      onRequest: refuseForeignOrigin,
      schema: { tags: ['auth'], response: { 200: Session } },
    },
    async (request, reply) => {
      const token = request.cookies[cookieName];
      const result = token === undefined ? null : await auth.refresh(token);
      if (result?.kind === 'opened') return sendSession(request, reply, result, clock);
      void reply.clearCookie(cookieName, { path: cookiePath });
      throw new StationError('session_expired', 'The session has ended. Log in again.');
    },
  );

  app.post(
    '/api/auth/logout',
    {
      config: { access: 'public' },
      onRequest: refuseForeignOrigin,
      schema: { tags: ['auth'], response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const token = request.cookies[cookieName];
      if (token !== undefined) await auth.logout(token);
      return reply.clearCookie(cookieName, { path: cookiePath }).code(204).send(null);
    },
  );

  app.get(
    '/api/auth/me',
    { config: { access: 'user' }, schema: { tags: ['auth'], response: { 200: User } } },
    async (request) => {
      const user = await users.findById(userOf(request).userId);
      if (user === null) throw unauthorized('This user does not exist any more.');
      return toUser(user);
    },
  );

  app.post(
    '/api/auth/password',
    { config: { access: 'user' }, schema: { tags: ['auth'], body: PasswordChange, response: { 204: Type.Null() } } },
    async (request, reply) => {
      const { currentPassword: current, newPassword: next } = request.body;
      const context = { address: request.ip, refreshToken: request.cookies[cookieName] };
      const result = await auth.changePassword(userOf(request).userId, { current, next }, context);
      switch (result.kind) {
        case 'changed':
          return reply.code(204).send(null);
        case 'limited':
          throw tooMany(result);
        case 'wrong_password':
          throw new StationError('invalid_credentials', 'The current password is not right.');
      }
    },
  );
}

function sendSession(request: FastifyRequest, reply: FastifyReply, session: OpenedSession, clock: Clock): FastifyReply {
  const body: SessionBody = {
    accessToken: session.accessToken,
    expiresAt: isoTime(session.accessExpiresAt),
    user: toUser(session.user),
  };
  return reply
    .setCookie(cookieName, session.refreshToken, {
      httpOnly: true,
      sameSite: 'strict',
      path: cookiePath,
      // On the local network there is often no TLS; a Secure cookie would then never come back.
      secure: request.protocol === 'https',
      maxAge: Math.floor((session.refreshExpiresAt - clock.now()) / 1000),
    })
    .send(body);
}

function tooMany({ retryAfterMs }: Limited): StationError {
  const details: RetryDetails = { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) };
  return new StationError('too_many_requests', 'Too many attempts. Wait a while and try again.', { details });
}
