import type { Generated } from 'kysely';
import type { ConsumerKind } from '@station/protocol/consumers';

declare module '../store/schema.ts' {
  interface Schema {
    consumers: ConsumersTable;
    consumer_topics: ConsumerTopicsTable;
  }
}

/** Another system that sees the station's devices. */
export type ConsumersTable = {
  kind: ConsumerKind;
  /** Discovery prefix, or base topic. */
  topic: string;
  login: string;
  token_hash: string;
  created_at: number;
};

/** A topic on which the broker may keep a message for a consumer: stored before the first one. */
type ConsumerTopicsTable = {
  kind: ConsumerKind;
  topic: string;
  /** JSON: parts of what it tells that were told once, with their platform; one that is gone must be taken back. */
  parts: Generated<string>;
};
