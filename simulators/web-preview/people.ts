import type { FastifyInstance } from 'fastify';
import type { Status } from '@station/protocol/agent-api';
import type { DeviceWifi, Member, MemberPatch, NewMember, Station, User } from '@station/protocol/rest';
import { zones } from './devices.ts';
import { ago } from './scenes.ts';

/** The number of people, and whether they and the settings can be read. */
export const peopleMoods = ['some', 'alone', 'fault', 'loading'] as const;
export type PeopleMood = (typeof peopleMoods)[number];

const day = 24 * 3_600_000;
const id = (number: number): string => `019a9d2f-0000-7000-8000-00000000000${number}`;
const failure = { statusCode: 500, error: 'Error', code: 'internal', message: '' };

const whole = { zoneIds: null, endsAt: null };

const others = (): Member[] => [
  {
    userId: id(2),
    email: 'andrii@example.org',
    name: 'Andrii Shevchenko',
    role: 'admin',
    ...whole,
    joinedAt: ago(90 * day),
    isFromCloud: true,
  },
  {
    userId: id(3),
    email: 'maria.with.a.long.address@example.org',
    name: 'Maria',
    role: 'limited',
    zoneIds: zones()
      .slice(0, 2)
      .map((zone) => zone.id),
    endsAt: null,
    joinedAt: ago(12 * day),
    isFromCloud: true,
  },
  {
    userId: id(4),
    email: 'taras@example.org',
    name: 'Taras',
    role: 'guest',
    zoneIds: zones()
      .slice(0, 1)
      .map((zone) => zone.id),
    endsAt: ago(-day),
    joinedAt: ago(2 * day),
    isFromCloud: false,
  },
];

/** The routes of members, of the station's own settings and of the Wi-Fi for new devices. */
export function addMembersAndSettings(
  app: FastifyInstance,
  facts: () => { user: User; status: Status },
): { setMood(mood: PeopleMood): void } {
  let mood: PeopleMood = 'some';
  let members = others();
  let settings: Pick<Station, 'name' | 'timeZone' | 'place'> = {
    name: 'Kyiv flat',
    timeZone: 'Europe/Kyiv',
    place: { latitude: 50.45, longitude: 30.52 },
  };
  let wifi: DeviceWifi = { ssid: 'Kyiv flat 2.4', isOpen: false, updatedAt: ago(3 * day) };
  const station = (): Station => {
    const { user, status } = facts();
    return { id: status.stationId, ...settings, ownerId: user.id, version: status.currentVersion ?? '0.0.0' };
  };
  /** The viewer is the owner or replaces the person with that role. */
  const all = (): Member[] => {
    const { id: userId, email, name, role } = facts().user;
    const own: Member = { userId, email, name, role, ...whole, joinedAt: ago(200 * day), isFromCloud: false };
    if (mood === 'alone') return [own];
    if (role === 'owner') return [own, ...members];
    const owner: Member = {
      userId: id(9),
      email: 'ivan@example.org',
      name: 'Ivan',
      role: 'owner',
      ...whole,
      joinedAt: ago(300 * day),
      isFromCloud: false,
    };
    return [owner, own, ...members];
  };
  const slowly = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 60_000));

  app.get('/api/station', async () => station());
  app.patch<{ Body: Partial<typeof settings> }>('/api/station', (request) => {
    settings = { ...settings, ...request.body };
    return station();
  });
  app.get('/api/station/members', async (_request, reply) => {
    if (mood === 'loading') await slowly();
    return mood === 'fault' ? reply.code(500).send(failure) : all();
  });
  app.post<{ Body: NewMember }>('/api/station/members', async (request, reply) => {
    const { email, name, role, zoneIds = null, endsAt = null } = request.body;
    if (all().some((member) => member.email === email))
      return reply.code(409).send({ ...failure, statusCode: 409, code: 'conflict' });
    const member: Member = {
      userId: id(members.length + 5),
      email,
      name,
      role,
      zoneIds,
      endsAt,
      joinedAt: ago(0),
      isFromCloud: false,
    };
    members = [...members, member];
    mood = 'some';
    return reply.code(201).send({ ...member, firstPassword: 'BCDF-2345-GHJK-LMNP' });
  });
  app.patch<{ Params: { id: string }; Body: MemberPatch }>('/api/station/members/:id', (request) => {
    const rights = { ...whole, ...request.body };
    members = members.map((one) => (one.userId === request.params.id ? { ...one, ...rights } : one));
    return members.find((one) => one.userId === request.params.id);
  });
  app.delete<{ Params: { id: string } }>('/api/station/members/:id', async (request, reply) => {
    members = members.filter((one) => one.userId !== request.params.id);
    return reply.code(204).send();
  });
  app.post('/api/station/members/:id/password', () => ({ password: 'QRST-6789-VWXZ-BCDF' }));
  app.post<{ Body: { currentPassword: string } }>('/api/auth/password', async (request, reply) =>
    request.body.currentPassword === 'right password'
      ? reply.code(204).send()
      : reply.code(401).send({ ...failure, statusCode: 401, code: 'invalid_credentials' }),
  );
  app.get('/api/settings/wifi', async (_request, reply) => {
    if (mood === 'loading') await slowly();
    return mood === 'fault' ? reply.code(500).send(failure) : wifi;
  });
  app.put<{ Body: { ssid: string; password: string } }>('/api/settings/wifi', (request) => {
    wifi = { ssid: request.body.ssid, isOpen: request.body.password === '', updatedAt: ago(0) };
    return wifi;
  });
  app.delete('/api/settings/wifi', async (_request, reply) => {
    wifi = { ssid: null, isOpen: false, updatedAt: null };
    return reply.code(204).send();
  });

  return {
    setMood: (next) => {
      mood = next;
      members = others();
      wifi =
        next === 'alone'
          ? { ssid: null, isOpen: false, updatedAt: null }
          : { ssid: 'Kyiv flat 2.4', isOpen: false, updatedAt: ago(3 * day) };
    },
  };
}
