/**
 * What the agent asks of a container engine, as far as this engine answers it. Simulators import packages only, so the types are
 * spelled out here; `simulators/station` hands the engine to the agent, and that is where the compiler compares the two.
 */
export type ContainerFact = {
  id: string;
  service: string;
  /** Reference or id that the container was made from. */
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
  /** True when trying again may help without anybody's doing. */
  transient: boolean;
};

export type LayersAnswer = { kind: 'ok'; layers: Record<string, number> } | RegistryFailure;

export type PullAnswer = { kind: 'ok'; imageId: string; digest: string } | RegistryFailure;

export type UpAnswer =
  /** `stoppedAtMs`: when the first process was stopped for it, epoch milliseconds; null when none was. */
  { kind: 'ok'; stoppedAtMs: number | null } | { kind: 'failed'; reason: string };
