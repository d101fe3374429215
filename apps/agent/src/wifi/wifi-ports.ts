import type { JoinFailure, JoinRequest, Network, Security, SsidHex } from '../core/wifi-network.ts';

/** What a network was joined with. */
export type Credentials = { ssid: SsidHex; password: string | null; security: Security | null };

export type JoinOutcome =
  | { kind: 'joined'; candidateId: string; ip: string }
  | {
      kind: 'failed';
      failure: JoinFailure;
      /** For the log only: NetworkManager's state reasons in order. */ detail: string;
    };

/** What the machine's network is at this moment. Everything here is observed, nothing remembered. */
export type RadioFacts = {
  /** `absent`: NetworkManager does not answer. */
  manager: 'running' | 'absent';
  /** Null: no Wi-Fi device that NetworkManager knows. */
  radio: {
    interface: string;
    isManaged: boolean;
    /** `soft` can be lifted by software, `hard` is a switch on the case. */
    blocked: 'no' | 'soft' | 'hard';
    canBeAccessPoint: boolean;
    state: 'unavailable' | 'disconnected' | 'connecting' | 'connected' | 'hotspot';
    /** Of the connection as a client; null in any other state. */
    client: {
      ssid: SsidHex;
      ip: string | null;
      gateway: string | null;
      signal: number;
      /** Of a profile of ours that is not on disk yet, maybe of an earlier process; else null. */
      candidateId: string | null;
    } | null;
    /** Our access point as it stands; null when it is not up. */
    hotspot: { ssid: SsidHex; ip: string; clients: number } | null;
  } | null;
  /** Some interface has a default route (IPv4), whoever has set it up. */
  hasRoute: boolean;
  /** A wired line with an address; null: none. */
  ethernet: { interface: string; ip: string; gateway: string | null } | null;
  /**
   * Names of saved profiles that join by themselves, of this interface or of any; and of the one that was in use last, as far as this
   * process has seen, which people may have had to join.
   */
  known: readonly SsidHex[];
  /** Those of them that do not tell their names, and are met only when asked for by name. */
  hidden: readonly SsidHex[];
  /** Those of them that were joined and could not be written to disk yet. */
  unkept: readonly SsidHex[];
  /**
   * What a hotspot needs on the machine beside the manager stands: names are answered, nothing is forwarded. Also when the hotspot has
   * ended by itself; `stopHotspot` takes it away.
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
 * and the simulated one of the schedules. No call waits longer than it says; all take part in `signal`.
 * A manager that is away makes `observe` say so, and any other call fail by its union, never by a throw.
 */
export type Radio = {
  observe(): Promise<RadioFacts>;
  /** Resolves at the next change of anything `observe` tells (several changes may be one), or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>;
  /**
   * Networks in reach, strongest first, after a fresh scan of at most 15 s; also while the hotspot is up. An answer without a fresh
   * scan (the radio refused) is the last known one. `hidden` names are asked for by name.
   */
  scan(options: { hidden?: readonly SsidHex[] }, signal: AbortSignal): Promise<readonly Network[]>;
  /** Networks that the last scan has met, be it one of `scan` or of `joinKnown`; at once. */
  networks(): readonly Network[];
  /**
   * Asks for a known network to be joined now (those in reach, strongest first), also one that the manager has given up on.
   * `silent` ones, behind which nothing answered lately, come last, and the one in use is left for another. `joined` once one of them
   * has an address; at most `timeoutMs`.
   */
  joinKnown(
    options: { timeoutMs: number; silent: readonly SsidHex[] },
    signal: AbortSignal,
  ): Promise<{ kind: 'joined'; ssid: SsidHex } | { kind: 'failed'; failure: JoinFailure; detail: string }>;
  /**
   * Tries a network with a new profile that lives in memory only: no older profile is touched. The hotspot must be down. On `failed`
   * the candidate is gone again. At most 45 s.
   */
  join(request: JoinRequest, signal: AbortSignal): Promise<JoinOutcome>;
  /** What the candidate was joined with, for a process that did not ask for it; null when the manager does not tell. */
  credentialsOf(candidateId: string): Promise<Credentials | null>;
  /**
   * Writes the candidate to disk; now older profiles of ours for the same network go. One that cannot be written is a known network all
   * the same from now on, until the machine is switched off or another process takes over while it is not in use.
   */
  keepCandidate(candidateId: string): Promise<boolean>;
  dropCandidate(candidateId: string): Promise<void>;
  /** The access point, with addresses and names for its clients; it ends with this process. Idempotent. */
  startHotspot(settings: HotspotSettings, signal: AbortSignal): Promise<StartHotspotAnswer>;
  /** Idempotent; also removes profiles of an earlier process. The manager joins known networks by itself again. */
  stopHotspot(): Promise<void>;
};

/** How far the station reaches, seen by itself: nothing, its gateway, a login page of somebody else, the internet. */
export type Connectivity = 'none' | 'local' | 'portal' | 'full';

export type Reachability = {
  /**
   * Asks now; at most 10 s. `isOnly`: this gateway is the only way out; with another one beside it the internet tells nothing about it,
   * and the answer is `local` at best.
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
