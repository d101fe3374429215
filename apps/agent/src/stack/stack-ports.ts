import type { StackServices } from '@station/protocol/release-manifest';
import { type Static, Type } from 'typebox';

/**
 * What the stack needs from a container engine. Three implementations: Docker (`adapters/docker`), plain child processes
 * (`simulators/process-engine`), and the simulated one of the fault tests.
 *
 * An engine that cannot be reached makes any call throw a `StationError` with code `unavailable`.
 */
export type StackEngine = {
  /** Services of the stack's compose file. */
  services(): Promise<StackServices>;
  containers(): Promise<ContainerFact[]>;
  /** Id of a local image by reference or id; null when it is not on this machine. */
  imageId(reference: string): Promise<string | null>;
  pinnedImages(): Promise<string[]>;
  /**
   * Keeps an image from being pruned. `broken`: the engine has it but cannot use it (after a power cut). `unknown`: the engine
   * may lack the space for a pin.
   */
  pinImage(imageId: string): Promise<'pinned' | 'absent' | 'broken' | 'unknown'>;
  unpinImage(imageId: string): Promise<void>;
  /**
   * Removes an image with all its names; with `force` also the stack's stopped containers and the pins that use it, which
   * would keep its layers. An image in use or absent is no error: the answer says so.
   */
  removeImage(reference: string, options: { force: boolean }): Promise<'removed' | 'in_use' | 'absent'>;
  /** Sizes of an image's layers, read from its registry before anything is fetched. */
  layers(reference: string, signal: AbortSignal): Promise<LayersAnswer>;
  /** Free bytes where the engine keeps images; null when unknown. */
  freeBytes(): Promise<number | null>;
  /** Space for a layer while it is fetched and unpacked, as a multiple of its compressed size. */
  roomPerByte(): Promise<number>;
  pull(reference: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<PullAnswer>;
  /** Local images that the stack's compose file names outside any release: id → reference. */
  namedImages(signal: AbortSignal): Promise<Record<string, string>>;
  /**
   * Reads each image to its end, one after the other, and compares what a container would see with what its registry delivered.
   * @param options.isIdle slower, because nothing waits for the answer.
   */
  checkImages(
    imageIds: readonly string[],
    options: { isIdle: boolean; signal: AbortSignal },
  ): Promise<ReadonlyMap<string, ImageCondition>>;
  /**
   * Reads damaged images a second time, and prepares to make them again. Removes nothing.
   * @param damaged ids of damaged images, and of images that are not here.
   * @param references all images that the stack has brought here: id → reference, by digest if possible.
   */
  planRebuild(
    damaged: readonly string[],
    references: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<RebuildAnswer>;
  /**
   * Makes images again as planned: removes the containers of the stack on them and the images, then loads or pulls these one after the other, makes
   * them durable and checks them. Can be repeated after a power cut.
   */
  rebuildImages(rebuilding: Rebuilding, signal: AbortSignal): Promise<RebuildResult>;
  /**
   * Removes what a power cut may have left in the engine's storage and each pull would reuse: damaged images of the stack that are not pinned, and
   * layers that nothing uses. Thorough and slow, so only once in the life of the agent.
   * @param fetched images that earlier pulls left and that may be removed, by id.
   * @returns whether something was removed, so that another pull may succeed.
   */
  repairStorage(fetched: readonly string[], signal: AbortSignal): Promise<boolean>;
  /**
   * Brings the stack up with the release that the override file pins; never uses the network.
   * @throws StationError `compose_project_unreadable` when it failed because the stack's own files cannot be read.
   */
  up(signal: AbortSignal): Promise<UpAnswer>;
  /**
   * Starts or stops the existing containers of one service. A stopped one stays stopped until a start or `up`. A service that
   * has no container is no error: the next `up` creates it.
   */
  setRunning(service: string, running: boolean): Promise<void>;
  /**
   * Service → the part of its memory limit that its container uses, 0 to 1; without those that the engine does not tell of.
   * Absent in an engine that sets no limits.
   */
  memoryUse?(containers: readonly ContainerFact[]): Promise<Record<string, number>>;
  /** Makes all finished engine work durable: what a pull or `up` wrote may not be on disk before. */
  sync(): Promise<void>;
};

/** Images that are being made again; kept in the journal from before the first one is removed until they are all there. */
export const Rebuilding = Type.Object({
  /** Ids of those that are in the archive; the others are pulled. */
  saved: Type.Array(Type.String()),
  /** Id → reference of all of them. */
  references: Type.Record(Type.String(), Type.String()),
});
export type Rebuilding = Static<typeof Rebuilding>;

/** One container of the stack, as the engine reports it. */
export type ContainerFact = {
  id: string;
  service: string;
  /** Reference or id that the container was made from, as in its configuration. */
  image: string;
  imageId: string;
  /** Docker's states: created, running, paused, restarting, removing, exited, dead. */
  state: string;
  /** starting, healthy, unhealthy or none. */
  health: string;
  /** How often the engine restarted it. */
  restartCount: number;
  exitCode: number;
};

/** `unknown`: the engine lacks the space to check it. Nothing is removed for that. */
export type ImageCondition = 'whole' | 'damaged' | 'unknown' | 'absent';

/** Why damaged images stay as they are. `in_use`: containers or images of others stand on the same layers. */
export type RebuildRefusal = 'needs_registry' | 'in_use' | 'no_room';

/** `refused`: images that stay as they are, by the reason. */
export type RebuildAnswer = {
  rebuilding: Rebuilding | null;
  refused: { reason: RebuildRefusal; imageIds: string[] }[];
};

/** `stays_damaged`: what was loaded or pulled is damaged again. */
export type RebuildResult = { kind: 'rebuilt' } | { kind: 'failed'; reason: RebuildRefusal | 'stays_damaged' };

/** Compressed bytes of a pull. A layer that is already on the machine counts as done. */
export type PullProgress = { doneBytes: number; totalBytes: number | null };

export type RegistryFailure = {
  kind: 'failed';
  code:
    | 'registry_unavailable'
    /** It limits requests; `retryAfterMs` says how long. */
    | 'registry_busy'
    | 'registry_auth_failed'
    | 'image_missing'
    | 'disk_space_low'
    | 'engine_failed'
    /** The registry delivered the image, and the engine cannot store it or damages it. */
    | 'engine_storage_failed';
  /** For people: no host path, no secret. */
  reason: string;
  /** For the log only. */
  detail?: string;
  /** True when an automatic retry may help. */
  transient: boolean;
  /** The wait that the registry asks for. */
  retryAfterMs?: number;
};

/** The result of a pull that was cancelled because the registry stopped sending. */
export const registrySilent: RegistryFailure = {
  kind: 'failed',
  code: 'registry_unavailable',
  reason: 'the registry stopped sending data',
  transient: true,
};

export type LayersAnswer =
  | {
      kind: 'ok';
      layers: Record<string, number>;
      /** Digests of its index, manifest and configuration: one of them is the engine's id of it. */
      imageIds: readonly string[];
    }
  /** The registry does not list sizes; the pull may still work. */
  | { kind: 'unknown' }
  | RegistryFailure;

export type PullAnswer =
  /** The image is on the machine and the engine cannot use it. */
  | { kind: 'broken' }
  | { kind: 'ok'; imageId: string; /** `name@sha256:…`; null when the registry gave none. */ digest: string | null }
  | RegistryFailure;

export type UpAnswer =
  | {
      kind: 'ok';
      /** When the first container of the stack was stopped, epoch milliseconds; null when none was. */
      stoppedAtMs: number | null;
    }
  | {
      kind: 'failed';
      reason: string;
      /** For the log only. */
      detail?: string;
      /** True when it was cancelled at the time limit: a retry would take as long again. */
      hung?: boolean;
    };

/** Answer of one request to the health check address. */
export type ProbeAnswer = { status: number | null; ok: boolean; reason: string | null };
