import type { Generated } from 'kysely';

declare module '../store/schema.ts' {
  interface Schema {
    cloud_config: CloudConfigTable;
    cloud_outbox: CloudOutboxTable;
    cloud_dead_letters: CloudDeadLettersTable;
    cloud_commands: CloudCommandsTable;
  }
}

/** One row; none while the station never used a cloud. */
type CloudConfigTable = {
  /** Always 'cloud'. */
  id: 'cloud';
  /** Encrypted by the secret box; null while the station is unclaimed. */
  station_token: string | null;
  claimed_at: number | null;
  /** Also encrypted: shown to the person who claims the station. */
  claim_secret: string | null;
  /** JSON array of channels. */
  active_channels: string;
  /** States before this time have reached the cloud. */
  states_sent_at: number;
  /** Messages dropped because a limit was reached, from the outbox or the dead letters. */
  dropped: number;
  /** Time when an unfinished reset was requested. */
  reset_at: number | null;
};

/** Messages that the cloud has not acknowledged, in the order they occurred. */
type CloudOutboxTable = {
  seq: Generated<number>;
  channel: string;
  /** Id of the row of `device_events` that has the content; else `content` has it. */
  ref: string | null;
  /** JSON object. */
  content: string | null;
  /** Null when `ref` names the row with the content. */
  at: number | null;
};

/** Dead letters: the cloud repeatedly ended the link at them. */
type CloudDeadLettersTable = { seq: number; channel: string; content: string; reason: string; at: number };

/** Commands of the cloud by idempotency key, kept for a day. */
type CloudCommandsTable = {
  key: string;
  /** JSON; null while it is being carried out. */
  outcome: string | null;
  at: number;
  /** The backend run that received it, and the time by that run's monotonic clock. */
  life: Generated<string>;
  monotonic_at: Generated<number>;
};
