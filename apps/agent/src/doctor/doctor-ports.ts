/** What the doctor of the agent observes. Adapters and the stack read it, the room `doctor` decides about it. */

/** The state in DATA_DIR. `stale`: derived files that differ from the journal. */
export type StateFacts =
  | { kind: 'ok'; stale: readonly string[]; images: readonly NeededImage[] }
  | { kind: 'missing' }
  | { kind: 'damaged'; reason: string }
  | { kind: 'unreadable'; reason: string };

/** An image that must be on this machine, by its local id. */
export type NeededImage = { service: string; version: string; imageId: string; isInstalled: boolean };

/** A service of the stack as Compose lists it. */
export type ServiceFact = { service: string; state: string; health: string };

/** Compose reads the project, or says why it cannot. */
export type ProjectFacts = { kind: 'ok'; services: readonly ServiceFact[] } | { kind: 'failed'; reason: string };

/** States of the agent's unit as systemctl names them, e.g. `active`, `enabled`. */
export type UnitFacts = { active: string; enabled: string };

export type WifiFacts = {
  /** Names of the wireless devices. */
  devices: readonly string[];
  isBlocked: boolean;
  isNetworkManagerActive: boolean;
  isDnsPortTaken: boolean;
};

/** Answer of the health check of the stack. */
export type BackendAnswer =
  | { kind: 'answer'; status: number; body: string }
  | { kind: 'refused' }
  | { kind: 'failed'; reason: string };

/** The certificate that the proxy shows for the public name. Times are ISO 8601. */
export type ServedCertificate =
  | { kind: 'served'; issuer: string; validFrom: string; validUntil: string }
  | { kind: 'none'; reason: string };

/** `log`: the last lines that the proxy logged, JSON each, oldest first. */
export type PublicCertificateFacts = { served: ServedCertificate; log: readonly string[] };
