/**
 * The part of the agent's engine port that this engine implements. Simulators import packages only, so the types are
 * repeated here. The compiler compares them where `simulators/station` passes the engine to the agent.
 */
export type ContainerFact = {
  id: string;
  service: string;
  /** Reference or id from which the container was created. */
  image: string;
  imageId: string;
  state: string;
  health: string;
  restartCount: number;
  exitCode: number;
};

export type PullProgress = { doneBytes: number; totalBytes: number | null };

export type RegistryFailure = {
  kind: 'failed';
  code: 'registry_unavailable' | 'registry_auth_failed' | 'image_missing' | 'disk_space_low' | 'engine_failed';
  /** For people: no host path, no secret. */
  reason: string;
  /** For the log only. */
  detail?: string;
  /** True when a retry may succeed. */
  transient: boolean;
};

export type LayersAnswer =
  | { kind: 'ok'; layers: Record<string, number>; imageIds: readonly string[] }
  | RegistryFailure;

export type Rebuilding = { saved: string[]; references: Record<string, string> };

export type RebuildAnswer = {
  rebuilding: Rebuilding | null;
  refused: { reason: 'needs_registry'; imageIds: string[] }[];
};

export type RebuildResult = { kind: 'rebuilt' } | { kind: 'failed'; reason: 'needs_registry' | 'stays_damaged' };

export type PullAnswer = { kind: 'ok'; imageId: string; digest: string } | RegistryFailure;

type ServiceLine = { time: string; text: string };

export type ServiceOperator = {
  restart(service: string): Promise<void>;
  followLog(
    service: string,
    options: { since: number | null; lines: number },
    onLine: (line: ServiceLine) => Promise<void> | void,
    signal: AbortSignal,
  ): Promise<void>;
};

export type UpAnswer =
  /** `stoppedAtMs`: when the first process was stopped, milliseconds since the epoch; null: none was stopped. */
  { kind: 'ok'; stoppedAtMs: number | null } | { kind: 'failed'; reason: string };
