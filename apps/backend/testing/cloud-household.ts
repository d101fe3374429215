import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { CloudMember } from '@station/protocol/cloud-messages';
import { createSessions } from '../src/people/sessions.ts';
import { createCloudConfigStore } from '../src/cloud/cloud-config-store.ts';
import { createIdentity, type IdentityMessage } from '../src/cloud/identity.ts';
import type { StoredRole } from '../src/store/schema.ts';
import { openSecretBox } from '../src/store/secret-box.ts';
import { ensureStation } from '../src/store/station-store.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { openTestStore } from './test-store.ts';

/** The people of a station in its database, and identity messages of the cloud. */
export async function openHousehold() {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const store = opened.use(await openTestStore());
  const { db } = store;
  await ensureStation(db, { stationId: null, generateId: () => 'station', timeZone: 'UTC', clock: systemClock });
  const identity = createIdentity({ db, clock: systemClock });
  const people = async () => {
    const station = await db.selectFrom('station').selectAll().executeTakeFirstOrThrow();
    const members = new Map(
      (await db.selectFrom('station_members').selectAll().execute()).map((row) => [row.user_id, row.role]),
    );
    const users = await db.selectFrom('users').selectAll().orderBy('email').execute();
    return users.map(({ id, email, role, cloud_user_id: cloudId }) => {
      const here = id === station.owner_id ? 'owner' : (members.get(id) ?? 'nobody');
      return `${email} ${role} ${here} ${cloudId ?? '-'}`;
    });
  };
  const local = async (email: string, role: StoredRole): Promise<string> => {
    const values = {
      id: email,
      email,
      name: email,
      role,
      station_password_hash: 'local',
      cloud_user_id: null,
      created_at: 1,
    };
    await db.insertInto('users').values(values).execute();
    if (role === 'owner') await db.updateTable('station').set({ owner_id: email }).execute();
    else await db.insertInto('station_members').values({ user_id: email, role, joined_at: 1 }).execute();
    return email;
  };
  const apply = (message: IdentityMessage) => identity.apply(message);
  const sessions = createSessions({ db, key: Buffer.alloc(32), clock: systemClock });
  const logins = async () => {
    const users = await db.selectFrom('users').selectAll().orderBy('email').execute();
    return users.map(({ email, station_password_hash: hash }) => `${email} ${hash}`);
  };
  const box = await openSecretBox({ disk: nodeDisk, path: join(folder.path, 'key') });
  const config = createCloudConfigStore({ db, box, clock: systemClock });
  const all = opened.move();
  return { db, apply, people, logins, local, sessions, config, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** What people use. */
export const phone = { address: '192.0.2.7', userAgent: null, device: null };

export const person = (id: string, role: CloudMember['role'] = 'member', email = `${id}@example.org`): CloudMember => ({
  cloudUserId: id,
  email,
  name: id,
  role,
});
export const sync = (ownerId: string, ...members: CloudMember[]): IdentityMessage => ({
  type: 'identity_sync',
  station: { name: 'Home' },
  ownerId,
  members,
});
