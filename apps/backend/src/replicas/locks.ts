import { sql } from 'kysely';
import { sessionName, storeName } from '../store/postgres.ts';
import type { DatabaseTransaction } from '../store/schema.ts';

/**
 * Advisory locks of a station's database (PostgreSQL documentation, section 13.3.5), all in one class with an arbitrary number. A session
 * lock is released when its connection ends, however the process ends.
 */
export const lockClass = 0x5741_7a11;
/** The replica that leads. */
export const leaderLock = 0;
/** Held in a transaction by the replica that changes the broker's logins. */
export const loginsLock = 1;

/** The lock that a replica holds while it is alive; `$1` is its id. */
export const replicaLock = `(hashtext('replica ' || $1))`;

/** Query: ids of replicas whose broker session is not received: they are dead, or cut off from the broker. */
export const unreceivedReplicas = `
  select replicas.id from replicas where replicas.hears = 0 or not exists (
    select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
      and classid = ${lockClass}
      and objid = (hashtext('replica ' || replicas.id)::bigint & 4294967295)::oid)`;

/**
 * Query: ends all connections of hanging replicas. Each replica queries once a second on its session; without a query for `$1` milliseconds
 * it counts as hanging. Its other connections may hold row locks that block all others. A restarted process of the same name keeps its
 * own connections.
 */
export const endHanging = `
  select pg_terminate_backend(theirs.pid) from pg_stat_activity as session
  join pg_stat_activity as theirs on theirs.pid = session.pid or (theirs.datname = session.datname
    and theirs.application_name = '${storeName}' || substr(session.application_name, ${sessionName.length + 1})
    and theirs.backend_start < session.state_change + interval '5 seconds')
  where session.datname = current_database() and session.pid <> pg_backend_pid()
    and starts_with(session.application_name, '${sessionName}')
    and session.state_change < clock_timestamp() - $1 * interval '1 millisecond'`;

/**
 * Whether the transaction may write decisions of this term's leader. The answer stays valid until the transaction ends: the next leader
 * must write the same row first, and waits for it.
 */
export async function isStillLeader(transaction: DatabaseTransaction, epoch: number | null): Promise<boolean> {
  if (epoch === null) return false;
  const { rows } = await sql<{ epoch: number }>`
    select epoch from leadership where id = 'leader' for share`.execute(transaction);
  return Number(rows[0]?.epoch) === epoch;
}

/** Whether a replica's broker session is not received: messages of a seemingly silent device may wait there. */
export async function isAnyUnreceived(
  transaction: DatabaseTransaction,
  takenOver: readonly string[],
): Promise<boolean> {
  const { rows } = await sql.raw<{ id: string }>(unreceivedReplicas).execute(transaction);
  return rows.some(({ id }) => !takenOver.includes(id));
}
