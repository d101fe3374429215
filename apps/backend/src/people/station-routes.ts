import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  AddedMember,
  Id,
  MadePassword,
  Member,
  MemberPatch,
  Members,
  NewMember,
  PageQuery,
  Station,
  StationPatch,
  type Station as StationBody,
} from '@station/protocol/rest';
import type { Role } from '@station/protocol/roles';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { StationEvents } from '../core/station-events.ts';
import { RequestInvalidError } from '@station/kit/validation';
import type { MemberService, Refused } from './member-service.ts';
import { isTimeZone, placeOf, type StationStore } from '../store/station-store.ts';
import { sightOf, userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
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
  app.get('/api/station', stationRoute, (request) => getStation(parts, request));
  app.patch('/api/station', changeStationRoute, (request) => changeStation(parts, request));
  app.get('/api/station/members', membersRoute, async (request, reply) =>
    pageOf({ request, reply }, await parts.members.list(), ({ userId }) => userId),
  );
  app.post('/api/station/members', addMemberRoute, (request, reply) => addMember(parts, request, reply));
  app.patch('/api/station/members/:userId', changeRightsRoute, (request) => changeRights(parts, request));
  app.delete('/api/station/members/:userId', removeMemberRoute, (request, reply) =>
    removeMember(parts, request, reply),
  );
  app.post('/api/station/members/:userId/password', makePasswordRoute, (request, reply) =>
    makePassword(parts, request, reply),
  );
}

const tags = ['station'];
const UserParams = Type.Object({ userId: Id });
const forUsers = { access: 'user' } as const;
const forAdmins = { access: { station: 'admin' } } as const;
const forGuests = { access: 'guest' } as const;

const stationRoute = { config: forGuests, schema: { tags, response: { 200: Station } } };

/** Somebody who sees a part of the station learns neither its place nor who owns it. */
async function getStation(parts: Parts, request: RequestOf<typeof stationRoute>): Promise<StationBody> {
  const station = await readStation(parts);
  return sightOf(request).zones === null ? station : { ...station, place: null, ownerId: null };
}

async function readStation({ station, version }: Parts): Promise<StationBody> {
  const row = await station.read();
  const { station_id: id, name, time_zone: timeZone, owner_id: ownerId } = row;
  return { id, name, timeZone, place: placeOf(row), ownerId, version };
}

const changeStationRoute = { config: forAdmins, schema: { tags, body: StationPatch, response: { 200: Station } } };

async function changeStation(parts: Parts, request: RequestOf<typeof changeStationRoute>): Promise<StationBody> {
  const { timeZone } = request.body;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new StationError('bad_request', 'The time zone is not known. It must be an IANA name such as Europe/Kyiv.');
  }
  await parts.station.change(request.body);
  await parts.onChanged();
  return readStation(parts);
}

const membersRoute = { config: forUsers, schema: { tags, querystring: PageQuery, response: { 200: Members } } };

const addMemberRoute = { config: forAdmins, schema: { tags, body: NewMember, response: { 201: AddedMember } } };

async function addMember(
  parts: Parts,
  request: RequestOf<typeof addMemberRoute>,
  reply: ReplyOf<typeof addMemberRoute>,
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

const changeRightsRoute = {
  config: forAdmins,
  schema: { tags, params: UserParams, body: MemberPatch, response: { 200: Member } },
};

async function changeRights(parts: Parts, request: RequestOf<typeof changeRightsRoute>) {
  const rights = rightsOf(parts, request.body);
  const result = await parts.members.changeRights(request.params.userId, rights, await callerOf(parts, request));
  if (result.kind === 'no_such_zone') throw invalid('/zoneIds', 'must be ids of zones');
  if (result.kind !== 'changed') throw errorOf(result);
  const { userId, name, role } = result.member;
  parts.events.note('role_changed', { userId, name, role }, { userId: userOf(request).userId });
  return result.member;
}

const removeMemberRoute = { config: forAdmins, schema: { tags, params: UserParams, response: { 204: Type.Null() } } };

async function removeMember(
  parts: Parts,
  request: RequestOf<typeof removeMemberRoute>,
  reply: ReplyOf<typeof removeMemberRoute>,
) {
  const result = await parts.members.remove(request.params.userId, await callerOf(parts, request));
  if (result.kind !== 'removed') throw errorOf(result);
  const { userId, name } = result.member;
  parts.events.note('member_removed', { userId, name }, { userId: userOf(request).userId });
  return reply.code(204).send(null);
}

const makePasswordRoute = { config: forAdmins, schema: { tags, params: UserParams, response: { 200: MadePassword } } };

async function makePassword(
  parts: Parts,
  request: RequestOf<typeof makePasswordRoute>,
  reply: ReplyOf<typeof makePasswordRoute>,
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
