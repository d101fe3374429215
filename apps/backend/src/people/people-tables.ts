declare module '../store/schema.ts' {
  interface Schema {
    sessions: SessionsTable;
    passkeys: PasskeysTable;
    used_challenges: UsedChallengesTable;
    login_counts: LoginCountsTable;
    login_networks: LoginNetworksTable;
    login_devices: LoginDevicesTable;
  }
}

/** One row a session; its token changes with each use. */
type SessionsTable = {
  /** The session, called the token's family. */
  id: string;
  user_id: string;
  /** SHA-256 (hex) of the one token that is valid now. */
  token_hash: string;
  /** The browser or program that last used it, as it names itself (`User-Agent`), and its IP address; null: not recorded. */
  user_agent: string | null;
  address: string | null;
  created_at: number;
  used_at: number;
  /** When it ends if it is not used. */
  expires_at: number;
  /** When it ends in any case. */
  ends_at: number;
};

/** Public keys with which users log in (Web Authentication). */
export type PasskeysTable = {
  id: string;
  user_id: string;
  name: string;
  /** Host name for which the key was made. */
  rp_id: string;
  /** Chosen by the device; base64url, unique. */
  credential_id: string;
  /** COSE_Key (RFC 9052), base64url. */
  public_key: string;
  /** How often the device used the key, as it said last; devices that do not count say 0. */
  counter: number;
  created_at: number;
  used_at: number | null;
};

/** Challenges of passkeys that were answered; kept for as long as they could be answered again. */
type UsedChallengesTable = { challenge: string; used_at: number };

/** Failed log-ins that have a delay. */
type LoginCountsTable = {
  key: string;
  failures: number;
  at: number;
};

/** From where a user has logged in. */
type LoginNetworksTable = {
  user_id: string;
  /** An IPv4 address or an IPv6 /64. */
  network: string;
  at: number;
};

/** Browsers that have logged in to an account. */
type LoginDevicesTable = {
  user_id: string;
  /** SHA-256 (hex) of the cookie. */
  token_hash: string;
  /** The latest session of it. */
  session_id: string;
  at: number;
};
