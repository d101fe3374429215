import type { Journal } from './journal.ts';

/** What the update engine knows when it decides. All of it is observed or read; nothing is remembered by the decision. */
export type Facts = {
  bootId: string;
  journal: Journal;
  /** True when a write of the journal failed: which of the two is on disk is not known. */
  journalInDoubt: boolean;
  /** Ids of the images that are on this machine, of those the journal names (looked at while no phase is under way that touches them). */
  presentImages: readonly string[];
  /** Ids of the images with a pin against pruning. */
  pinnedImages: readonly string[];
  /** State files whose content is not what the journal implies: file name → wanted content, null for "no such file". */
  staleFiles: Readonly<Record<string, string | null>>;
  /** Health seen since the stack was last brought up by this process; null before. */
  watch: Watch | null;
  /** What came of the steps of the present phase in this process; a new process starts with none and does them again. */
  attempts: Attempts;
  /** True when the installed release shall be brought up (again) now. */
  bringUpDue: boolean;
  gate: HealthGate;
};

export type Attempts = {
  space: { kind: 'ok'; layers: Record<string, number> } | StepFailure | null;
  pull: { kind: 'ok'; imageIds: Record<string, string>; digests: Record<string, string> } | StepFailure | null;
  up: { kind: 'ok' } | StepFailure | null;
  /** True once the images of this phase were looked through for damage. */
  repulled: boolean;
  /** Images that were to be pinned or removed since the last change, whatever came of it: they are not tried again at once. */
  tidied: Readonly<Record<'pin_images' | 'unpin_images' | 'remove_images', readonly string[]>>;
};

/** A new phase, and a new process, has tried nothing yet. */
export const noAttempts = (): Attempts => ({
  space: null,
  pull: null,
  up: null,
  repulled: false,
  tidied: { pin_images: [], unpin_images: [], remove_images: [] },
});

/** A step that did not work, how often so far, and whether trying again may help. */
export type StepFailure = {
  kind: 'failed';
  failures: number;
  code: FailureCode;
  reason: string;
  transient: boolean;
  /** Images that were fetched all the same: id → reference. */
  fetched?: Record<string, string>;
  /** The suspect ones of them, where all that is amiss is the room to read them through. */
  unread?: readonly string[];
};

type FailureCode =
  | 'registry_unavailable'
  | 'registry_auth_failed'
  | 'image_missing'
  | 'disk_space_low'
  | 'engine_failed'
  | 'release_unhealthy';

/** The health gate's settings, in milliseconds. */
export type HealthGate = {
  /** Wait before the health check counts (STABILIZATION_SECONDS). */
  stabilizationMs: number;
  /** Time after that in which it must have passed. */
  timeoutMs: number;
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
  /** Start of the present run of passes; null while it does not pass. */
  passingSinceMs: number | null;
  firstPassMs: number | null;
  lastSampleMs: number | null;
  lastStatus: number | null;
  lastReason: string | null;
  /** Container id → its restarts since the watch began; each is judged for itself. */
  restarts: Readonly<Record<string, RestartsSeen>>;
  /** A service whose container has ended and will not be restarted; null when there is none. */
  ended: string | null;
};
