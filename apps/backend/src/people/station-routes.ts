import { Type } from 'typebox';
import {
  AddedMember,
  Id,
  MadePassword,
  Member,
  MemberPatch,
  Members,
  NewMember,
  Station,
  StationPatch,
  type Station as StationBody,
} from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';
import type { MemberService } from './member-service.ts';
import type { StationStore } from '../store/station-store.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';

const UserParams = Type.Object({ userId: Id });

/** /api/station and /api/station/members (contracts, section 9). */
export async function registerStationRoutes(
  app: HttpServer,
  { station, members, version }: { station: StationStore; members: MemberService; version: string },
): Promise<void> {
  const readStation = async (): Promise<StationBody> => {
    const { station_id: id, name, time_zone: timeZone, owner_id: ownerId } = await station.read();
    return { id, name, timeZone, ownerId, version };
  };

  app.get(
    '/api/station',
    { config: { access: 'user' }, schema: { tags: ['station'], response: { 200: Station } } },
    readStation,
  );

  app.patch(
    '/api/station',
    {
      config: { access: { station: 'admin' } },
      schema: { tags: ['station'], body: StationPatch, response: { 200: Station } },
    },
    async (request) => {
      const { timeZone } = request.body;
      if (timeZone !== undefined && !isTimeZone(timeZone)) {
        throw new StationError(
          'bad_request',
          'The time zone is not known. It must be an IANA name such as Europe/Kyiv.',
        );
      }
      await station.change(request.body);
      return readStation();
    },
  );

  app.get(
    '/api/station/members',
    { config: { access: 'user' }, schema: { tags: ['station'], response: { 200: Members } } },
    () => members.list(),
  );

  app.post(
    '/api/station/members',
    {
      config: { access: { station: 'admin' } },
      schema: { tags: ['station'], body: NewMember, response: { 201: AddedMember } },
    },
    async (request, reply) => {
      const by = { role: await station.roleOf(userOf(request).userId) };
      const result = await members.add(request.body, by);
      switch (result.kind) {
        case 'added':
          return reply.code(201).send(result.member);
        case 'exists':
          throw new StationError('conflict', 'Someone with this address is a member already.');
        case 'needs_owner':
          throw new StationError('forbidden', 'Only the owner decides who is an admin.');
      }
    },
  );

  app.patch(
    '/api/station/members/:userId',
    {
      config: { access: { station: 'owner' } },
      schema: { tags: ['station'], params: UserParams, body: MemberPatch, response: { 200: Member } },
    },
    async (request) => {
      const result = await members.changeRole(request.params.userId, request.body.role);
      switch (result.kind) {
        case 'changed':
          return result.member;
        case 'unknown':
          throw noSuchMember();
        case 'is_owner':
          throw ownerStays();
      }
    },
  );

  app.delete(
    '/api/station/members/:userId',
    {
      config: { access: { station: 'admin' } },
      schema: { tags: ['station'], params: UserParams, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const by = { role: await station.roleOf(userOf(request).userId) };
      const result = await members.remove(request.params.userId, by);
      switch (result.kind) {
        case 'removed':
          return reply.code(204).send(null);
        case 'unknown':
          throw noSuchMember();
        case 'is_owner':
          throw ownerStays();
        case 'needs_owner':
          throw needsOwner();
      }
    },
  );

  app.post(
    '/api/station/members/:userId/password',
    {
      config: { access: { station: 'admin' } },
      schema: { tags: ['station'], params: UserParams, response: { 200: MadePassword } },
    },
    async (request, reply) => {
      const by = { role: await station.roleOf(userOf(request).userId) };
      const result = await members.makePassword(request.params.userId, by);
      switch (result.kind) {
        case 'made':
          return reply.header('cache-control', 'no-store').send({ password: result.password });
        case 'unknown':
          throw noSuchMember();
        case 'is_owner':
          throw ownerStays();
        case 'needs_owner':
          throw needsOwner();
      }
    },
  );
}

const noSuchMember = (): StationError => new StationError('not_found', 'There is no such member.');
const needsOwner = (): StationError => new StationError('forbidden', 'Only the owner can do this to an admin.');
const ownerStays = (): StationError => new StationError('conflict', 'The owner of the station cannot be changed here.');

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
