import type { Role } from '@station/protocol/roles';
import { type FindSight, wholeStation } from '../core/sight.ts';
import type { Database, DatabaseTransaction, StoredRole } from './schema.ts';

/** Columns of a left join with `member_limits`: `limited` is null without a row. */
export type Limitation = { limited: string | null; ends_at: number | null };

/** The role of a user with their limits. Who is more than a member has none. */
export function limitedRole({ role, limited, ends_at }: { role: StoredRole } & Limitation): Role {
  if (role !== 'member' || limited === null) return role;
  return ends_at === null ? 'limited' : 'guest';
}

/** Read anew each time: on the next request a change counts, at every replica. */
export const createFindSight =
  (db: Database): FindSight =>
  async ({ userId, role }) => {
    if (role === 'owner' || role === 'admin' || role === 'member') return wholeStation;
    const rows = await db.selectFrom('member_zones').select('zone_id').where('user_id', '=', userId).execute();
    return { zones: new Set(rows.map((row) => row.zone_id)) };
  };

/** `zoneIds` and `endsAt` count for the roles that have them. */
export type Rights = {
  role: 'admin' | 'member' | 'limited' | 'guest';
  zoneIds: readonly string[];
  endsAt: number | null;
};

/** Replaces the limits of a member. */
export async function setLimits(
  transaction: DatabaseTransaction,
  userId: string,
  { role, zoneIds, endsAt }: Rights,
): Promise<void> {
  await transaction.deleteFrom('member_limits').where('user_id', '=', userId).execute();
  if (role !== 'limited' && role !== 'guest') return;
  await transaction.insertInto('member_limits').values({ user_id: userId, ends_at: endsAt }).execute();
  // They are told nothing from now on.
  for (const table of ['notification_queue', 'push_subscriptions'] as const)
    await transaction.deleteFrom(table).where('user_id', '=', userId).execute();
  const rows = zoneIds.map((zoneId) => ({ user_id: userId, zone_id: zoneId }));
  if (rows.length > 0) await transaction.insertInto('member_zones').values(rows).execute();
}
