import type { JoinFailure } from '@station/protocol/agent-network';
import type { Security } from '@station/protocol/wifi-password';
import type { JoinRequest, Network, SsidHex } from '../core/wifi-network.ts';

/** The credentials that a network was joined with. */
export type Credentials = { ssid: SsidHex; password: string | null; security: Security | null };

export type JoinOutcome =
  | { kind: 'joined'; candidateId: string; ip: string }
  | {
      kind: 'failed';
      failure: JoinFailure;
      /** For the log only: NetworkManager's state reasons in order. */ detail: string;
    };

/** The machine's network now. Everything here is observed, nothing is remembered. */
export type RadioFacts = {
  /** `absent`: NetworkManager does not answer. */
  manager: 'running' | 'absent';
  /** Null: no Wi-Fi device that NetworkManager knows. */
  radio: {
    interface: string;
    isManaged: boolean;
    /** `soft` can be unblocked by software, `hard` is a switch on the case. */
    blocked: 'no' | 'soft' | 'hard';
    canBeAccessPoint: boolean;
    state: 'unavailable' | 'disconnected' | 'connecting' | 'connected' | 'hotspot';
    /** Of the connection as a client; null in any other state. */
    client: {
      ssid: SsidHex;
      ip: string | null;
      gateway: string | null;
      signal: number;
      /** Of our profile that is not on disk yet, maybe of an earlier process; else null. */
      candidateId: string | null;
    } | null;
    /** Our access point; null when it is not up. */
    hotspot: { ssid: SsidHex; ip: string; clients: number } | null;
  } | null;
  /** Some interface has a default route (IPv4), no matter which program set it up. */
  hasRoute: boolean;
  /** A wired connection with an address; null: none. */
  ethernet: { interface: string; ip: string; gateway: string | null } | null;
  /**
   * Names of saved profiles that join automatically, of this interface or of any; and of the last one in use that this
   * process has seen, even if it only joins manually.
   */
  known: readonly SsidHex[];
  /** The hidden ones among them, which a scan finds only by name. */
  hidden: readonly SsidHex[];
  /** Those of them that were joined but are not on disk yet. */
  unkept: readonly SsidHex[];
  /**
   * The machine is changed for a hotspot: DNS names are answered, packets are not forwarded. May also be true after the
   * hotspot has ended unexpectedly; `stopHotspot` undoes it.
   */
  hasLeftovers: boolean;
};

export type HotspotSettings = {
  ssid: SsidHex;
  /** Null: open. */
  password: string | null;
  /** IPv4 of the station in it, and the length of its prefix. */
  address: string;
  prefixLength: number;
};

export type StartHotspotAnswer =
  | { kind: 'started' }
  /** `detail` is for the log. */
  | { kind: 'failed'; reason: 'blocked' | 'unsupported' | 'dns_port_taken' | 'failed'; detail: string };

/**
 * What the watchdog needs of the machine's network manager. Implementations: NetworkManager over D-Bus (`adapters/network-manager`),
 * and the simulated one of the schedules. No call exceeds its stated time; all end with `signal`.
 * When the manager is down, `observe` reports it and every other call returns a failure; none throws.
 */
export type Radio = {
  observe(): Promise<RadioFacts>;
  /** Resolves at the next change of anything in `observe` (several changes may count as one), or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>;
  /**
   * Networks in range, strongest first, after a fresh scan of at most 15 s; also while the hotspot is up. Without a fresh
   * scan (the radio refused) the last result is returned. `hidden` names are scanned for by name.
   */
  scan(options: { hidden?: readonly SsidHex[] }, signal: AbortSignal): Promise<readonly Network[]>;
  /** Networks of the last scan, of `scan` or of `joinKnown`; resolves at once. */
  networks(): readonly Network[];
  /**
   * Joins a known network now (those in range, strongest first), even one that the manager has given up.
   * `silent` ones, behind which nothing answered lately, come last; the one in use may be left for another. `joined` once one
   * has an address; at most `timeoutMs`.
   */
  joinKnown(
    options: { timeoutMs: number; silent: readonly SsidHex[] },
    signal: AbortSignal,
  ): Promise<{ kind: 'joined'; ssid: SsidHex } | { kind: 'failed'; failure: JoinFailure; detail: string }>;
  /**
   * Tries a network with a new profile in memory only: older profiles stay unchanged. The hotspot must be down. On `failed`
   * the candidate is removed. At most 45 s.
   */
  join(request: JoinRequest, signal: AbortSignal): Promise<JoinOutcome>;
  /** The candidate's credentials, for a process that did not start the join; null when the manager does not give them. */
  credentialsOf(candidateId: string): Promise<Credentials | null>;
  /**
   * Writes the candidate to disk and removes our older profiles for the same network. If the write fails, it is a known network
   * anyway, until the machine goes down or another process takes over while it is not in use.
   */
  keepCandidate(candidateId: string): Promise<boolean>;
  dropCandidate(candidateId: string): Promise<void>;
  /** The access point, with addresses and names for its clients; it ends with this process. Idempotent. */
  startHotspot(settings: HotspotSettings, signal: AbortSignal): Promise<StartHotspotAnswer>;
  /** Idempotent; also removes profiles of an earlier process. The manager joins known networks automatically again. */
  stopHotspot(): Promise<void>;
};

/** What the station can reach: nothing, its gateway, a foreign login page, or the internet. */
export type Connectivity = 'none' | 'local' | 'portal' | 'full';

export type Reachability = {
  /**
   * Probes now; at most 10 s. `isOnly`: this gateway is the only way out. With a second gateway the internet proves nothing,
   * so the best answer is `local`.
   */
  probe(gateway: string | null, signal: AbortSignal, options?: { isOnly: boolean }): Promise<Connectivity>;
};

/** Takes Wi-Fi credentials for the provisioning of devices (`POST /api/settings/agent`; contracts, section 9). */
export type CredentialsBackend = {
  send(
    wifi: { ssid: string; password: string | null; security: Security | null },
    signal: AbortSignal,
  ): Promise<{ kind: 'accepted' } | { kind: 'refused' | 'failed'; reason: string }>;
};
