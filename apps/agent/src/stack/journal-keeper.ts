import { isoTime, type Clock } from '@station/kit/clock';
import { makeDirectoryDurable, type Disk } from '@station/kit/durable-files';
import { createEmitter, type Emitter } from '@station/kit/emitter';
import type { AgentLogger } from '@station/kit/logger';
import type { HistoryEntry, Operation, OperationKind, Trigger } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import { setOwnValue } from '@station/protocol/own-value';
import { damagedAfterTries } from '../core/damaged-after-tries.ts';
import { adoptStack, imageName } from './adopt.ts';
import { reportChange } from './change-events.ts';
import type { Restarts } from './health-decide.ts';
import { createProgressMeter, type ProgressMeter } from './image-fetch.ts';
import { readJournal, writeJournal, type Journal, type JournalReading } from './journal.ts';
import {
  type Cause,
  changeJournal,
  type Change,
  isImageChange,
  type Moment,
  type ServiceImages,
} from './operation-decide.ts';
import { fitRelease } from './release-decide.ts';
import type { StackEngine } from './stack-ports.ts';
import { noAttempts, type Attempts, type ImagesSeen, type Watch } from './stack-facts.ts';
import { findStaleFiles, writeStateFiles } from './state-files.ts';

export type KeeperParts = {
  engine: StackEngine;
  disk: Disk;
  dataDir: string;
  clock: Clock;
  logger: AgentLogger;
  bootId: string;
  /** KEEP_RELEASES. */
  keepReleases: number;
  /** How long a release is watched after its verdict, milliseconds; 0: not at all. */
  probationMs: number;
  /** How long the health of a release is checked at least, milliseconds. */
  stabilizationMs: number;
  newId: () => string;
};

/** `id`: the one that was promised to whoever asked for it. */
export type OperationRequest = { kind: OperationKind; trigger: Trigger; to: Release; id?: string; because?: Cause };

/** State of one process beyond the journal; a new process starts without it. */
type RunState = {
  journal: Journal | null;
  /** True after a failed write of the journal: the disk may hold the old or the new one. */
  journalInDoubt: boolean;
  attempts: Attempts;
  images: ImagesSeen;
  watch: Watch | null;
  baseline: Restarts;
  /** Service → image id that must run: those of the release that is brought up, without services that are switched off. */
  expected: Readonly<Record<string, string>>;
  meter: ProgressMeter;
  /** Monotonic start of the operation, if this process began it. */
  startedMs: number | null;
  /** When a container of the stack was first stopped for the operation, and when health was first seen again; epoch ms. */
  stoppedAtMs: number | null;
  healthyAtMs: number | null;
};

/** The only writer of the journal: reads it, records each change durably, and logs its events. */
export type JournalKeeper = {
  readonly run: RunState;
  /** Reads the journal, or makes one from the running containers. Must resolve before anything else is called. */
  load(): Promise<void>;
  /** False until the journal has been read. */
  isLoaded(): boolean;
  journal(): Journal;
  /** Null when an operation is under way. Resolved means that the operation is on disk: a crash does not lose it. */
  begin(request: OperationRequest): Promise<{ id: string } | null>;
  record(change: Change): Promise<void>;
  /** Writes the journal again, when it is unknown which version is on disk. */
  rewrite(): Promise<void>;
  /** Records a fact outside any operation (signed version, time floor, trust in the images). */
  remember(facts: Partial<Pick<Journal, 'highestSignedVersion' | 'timeFloor' | 'imagesTrustedIn'>>): Promise<void>;
  /** True while an operation is unfinished after a crash or after a fault in `begin`. */
  isUnsettled(): boolean;
  /** The operation under way; null when there is none, and before the journal has been read. */
  operation(): Operation | null;
  outcome(id: string): HistoryEntry | null;
  /** Calls `listener` when a change of the journal is on disk. */
  onChange(listener: () => void): Disposable;
  /** Calls `listener` when the end of an operation is on disk, before the clean-up that follows. */
  onEnd(listener: () => void): Disposable;
};

/** What the functions of this file share. */
type Keeper = KeeperParts & {
  run: RunState;
  changed: Emitter<void>;
  ended: Emitter<void>;
  read: () => Promise<JournalReading>;
};

export function createJournalKeeper(parts: KeeperParts): JournalKeeper {
  const run = newRunState();
  const changed = createEmitter<void>();
  const ended = createEmitter<void>();
  const read = damagedAfterTries(() => readJournal(parts.disk, parts.dataDir));
  const keeper: Keeper = { ...parts, run, changed, ended, read };
  const journal = (): Journal => journalOf(run);
  return {
    run,
    load: () => load(keeper),
    isLoaded: () => run.journal !== null,
    journal,
    begin: (request) => begin(keeper, request),
    record: (change) => record(keeper, change),
    rewrite: () => write(keeper, journal()),
    remember: async (facts) => {
      const next = { ...journal(), ...facts };
      await write(keeper, next);
      run.journal = next;
    },
    isUnsettled: () => run.journalInDoubt || journal().operation !== null,
    operation: () => describeOperation(keeper),
    outcome: (id) => journal().history.find((entry) => entry.id === id) ?? null,
    onChange: changed.subscribe,
    onEnd: ended.subscribe,
  };
}

const newRunState = (): RunState => ({
  journal: null,
  journalInDoubt: false,
  attempts: noAttempts(),
  images: { unhealed: {}, tried: [] },
  watch: null,
  baseline: {},
  expected: {},
  meter: createProgressMeter(),
  startedMs: null,
  stoppedAtMs: null,
  healthyAtMs: null,
});

async function load(keeper: Keeper): Promise<void> {
  const { engine, disk, dataDir, clock, logger, bootId, run } = keeper;
  await makeDirectoryDurable(disk, dataDir, 0o755);
  const reading = await keeper.read();
  if (reading.kind === 'ok') {
    run.journal = reading.journal;
    if (reading.journal.operation) await record(keeper, { kind: 'resume' });
    return;
  }
  if (reading.kind === 'damaged') logger.event('state_repaired', { file: 'journal.json', reason: reading.reason });
  const adoption = await adoptStack({ engine, disk, dataDir, now: isoTime(clock.now()), bootId });
  for (const repair of adoption.repaired) logger.event('state_repaired', repair);
  await writeJournal(disk, dataDir, adoption.journal);
  run.journal = adoption.journal;
  const { installed } = adoption.journal;
  if (installed) logger.event('stack_adopted', { currentVersion: installed.version, images: installed.images });
}

async function begin(
  keeper: Keeper,
  { kind, trigger, to, because, id = keeper.newId() }: OperationRequest,
): Promise<{ id: string } | null> {
  const { engine, clock, run } = keeper;
  const journal = journalOf(run);
  if (journal.operation) return null;
  run.startedMs = clock.monotonic();
  run.stoppedAtMs = null;
  run.healthyAtMs = null;
  run.meter.expect(null);
  const { installed } = journal;
  // A rollback goes back to what was installed, which was made to fit then.
  const { release, ignored } =
    kind === 'update' ? fitRelease(to, installed, (await engine.services()).running) : { release: to, ignored: [] };
  const beside = await pinUnlisted(engine, installed, release);
  if (ignored.length > 0) keeper.logger.event('release_services_ignored', { version: to.version, services: ignored });
  await record(keeper, {
    kind: 'begin',
    operation: { kind, trigger, id, to: release, ...(because && { because }) },
    beside,
  });
  return { id };
}

async function record(keeper: Keeper, change: Change): Promise<void> {
  const { disk, dataDir, clock, logger, run } = keeper;
  const before = journalOf(run);
  const at = moment(keeper);
  const next = changeJournal(before, change, at);
  await write(keeper, next);
  try {
    // Before the change is announced: listeners that read the files must find the new state.
    await writeStateFiles(disk, dataDir, await findStaleFiles(disk, dataDir, next));
  } catch {
    // The change itself is on disk; the next decision sees the stale files and reports what blocks them.
  }
  run.journal = next;
  const { watch } = run;
  if (change.kind === 'begin') run.images = { ...run.images, tried: [] };
  // What was tried and seen of an operation still counts, until its containers are removed.
  const goesOn = isImageChange(change) && change.kind !== 'rebuilt';
  // Removed images have freed space, so check the space again.
  if (change.kind === 'forget_images') run.attempts = { ...run.attempts, space: null, pull: null };
  else if (!goesOn) run.attempts = noAttempts();
  if (!goesOn && change.kind !== 'verify' && change.kind !== 'verify_revert') run.watch = null;
  reportChange(logger, change, { before, after: next, watch, nowMs: clock.monotonic(), durationMs: at.durationMs });
  keeper.changed.emit();
  if (before.operation && !next.operation) keeper.ended.emit();
}

/** After a failed write the disk may hold the old or the new journal, until a write succeeds. */
async function write({ disk, dataDir, run }: Keeper, next: Journal): Promise<void> {
  run.journalInDoubt = true;
  await writeJournal(disk, dataDir, next);
  run.journalInDoubt = false;
}

/** Pins the running images of services that only `to` names. A rollback needs them, and nothing else keeps them. */
async function pinUnlisted(engine: StackEngine, from: Release | null, to: Release): Promise<ServiceImages> {
  const unlisted: ServiceImages = { images: {}, imageIds: {} };
  const services = Object.keys(to.images).filter((service) => from !== null && !Object.hasOwn(from.imageIds, service));
  const containers = services.length > 0 ? await engine.containers() : [];
  for (const service of services) {
    const own = containers.filter((container) => container.service === service);
    const found = own.find(({ state }) => state === 'running') ?? own[0];
    // The override can only name an image that is pinned; otherwise the tag of the compose file applies.
    if (!found || (await engine.pinImage(found.imageId)) !== 'pinned') continue;
    setOwnValue(unlisted.images, service, imageName(found));
    setOwnValue(unlisted.imageIds, service, found.imageId);
  }
  return unlisted;
}

function moment({ clock, bootId, keepReleases, probationMs, run }: Keeper): Moment {
  const now = clock.now();
  const operation = run.journal?.operation;
  // After a restart only the wall clock covers the time before it, and it may have jumped.
  const sinceStart = operation ? Math.max(0, now - Date.parse(operation.startedAt)) : 0;
  const stoppedAt = run.stoppedAtMs ?? (operation?.switchedAt ? Date.parse(operation.switchedAt) : null);
  // Nothing ran before, so there is no downtime.
  const nothingRan = !operation?.from;
  const { watch } = run;
  const downtime =
    nothingRan || stoppedAt === null || run.healthyAtMs === null ? null : Math.max(0, run.healthyAtMs - stoppedAt);
  return {
    now: isoTime(now),
    bootId,
    keepReleases,
    probationMs,
    durationMs: Math.round(run.startedMs === null ? sinceStart : clock.monotonic() - run.startedMs),
    downtimeMs: downtime === null ? null : Math.round(downtime),
    startMs: watch && watch.firstPassMs !== null ? Math.round(watch.firstPassMs - watch.startedMs) : null,
  };
}

function journalOf({ journal }: RunState): Journal {
  if (!journal) throw new Error('the journal has not been read');
  return journal;
}

function describeOperation({ run, clock, stabilizationMs }: Keeper): Operation | null {
  const operation = run.journal?.operation;
  if (!operation) return null;
  const { id, kind, phase, trigger, startedAt, to } = operation;
  const isChecked = phase === 'verifying' || phase === 'verifying_revert';
  const left = isChecked && run.watch ? run.watch.startedMs + stabilizationMs - clock.monotonic() : null;
  return {
    id,
    kind,
    phase,
    trigger,
    startedAt,
    version: to.version,
    progress: run.meter.read(),
    ...(left !== null && { healthCheckUntil: isoTime(clock.now() + Math.max(0, left)) }),
  };
}
