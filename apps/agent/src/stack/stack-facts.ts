import type { Unhealed } from './image-care-decide.ts';
import type { Journal } from './journal.ts';
import type { surfaceCodes } from './surface-decide.ts';
import type { Surface, SurfacePart } from './surface-ports.ts';

/** All that the update flow knows when it decides. The decision itself keeps no state. */
export type Facts = {
  bootId: string;
  journal: Journal;
  /** True when a write of the journal failed: the disk may hold the old or the new one. */
  journalInDoubt: boolean;
  /** Ids of those images of the journal that are on this machine; read only in phases that do not change images. */
  presentImages: readonly string[];
  /** Ids of the images with a pin against pruning. */
  pinnedImages: readonly string[];
  /** State files that do not match the journal: file name → wanted content; null: the file must not exist. */
  staleFiles: Readonly<Record<string, string | null>>;
  /** Health seen since the stack was last brought up by this process; null before. */
  watch: Watch | null;
  /** Results of the steps of the current phase in this process; a new process starts with none and repeats them. */
  attempts: Attempts;
  /** True when the installed release must be brought up (again) now. */
  bringUpDue: boolean;
  /** True when the next image must be checked although nothing failed. */
  checkDue: boolean;
  images: ImagesSeen;
  gate: HealthGate;
};

export type Attempts = {
  space: { kind: 'ok'; layers: Record<string, number> } | StepFailure | null;
  pull: PullSuccess | StepFailure | null;
  up: { kind: 'ok' } | StepFailure | null;
  /** What the running release shows, before it is replaced. */
  surface: Surface | null;
  /** The last try to make damaged images again. */
  rebuild: StepFailure | null;
  /** Images that this process has tried to pin or remove since the last change; they are not tried again at once. */
  tidied: Readonly<Record<'pin_images' | 'unpin_images' | 'remove_images', readonly string[]>>;
};

/** The start of a new phase or process: no step was tried. */
export const noAttempts = (): Attempts => ({
  space: null,
  pull: null,
  up: null,
  surface: null,
  rebuild: null,
  tidied: { pin_images: [], unpin_images: [], remove_images: [] },
});

/** `isDoubtful`: images of it may be damaged, so they are checked before they are used. */
type PullSuccess = {
  kind: 'ok';
  imageIds: Record<string, string>;
  digests: Record<string, string>;
  isDoubtful: boolean;
};

/** What this process knows of damaged images. */
export type ImagesSeen = {
  unhealed: Unhealed;
  /** Ids that were checked since the operation began, with any result. */
  tried: readonly string[];
};

/** A failed step, how often it has failed, and whether a retry may help. */
export type StepFailure = {
  kind: 'failed';
  failures: number;
  code: FailureCode;
  reason: string;
  transient: boolean;
  /** The wait that the registry asks for. */
  retryAfterMs?: number;
  /** Images that were fetched despite the failure: id → reference. */
  fetched?: Record<string, string>;
  /** Suspect images among them, when the only problem is a lack of space to verify them. */
  unread?: readonly string[];
};

export type FailureCode =
  | 'registry_unavailable'
  | 'registry_busy'
  | 'registry_auth_failed'
  | 'image_missing'
  | 'disk_space_low'
  | 'engine_failed'
  | 'engine_storage_failed'
  | 'image_damaged'
  | 'release_unhealthy'
  | (typeof surfaceCodes)[SurfacePart]
  | 'release_crashes'
  | 'release_out_of_memory';

/** The health gate's settings, in milliseconds. */
export type HealthGate = {
  /** Wait before the health check counts (STABILIZATION_SECONDS). */
  stabilizationMs: number;
  /** Time after that in which it must have passed. */
  timeoutMs: number;
  /** Time after the start in which devices must be back. */
  devicesMs: number;
};

export type RestartsSeen = {
  count: number;
  /** How long after the watch began the last of them was seen. */
  lastAfterMs: number;
  /** True once the release has passed since then. */
  passedSince: boolean;
};

/** Health of the running release over time; each probe adds to it (`health-decide.ts`). */
export type Watch = {
  startedMs: number;
  attempts: number;
  /** Start of the current run of passes; null while the check fails. */
  passingSinceMs: number | null;
  firstPassMs: number | null;
  lastSampleMs: number | null;
  lastStatus: number | null;
  lastReason: string | null;
  /** Container id → its restarts since the watch began; each container is judged separately. */
  restarts: Readonly<Record<string, RestartsSeen>>;
  /** A service whose container has ended and will not be restarted; null when there is none. */
  ended: string | null;
  /** What the release must show beyond its health address, because the one before showed it. */
  parts: readonly WatchedPart[];
};

/** `fault`: why it was not shown at the last look; null before the first. A restart of a service makes it unseen again. */
export type WatchedPart = { part: SurfacePart; isShown: boolean; fault: string | null };
