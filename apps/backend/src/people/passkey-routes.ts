import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type Clock, isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import {
  NewPasskey,
  Passkey,
  type Passkey as PasskeyBody,
  PasskeyCreation,
  PasskeyCreationRequest,
  PasskeyList,
  PasskeyLogin,
  PasskeyPatch,
  PasskeyRequest,
} from '@station/protocol/passkeys';
import { Id, Session } from '@station/protocol/rest';
import { refuseForeignOrigin, userOf } from '../http/access.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
import { clientOf, sendSession, tooMany } from './auth-routes.ts';
import type { PasskeyService } from './passkey-service.ts';
import { maxPasskeys, type PasskeyRow } from './passkey-store.ts';
import { type RelyingParty, relyingPartyOf } from './relying-party.ts';

type Parts = { passkeys: PasskeyService; clock: Clock };

/** /api/auth/passkeys: after `registerAuthRoutes`, whose cookie a log-in sets. */
export function registerPasskeyRoutes(app: HttpServer, parts: Parts): void {
  const { passkeys } = parts;
  app.get('/api/auth/passkeys', listRoute, async (request) => ({
    passkeys: (await passkeys.list(userOf(request).userId)).map(toPasskey),
  }));
  app.post('/api/auth/passkeys/options', creationRoute, (request) => makeOptions(parts, request));
  app.post('/api/auth/passkeys', addRoute, (request, reply) => add(parts, request, reply));
  app.patch('/api/auth/passkeys/:id', renameRoute, (request) => rename(parts, request));
  app.delete('/api/auth/passkeys/:id', removeRoute, (request, reply) => remove(parts, request, reply));
  app.post('/api/auth/passkeys/login-options', loginOptionsRoute, async (request) =>
    passkeys.loginOptions(partyOf(request)),
  );
  app.post('/api/auth/passkeys/login', loginRoute, (request, reply) => logIn(parts, request, reply));
}

const tags = ['auth'];
const forAnyone = { access: 'public' } as const;
const forEveryone = { access: 'guest' } as const;
const params = Type.Object({ id: Id });

const listRoute = { config: forEveryone, schema: { tags, response: { 200: PasskeyList } } };

const creationRoute = {
  config: forEveryone,
  schema: { tags, body: PasskeyCreationRequest, response: { 200: PasskeyCreation } },
};

async function makeOptions({ passkeys }: Parts, request: RequestOf<typeof creationRoute>) {
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

const addRoute = { config: forEveryone, schema: { tags, body: NewPasskey, response: { 201: Passkey } } };

async function add({ passkeys }: Parts, request: RequestOf<typeof addRoute>, reply: ReplyOf<typeof addRoute>) {
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

const renameRoute = { config: forEveryone, schema: { tags, params, body: PasskeyPatch, response: { 200: Passkey } } };

async function rename({ passkeys }: Parts, request: RequestOf<typeof renameRoute>) {
  const renamed = await passkeys.rename(userOf(request).userId, request.params.id, request.body.name.trim());
  if (renamed === null) throw noSuchPasskey();
  return toPasskey(renamed);
}

const removeRoute = { config: forEveryone, schema: { tags, params, response: { 204: Type.Null() } } };

async function remove({ passkeys }: Parts, request: RequestOf<typeof removeRoute>, reply: ReplyOf<typeof removeRoute>) {
  if (!(await passkeys.remove(userOf(request).userId, request.params.id))) throw noSuchPasskey();
  return reply.code(204).send(null);
}

const loginOptionsRoute = { config: forAnyone, schema: { tags, response: { 200: PasskeyRequest } } };

const loginRoute = {
  config: forAnyone,
  onRequest: refuseForeignOrigin,
  schema: { tags, body: PasskeyLogin, response: { 200: Session } },
};

async function logIn(
  { passkeys, clock }: Parts,
  request: RequestOf<typeof loginRoute>,
  reply: ReplyOf<typeof loginRoute>,
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

const toPasskey = ({ id, name, rp_id: host, created_at, used_at }: PasskeyRow): PasskeyBody => ({
  id,
  name,
  host,
  createdAt: isoTime(created_at),
  usedAt: used_at === null ? null : isoTime(used_at),
});
