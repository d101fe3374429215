/**
 * Advisory locks of a station's database (PostgreSQL documentation, section 13.3.5), all in one class: the number is our own choice. Held by
 * a session they go when its connection does, however the process ends.
 */
export const lockClass = 0x5741_7a11;
/** The replica that leads. */
export const leaderLock = 0;
/** Held within a transaction by the replica that looks after the broker's logins. */
export const loginsLock = 1;

/** The lock that a replica holds while it lives; `$1` is its id. */
export const replicaLock = `(hashtext('replica ' || $1))`;

/** Query: ids of replicas whose broker session nobody hears: they are gone, or cut off from the broker. */
export const unheardReplicas = `
  select replicas.id from replicas where replicas.hears = 0 or not exists (
    select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
      and classid = ${lockClass}
      and objid = (hashtext('replica ' || replicas.id)::bigint & 4294967295)::oid)`;
