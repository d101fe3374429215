import { argon2Sync, randomBytes } from 'node:crypto';
import type { CloudMember, IdentitySync } from '@station/protocol/cloud-messages';
import type { Database } from '../../../apps/backend/src/store/schema.ts';
import type { IdentityMessage } from '../../../apps/backend/src/cloud/identity.ts';
import type { CloudConnection, ReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';

/** The members of a station in the cloud's records. */
export type Household = {
  /** The whole list, which the station gets after each login. */
  list(): IdentitySync;
  /** Changes it, and sends the change to the station if the cloud sees a connection. */
  change(message: IdentityMessage): void;
  /** Resolves when the station has applied all earlier messages, on any connection. */
  settled(): Promise<void>;
};

/** Makes a cloud send each change of the members immediately, and the whole list after each login. */
export function createHousehold(cloud: ReferenceCloud, first: Omit<IdentitySync, 'type'>): Household {
  let { station, ownerId } = first;
  let members = new Map(first.members.map((member) => [member.cloudUserId, member]));
  let link: CloudConnection | null = null;
  let loggedIn = Promise.withResolvers<void>();

  const list = (): IdentitySync => ({ type: 'identity_sync', station, ownerId, members: [...members.values()] });
  const set = (member: CloudMember): void => {
    members.set(member.cloudUserId, { ...members.get(member.cloudUserId), ...member });
  };
  const apply = (message: IdentityMessage): void => {
    switch (message.type) {
      case 'identity_sync':
        ({ station, ownerId } = message);
        members = new Map(message.members.map((member) => [member.cloudUserId, member]));
        return;
      case 'station_renamed':
        station = { name: message.name };
        return;
      case 'member_added':
      case 'member_updated':
        return set(message.member);
      case 'member_removed':
        members.delete(message.cloudUserId);
        return;
      case 'station_password_changed': {
        const { cloudUserId, stationPasswordHash } = message;
        return set({ ...members.get(cloudUserId)!, stationPasswordHash });
      }
    }
  };
  cloud.options.onAuthenticated = (connection) => {
    link = connection;
    connection.send(list());
    loggedIn.resolve();
    loggedIn = Promise.withResolvers();
  };
  return {
    list,
    change: (message) => {
      apply(message);
      link?.send(message);
    },
    settled: async () => {
      const params = { channels: ['system'] };
      for (let isSettled = false; !isSettled;) {
        const connection = await cloud.connection();
        // The station answers after it has applied earlier messages. A dead connection never answers; a new login follows.
        const answer = connection.call('station.setActiveChannels', params).then(
          () => true,
          () => false,
        );
        isSettled = await Promise.race([answer, loggedIn.promise.then(() => false)]);
      }
    },
  };
}

export type Person = { cloudUserId: string | null; email: string; name: string; role: string; hash: string | null };

/** All members in the station's records, by address, with their role. */
export async function peopleAtHome(db: Database): Promise<{ station: string; people: Person[] }> {
  const { name: station, owner_id: ownerId } = await db.selectFrom('station').selectAll().executeTakeFirstOrThrow();
  const rows = await db
    .selectFrom('users')
    .leftJoin('station_members', 'station_members.user_id', 'users.id')
    .select(['id', 'email', 'name', 'users.role as role', 'station_members.role as roleHere'])
    .select(['cloud_user_id as cloudUserId', 'station_password_hash as hash'])
    .orderBy('email')
    .execute();
  const people = rows.map(({ id, roleHere, role, ...person }) => {
    const here = id === ownerId ? 'owner' : (roleHere ?? 'nobody');
    return { ...person, role: here === role ? role : `${role}, here ${here}` };
  });
  return { station, people };
}

/** The same in the cloud's records: a former owner is an admin. */
export function peopleInCloud({ station, ownerId, members }: IdentitySync): { station: string; people: Person[] } {
  const people = members.map(({ cloudUserId, email, name, role, stationPasswordHash: hash = null }) => {
    const here = cloudUserId === ownerId ? 'owner' : role === 'owner' ? 'admin' : role;
    return { cloudUserId, email, name, role: here, hash };
  });
  return { station: station.name, people: people.sort((a, b) => (a.email < b.email ? -1 : 1)) };
}

/** A password hash of the lowest cost, because a test logs in a hundred times. */
export function hashOf(message: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync('argon2id', { message, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${hash}`;
}
