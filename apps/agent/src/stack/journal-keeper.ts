import { isoTime } from '@station/kit/clock';
import { makeDirectoryDurable } from '@station/kit/files';
import type { HistoryEntry, Operation, OperationKind, Trigger } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import { readJournal, writeJournal, type Journal, type JournalReading } from './journal.ts';
import { adoptStack, imageName } from './adopt.ts';
import { createExecutors, keepJournal } from './stack-steps.ts';
import { decide, type Step } from './stack-decide.ts';
import type { Facts } from './stack-facts.ts';
import { changeJournal, wantedImages, type Change, type ServiceImages } from './operation-decide.ts';
import type { StackEngine } from './ports.ts';
import { createProgressMeter } from './progress.ts';
import { noAttempts, type RunState, type UpdaterParts } from './run-state.ts';
import { reportChange } from './change-events.ts';
import { findStaleFiles, writeStateFiles } from './state-files.ts';

/** How an operation ended; the entry is the one that stands in the history. */
export type OperationOutcome = { id: string; entry: HistoryEntry | null };

export type Updater = {
  /** Reads the journal, or makes one from what runs. Must have resolved before anything else is called. */
  load(): Promise<void>;
  /** Null when an operation is under way. Resolved means that the operation is written down: a crash will not lose it. */
  begin(request: { kind: OperationKind; trigger: Trigger; to: Release }): Promise<{ id: string } | null>;
  /** Takes every step there is to take: ends the operation under way, however it stands, then tidies up. */
  settle(options: { signal: AbortSignal; bringUpDue?: boolean }): Promise<void>;
  /** True while there are steps to take that a crash, or a fault in `begin`, has left. */
  isUnsettled(): boolean;
  /** False until the journal has been read. */
  isLoaded(): boolean;
  journal(): Journal;
  /** Records a fact that is no part of an operation (signed version, time floor). */
  remember(facts: Partial<Pick<Journal, 'highestSignedVersion' | 'timeFloor'>>): Promise<void>;
  operation(): Operation | null;
  outcome(id: string): HistoryEntry | null;
  /** Calls `listener` when an operation has ended and its end is on disk, before the tidying up that follows. */
  onEnd(listener: () => void): void;
  /** Calls `listener` at each sign that `settle` goes on: within a step with null, and with the step that has been taken. */
  onProgress(listener: (taken: Step['kind'] | null) => void): void;
};

/** Tries to read the journal before it is given up. */
const readTries = 4;

/** The update engine: one loop of observe → decide → apply over the journal. The same loop recovers after a crash. */
export function createUpdater(parts: UpdaterParts): Updater {
  const { engine, disk, dataDir, clock, logger, bootId, gate } = parts;
  const run: RunState = {
    journal: null,
    journalInDoubt: false,
    attempts: noAttempts(),
    watch: null,
    baseline: {},
    meter: createProgressMeter(),
    startedMs: null,
    stoppedAtMs: null,
    healthyAtMs: null,
  };

  let unreadable = 0;
  const endListeners: (() => void)[] = [];
  const progressListeners: ((taken: Step['kind'] | null) => void)[] = [];
  const tellProgress = (taken: Step['kind'] | null): void => {
    for (const listener of progressListeners) listener(taken);
  };

  const journal = (): Journal => {
    if (!run.journal) throw new Error('the journal has not been read');
    return run.journal;
  };

  const record = async (change: Change): Promise<void> => {
    const before = journal();
    const at = moment(run, parts);
    const next = changeJournal(before, change, at);
    await keepJournal({ ...parts, run }, next);
    try {
      // Before anybody hears of the change: who reads the files then reads what is true.
      await writeStateFiles(disk, dataDir, await findStaleFiles(disk, dataDir, next));
    } catch {
      // The change is made all the same; the next decision sees the stale files, and says what hinders it.
    }
    run.journal = next;
    const { watch } = run;
    // Images that went have left room: whether it is enough now is another question.
    run.attempts = change.kind === 'forget_images' ? { ...run.attempts, space: null, pull: null } : noAttempts();
    if (change.kind !== 'verify' && change.kind !== 'verify_revert') run.watch = null;
    reportChange(logger, change, { before, after: next, watch, nowMs: clock.monotonic(), durationMs: at.durationMs });
    if (before.operation && !next.operation) for (const listener of endListeners) listener();
  };

  const observe = async (bringUpDue: boolean): Promise<Facts> => {
    const now = journal();
    const idle = now.operation === null;
    const looksAtImages = idle || now.operation?.phase === 'preparing';
    return {
      bootId,
      journal: now,
      journalInDoubt: run.journalInDoubt,
      presentImages: looksAtImages ? await presentImages(engine, now) : [],
      heldImages: idle ? await engine.heldImages() : [],
      staleFiles: await findStaleFiles(disk, dataDir, now),
      watch: run.watch,
      attempts: run.attempts,
      bringUpDue,
      gate,
    };
  };

  const executors = createExecutors({ ...parts, run, record, alive: () => tellProgress(null) });

  return {
    isUnsettled: () => run.journalInDoubt || journal().operation !== null,
    isLoaded: () => run.journal !== null,
    journal,
    load: async () => {
      await makeDirectoryDurable(disk, dataDir, 0o755);
      const reading = await readJournal(disk, dataDir).catch((error: unknown): JournalReading => {
        // A disk may fail once; a file that it never gives out is as good as damaged.
        unreadable += 1;
        if (unreadable < readTries) throw error;
        return { kind: 'damaged', reason: 'the disk does not give it out' };
      });
      if (reading.kind === 'ok') {
        run.journal = reading.journal;
        if (reading.journal.operation) await record({ kind: 'resume' });
        return;
      }
      if (reading.kind === 'damaged') logger.event('state_repaired', { file: 'journal.json', reason: reading.reason });
      const adoption = await adoptStack({ engine, disk, dataDir, now: isoTime(clock.now()), bootId });
      for (const repair of adoption.repaired) logger.event('state_repaired', repair);
      await writeJournal(disk, dataDir, adoption.journal);
      run.journal = adoption.journal;
      const { installed } = adoption.journal;
      if (installed) logger.event('stack_adopted', { currentVersion: installed.version, images: installed.images });
    },
    begin: async ({ kind, trigger, to }) => {
      if (journal().operation) return null;
      const id = parts.newId();
      run.startedMs = clock.monotonic();
      run.stoppedAtMs = null;
      run.healthyAtMs = null;
      run.meter.expect(null);
      const beside = await holdBeside(engine, journal().installed, to);
      await record({ kind: 'begin', operation: { kind, trigger, id, to }, beside });
      return { id };
    },
    settle: async ({ signal, bringUpDue = false }) => {
      let due = bringUpDue;
      // Holds and images that could not be tidied before may have become others since.
      if (!journal().operation) run.attempts = { ...run.attempts, tidied: noAttempts().tidied };
      for (;;) {
        signal.throwIfAborted();
        tellProgress(null);
        const step = decide(await observe(due));
        if (step.kind === 'idle') return;
        if (step.kind === 'bring_up') due = false;
        await executors[step.kind](step as never, signal);
        tellProgress(step.kind);
      }
    },
    remember: async (facts) => {
      const next = { ...journal(), ...facts };
      await keepJournal({ ...parts, run }, next);
      run.journal = next;
    },
    operation: () => describeOperation(run),
    onEnd: (listener) => void endListeners.push(listener),
    onProgress: (listener) => void progressListeners.push(listener),
    outcome: (id) => journal().history.find((entry) => entry.id === id) ?? null,
  };
}

async function presentImages(engine: StackEngine, journal: Journal): Promise<string[]> {
  const ids = [...wantedImages(journal), ...Object.keys(journal.retired)];
  const found = await Promise.all(ids.map((id) => engine.imageId(id)));
  return ids.filter((_, index) => found[index] !== null);
}

/** What runs of the services that only `to` names, held: the way back must find it, and once replaced nothing else keeps it. */
async function holdBeside(engine: StackEngine, from: Release | null, to: Release): Promise<ServiceImages> {
  const beside: ServiceImages = { images: {}, imageIds: {} };
  const services = Object.keys(to.images).filter((service) => from !== null && !Object.hasOwn(from.imageIds, service));
  const containers = services.length > 0 ? await engine.containers() : [];
  for (const service of services) {
    const own = containers.filter((container) => container.service === service);
    const found = own.find(({ state }) => state === 'running') ?? own[0];
    // An image that cannot be held cannot be pinned either; then the compose file's tag is all there is.
    if (!found || (await engine.hold(found.imageId)) !== 'held') continue;
    beside.images[service] = imageName(found);
    beside.imageIds[service] = found.imageId;
  }
  return beside;
}

function moment(run: RunState, { clock, bootId, keepReleases }: UpdaterParts) {
  const now = clock.now();
  const operation = run.journal?.operation;
  // After a restart the time before it is only known by the wall clock, which may have jumped.
  const sinceStart = operation ? Math.max(0, now - Date.parse(operation.startedAt)) : 0;
  const stoppedAt = run.stoppedAtMs ?? (operation?.switchedAt ? Date.parse(operation.switchedAt) : null);
  // Where nothing ran before, nothing was away.
  const nothingRan = !operation?.from;
  const downtime =
    nothingRan || stoppedAt === null || run.healthyAtMs === null ? null : Math.max(0, run.healthyAtMs - stoppedAt);
  return {
    now: isoTime(now),
    bootId,
    keepReleases,
    durationMs: Math.round(run.startedMs === null ? sinceStart : clock.monotonic() - run.startedMs),
    downtimeMs: downtime === null ? null : Math.round(downtime),
  };
}

function describeOperation(run: RunState): Operation | null {
  const operation = run.journal?.operation;
  if (!operation) return null;
  const { id, kind, phase, trigger, startedAt, to } = operation;
  return { id, kind, phase, trigger, startedAt, version: to.version, progress: run.meter.read() };
}
