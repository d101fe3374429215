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
  type Role,
  Station,
  StationPatch,
  type Station as StationBody,
} from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';
import type { MemberService, Refused } from './member-service.ts';
import type { StationStore } from '../store/station-store.ts';
import { userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';

type Parts = { station: StationStore; members: MemberService; version: string };

/** /api/station and /api/station/members (contracts, section 9). */
export async function registerStationRoutes(app: HttpServer, parts: Parts): Promise<void> {
  app.get('/api/station', stationRoute, () => readStation(parts));
  app.patch('/api/station', changeStationRoute, (request) => changeStation(parts, request));
  app.get('/api/station/members', membersRoute, async (request, reply) =>
    pageOf({ request, reply }, await parts.members.list(), ({ userId }) => userId),
  );
  app.post('/api/station/members', addMemberRoute, (request, reply) => addMember(parts, request, reply));
  app.patch('/api/station/members/:userId', changeRoleRoute, (request) => changeRole(parts, request));
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
const forOwner = { access: { station: 'owner' } } as const;

const stationRoute = { config: forUsers, schema: { tags, response: { 200: Station } } };

async function readStation({ station, version }: Parts): Promise<StationBody> {
  const { station_id: id, name, time_zone: timeZone, owner_id: ownerId } = await station.read();
  return { id, name, timeZone, ownerId, version };
}

const changeStationRoute = { config: forAdmins, schema: { tags, body: StationPatch, response: { 200: Station } } };

async function changeStation(parts: Parts, request: RequestOf<typeof changeStationRoute>): Promise<StationBody> {
  const { timeZone } = request.body;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new StationError('bad_request', 'The time zone is not known. It must be an IANA name such as Europe/Kyiv.');
  }
  await parts.station.change(request.body);
  return readStation(parts);
}

const membersRoute = { config: forUsers, schema: { tags, querystring: PageQuery, response: { 200: Members } } };

const addMemberRoute = { config: forAdmins, schema: { tags, body: NewMember, response: { 201: AddedMember } } };

async function addMember(
  parts: Parts,
  request: RequestOf<typeof addMemberRoute>,
  reply: ReplyOf<typeof addMemberRoute>,
) {
  const result = await parts.members.add(request.body, await callerOf(parts, request));
  switch (result.kind) {
    case 'added':
      return reply.code(201).send(result.member);
    case 'exists':
      throw new StationError('conflict', 'Someone with this address is a member already.');
    case 'needs_owner':
      throw new StationError('forbidden', 'Only the owner decides who is an admin.');
  }
}

const changeRoleRoute = {
  config: forOwner,
  schema: { tags, params: UserParams, body: MemberPatch, response: { 200: Member } },
};

async function changeRole({ members }: Parts, request: RequestOf<typeof changeRoleRoute>) {
  const result = await members.changeRole(request.params.userId, request.body.role);
  switch (result.kind) {
    case 'changed':
      return result.member;
    case 'unknown':
      throw noSuchMember();
    case 'is_owner':
      throw ownerIsFixed();
  }
}

const removeMemberRoute = { config: forAdmins, schema: { tags, params: UserParams, response: { 204: Type.Null() } } };

async function removeMember(
  parts: Parts,
  request: RequestOf<typeof removeMemberRoute>,
  reply: ReplyOf<typeof removeMemberRoute>,
) {
  const result = await parts.members.remove(request.params.userId, await callerOf(parts, request));
  if (result.kind !== 'removed') throw errorOf(result);
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

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
