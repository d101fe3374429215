import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Other systems that see the station's devices, and what the broker keeps for them (ADR 83). */
export const consumers: StationMigration = {
  name: '0004-consumers',
  up: async (db) => {
    await sql`create table consumers (
      kind text primary key,
      topic text not null unique,
      login text not null unique,
      token_hash text not null,
      created_at bigint not null
    )`.execute(db);
    await sql`create table consumer_topics (
      kind text not null references consumers (kind) on delete cascade,
      topic text not null,
      parts text not null default '{}',
      primary key (kind, topic)
    )`.execute(db);
  },
};
