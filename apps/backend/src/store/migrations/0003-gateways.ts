import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Gateways of other systems, and what they have announced (ADR 82). */
export const gateways: StationMigration = {
  name: '0003-gateways',
  up: async (db) => {
    await sql`create table gateways (
      id text primary key,
      name text not null,
      dialect text not null,
      base_topic text not null unique,
      login text not null unique,
      token_hash text not null,
      created_at bigint not null
    )`.execute(db);
    await sql`create table gateway_devices (
      external_id text primary key,
      gateway_id text not null references gateways (id) on delete cascade,
      name text not null,
      plan text not null,
      was_added integer not null default 0,
      gone_at bigint
    )`.execute(db);
    await sql`create index gateway_devices_gateway on gateway_devices (gateway_id)`.execute(db);
  },
};
