import type { SsidHex } from '../core/ssid.ts';

/** How a network is secured, from the RSN and WPA flags of its access points. `enterprise` and `wep` cannot be joined from the portal. */
export const securities = ['open', 'owe', 'wep', 'wpa2', 'wpa3', 'wpa2-wpa3', 'enterprise'] as const;
export type Security = (typeof securities)[number];
/** Joined without a password. */
export const isFree = (security: Security | null): boolean => security === 'open' || security === 'owe';

/** One network in reach: its strongest access point stands for all of the same name and security. */
export type Network = {
  ssid: SsidHex;
  security: Security;
  /** Per cent. */
  signal: number;
  /** As in `RadioFacts.known`. */
  isKnown: boolean;
};

/** What somebody asks for on the portal's page. */
export type JoinRequest = {
  ssid: SsidHex;
  /** Null: as the last scan saw it; for a hidden network it is chosen on the page or tried. */
  security: Security | null;
  /** Null for an open network. */
  password: string | null;
  /** Its name was typed: access points do not tell it. */
  isHidden: boolean;
};

/** What a network was joined with. */
export type Credentials = { ssid: SsidHex; password: string | null; security: Security | null };

/** Why a network could not be joined. Each has a text on the portal's page that names what to do. */
export const joinFailures = [
  'wrong_password',
  'not_found',
  'no_address',
  /** Joined and got an address, but nothing answers there, not even the gateway. */
  'no_gateway',
  /** This radio, or this station, cannot do this kind of security. */
  'unsupported',
  /** The access point turned the station away. */
  'refused',
  'timed_out',
  'failed',
] as const;
export type JoinFailure = (typeof joinFailures)[number];

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

/** The setup page on the hotspot, while it is up. */
export type PortalServer = AsyncDisposable & {
  /** Null while it does not listen; `portTaken` says whether somebody else has the port. */
  address(): string | null;
  isPortTaken(): boolean;
};

/** How a join from the portal failed; `security` is the one that was chosen, null: the station was to find out. */
export type LastJoin = { ssid: SsidHex; isHidden: boolean; security: Security | null; failure: JoinFailure };

/** What the portal's page shows. */
export type PortalView = {
  hotspotSsid: SsidHex;
  networks: readonly Network[];
  /** The join that is being tried; the hotspot goes away for it in a moment. */
  joining: SsidHex | null;
  /** How the last join from here ended; its name is filled in again. */
  lastJoin: LastJoin | null;
  /** A first look around is still under way: an empty list says nothing yet. */
  isLooking: boolean;
  /** Where the station will be found after a join that works, e.g. `http://station.local/`. */
  stationAddress: string;
};

/** What the portal asks of the watchdog. */
export type PortalActions = {
  view(): PortalView;
  /** Resolves when fresh results are in `view`, or after 15 s. */
  rescan(): Promise<void>;
  /** The answer's page goes out before the hotspot ends (some seconds). `busy`: another join is being tried. */
  join(request: JoinRequest): 'accepted' | 'busy';
  /** Somebody looks at the page now: the hotspot is in use. */
  seen(): void;
};
