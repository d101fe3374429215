import type { FastifyRequest } from 'fastify';
import type { MemberPatch, Station } from '@station/protocol/rest';
import type { Role } from '@station/protocol/roles';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { StationEvents } from '../core/station-events.ts';
import { RequestInvalidError } from '@station/kit/validation';
import type { MemberService, Refused } from './member-service.ts';
import { isTimeZone, placeOf, type StationStore } from '../store/station-store.ts';
import { sightOf, userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { Rights } from '../store/member-limits.ts';

type Parts = {
  station: StationStore;
  members: MemberService;
  events: StationEvents;
  version: string;
  onChanged: () => Promise<void>;
  clock: Clock;
};

/** /api/station and /api/station/members (contracts, section 9). */
export async function registerStationRoutes(app: HttpServer, parts: Parts): Promise<void> {
  serve(app, 'GET /api/station', (request) => getStation(parts, request));
  serve(app, 'PATCH /api/station', (request) => changeStation(parts, request));
  serve(app, 'GET /api/station/members', async (request, reply) =>
    pageOf({ request, reply }, await parts.members.list(), ({ userId }) => userId),
  );
  serve(app, 'POST /api/station/members', (request, reply) => addMember(parts, request, reply));
  serve(app, 'PATCH /api/station/members/:userId', (request) => changeRights(parts, request));
  serve(app, 'DELETE /api/station/members/:userId', (request, reply) => removeMember(parts, request, reply));
  serve(app, 'POST /api/station/members/:userId/password', (request, reply) => makePassword(parts, request, reply));
}

/** Somebody who sees a part of the station learns neither its place nor who owns it. */
async function getStation(parts: Parts, request: RequestOf<'GET /api/station'>): Promise<Station> {
  const station = await readStation(parts);
  return sightOf(request).zones === null ? station : { ...station, place: null, ownerId: null };
}

async function readStation({ station, version }: Parts): Promise<Station> {
  const row = await station.read();
  const { station_id: id, name, time_zone: timeZone, owner_id: ownerId } = row;
  return { id, name, timeZone, place: placeOf(row), ownerId, version };
}

async function changeStation(parts: Parts, request: RequestOf<'PATCH /api/station'>): Promise<Station> {
  const { timeZone } = request.body;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new StationError('bad_request', 'The time zone is not known. It must be an IANA name such as Europe/Kyiv.');
  }
  await parts.station.change(request.body);
  await parts.onChanged();
  return readStation(parts);
}

async function addMember(
  parts: Parts,
  request: RequestOf<'POST /api/station/members'>,
  reply: ReplyOf<'POST /api/station/members'>,
) {
  const rights = rightsOf(parts, request.body);
  const result = await parts.members.add(request.body, rights, await callerOf(parts, request));
  switch (result.kind) {
    case 'added': {
      const { userId, name, role } = result.member;
      parts.events.note('member_added', { userId, name, role }, { userId: userOf(request).userId });
      return reply.code(201).send(result.member);
    }
    case 'exists':
      throw new StationError('conflict', 'Someone with this address is a member already.');
    case 'needs_owner':
      throw new StationError('forbidden', 'Only the owner decides who is an admin.');
    case 'no_such_zone':
      throw invalid('/zoneIds', 'must be ids of zones');
  }
}

/** @throws RequestInvalidError when zones and end do not belong to the role. */
function rightsOf({ clock }: Parts, { role, zoneIds, endsAt }: MemberPatch): Rights {
  const needsZones = role === 'limited' || role === 'guest';
  if (needsZones !== (zoneIds !== undefined))
    throw invalid('/zoneIds', needsZones ? 'is needed for this role' : 'is not for this role');
  if ((role === 'guest') !== (endsAt !== undefined))
    throw invalid('/endsAt', role === 'guest' ? 'is needed for this role' : 'is not for this role');
  const endsMs = endsAt === undefined ? null : Date.parse(endsAt);
  if (endsMs !== null && !(endsMs > clock.now())) throw invalid('/endsAt', 'must be a time in the future');
  return { role, zoneIds: zoneIds ?? [], endsAt: endsMs };
}

const invalid = (pointer: string, message: string): RequestInvalidError =>
  new RequestInvalidError([{ in: 'body', pointer, message }]);

async function changeRights(parts: Parts, request: RequestOf<'PATCH /api/station/members/:userId'>) {
  const rights = rightsOf(parts, request.body);
  const result = await parts.members.changeRights(request.params.userId, rights, await callerOf(parts, request));
  if (result.kind === 'no_such_zone') throw invalid('/zoneIds', 'must be ids of zones');
  if (result.kind !== 'changed') throw errorOf(result);
  const { userId, name, role } = result.member;
  parts.events.note('role_changed', { userId, name, role }, { userId: userOf(request).userId });
  return result.member;
}

async function removeMember(
  parts: Parts,
  request: RequestOf<'DELETE /api/station/members/:userId'>,
  reply: ReplyOf<'DELETE /api/station/members/:userId'>,
) {
  const result = await parts.members.remove(request.params.userId, await callerOf(parts, request));
  if (result.kind !== 'removed') throw errorOf(result);
  const { userId, name } = result.member;
  parts.events.note('member_removed', { userId, name }, { userId: userOf(request).userId });
  return reply.code(204).send(null);
}

async function makePassword(
  parts: Parts,
  request: RequestOf<'POST /api/station/members/:userId/password'>,
  reply: ReplyOf<'POST /api/station/members/:userId/password'>,
) {
  const result = await parts.members.makePassword(request.params.userId, await callerOf(parts, request));
  if (result.kind !== 'made') throw errorOf(result);
  return reply.header('cache-control', 'no-store').send({ password: result.password });
}

const callerOf = async ({ station }: Parts, request: FastifyRequest): Promise<{ role: Role | null }> => ({
  role: await station.roleOf(userOf(request).userId),
});

function errorOf({ kind }: Refused): StationError {
  switch (kind) {
    case 'unknown':
      return noSuchMember();
    case 'is_owner':
      return ownerIsFixed();
    case 'needs_owner':
      return new StationError('forbidden', 'Only the owner can do this to an admin.');
  }
}

const noSuchMember = (): StationError => new StationError('not_found', 'There is no such member.');
const ownerIsFixed = (): StationError =>
  new StationError('conflict', 'The owner of the station cannot be changed here.');
