import type { FastifyRequest } from 'fastify';
import { type Clock, isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { Passkey } from '@station/protocol/passkeys';
import { refuseForeignOrigin, userOf } from '../http/access.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { clientOf, sendSession, tooMany } from './auth-routes.ts';
import type { PasskeyService } from './passkey-service.ts';
import { maxPasskeys, type PasskeyRow } from './passkey-store.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';

type Parts = { passkeys: PasskeyService; clock: Clock };

/** /api/auth/passkeys: after `registerAuthRoutes`, whose cookie a log-in sets. */
export function registerPasskeyRoutes(app: HttpServer, parts: Parts): void {
  const { passkeys } = parts;
  serve(app, 'GET /api/auth/passkeys', async (request) => ({
    passkeys: (await passkeys.list(userOf(request).userId)).map(toPasskey),
  }));
  serve(app, 'POST /api/auth/passkeys/options', (request) => makeOptions(parts, request));
  serve(app, 'POST /api/auth/passkeys', (request, reply) => add(parts, request, reply));
  serve(app, 'PATCH /api/auth/passkeys/:id', (request) => rename(parts, request));
  serve(app, 'DELETE /api/auth/passkeys/:id', (request, reply) => remove(parts, request, reply));
  serve(app, 'POST /api/auth/passkeys/login-options', async (request) => passkeys.loginOptions(partyOf(request)));
  serve(app, 'POST /api/auth/passkeys/login', (request, reply) => logIn(parts, request, reply), {
    onRequest: refuseForeignOrigin,
  });
}

async function makeOptions({ passkeys }: Parts, request: RequestOf<'POST /api/auth/passkeys/options'>) {
  const place = { party: partyOf(request), client: clientOf(request) };
  const result = await passkeys.creationOptions(userOf(request).userId, request.body.currentPassword, place);
  switch (result.kind) {
    case 'made':
      return result.options;
    case 'limited':
      throw tooMany(result);
    case 'wrong_password':
      throw new StationError('invalid_credentials', 'The current password is not right.');
    case 'full':
      throw tooManyPasskeys();
  }
}

async function add(
  { passkeys }: Parts,
  request: RequestOf<'POST /api/auth/passkeys'>,
  reply: ReplyOf<'POST /api/auth/passkeys'>,
) {
  const result = await passkeys.add(userOf(request).userId, request.body, partyOf(request));
  switch (result.kind) {
    case 'added':
      return reply.code(201).send(toPasskey(result.passkey));
    case 'known':
      throw new StationError('conflict', 'This passkey is known already.');
    case 'full':
      throw tooManyPasskeys();
    case 'invalid':
      throw new StationError('passkey_invalid', 'The passkey was not made for this station, or too late. Try again.');
  }
}

async function rename({ passkeys }: Parts, request: RequestOf<'PATCH /api/auth/passkeys/:id'>) {
  const renamed = await passkeys.rename(userOf(request).userId, request.params.id, request.body.name.trim());
  if (renamed === null) throw noSuchPasskey();
  return toPasskey(renamed);
}

async function remove(
  { passkeys }: Parts,
  request: RequestOf<'DELETE /api/auth/passkeys/:id'>,
  reply: ReplyOf<'DELETE /api/auth/passkeys/:id'>,
) {
  if (!(await passkeys.remove(userOf(request).userId, request.params.id))) throw noSuchPasskey();
  return reply.code(204).send(null);
}

async function logIn(
  { passkeys, clock }: Parts,
  request: RequestOf<'POST /api/auth/passkeys/login'>,
  reply: ReplyOf<'POST /api/auth/passkeys/login'>,
) {
  const place = { party: partyOf(request), client: clientOf(request) };
  const result = await passkeys.logIn(request.body, place);
  switch (result.kind) {
    case 'opened':
      return sendSession(request, reply, result, clock);
    case 'limited':
      throw tooMany(result);
    case 'unknown':
      throw new StationError('passkey_unknown', 'The station does not accept this passkey. Log in with the password.');
  }
}

function partyOf(request: FastifyRequest): RelyingParty {
  const party = relyingPartyOf(request);
  if (party !== null) return party;
  throw new StationError(
    'passkeys_unavailable',
    'Passkeys need the encrypted page under the name of the station, not under an address.',
  );
}

const noSuchPasskey = (): StationError => new StationError('not_found', 'There is no such passkey.');
const tooManyPasskeys = (): StationError =>
  new StationError('conflict', `A user has at most ${maxPasskeys} passkeys. Remove one that is not used.`);

const toPasskey = ({ id, name, rp_id: host, created_at, used_at }: PasskeyRow): Passkey => ({
  id,
  name,
  host,
  createdAt: isoTime(created_at),
  usedAt: used_at === null ? null : isoTime(used_at),
});
