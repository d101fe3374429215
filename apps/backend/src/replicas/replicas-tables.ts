declare module '../store/schema.ts' {
  interface Schema {
    replicas: ReplicasTable;
    leadership: LeadershipTable;
    token_revocations: TokenRevocationsTable;
  }
}

/** Backends that share this database. */
type ReplicasTable = {
  id: string;
  /** Process id of the server behind its connection: older backends identify a hanging backend by it. */
  process: number;
  /** 1: it receives messages of devices; 0: it stopped; -1: it never did yet. */
  hears: number;
  seen_at: number;
};

/** One row: the current leader's term. */
type LeadershipTable = { id: 'leader'; epoch: number; replica_id: string };

/** Users whose access tokens were revoked, until those tokens expire; only used with several backends. */
type TokenRevocationsTable = {
  /** Of the user whose tokens have ended, or of the session. */
  user_id: string;
  at: number;
};
