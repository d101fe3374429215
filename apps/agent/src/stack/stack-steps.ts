import type { Release } from '@station/protocol/release';
import { addSample, restartBaseline, startWatch } from './health-decide.ts';
import { writeJournal, type Journal } from './journal.ts';
import type { Step } from './stack-decide.ts';
import type { Attempts, StepFailure } from './stack-facts.ts';
import { pinnedRelease, type Change } from './operation-decide.ts';
import type { RegistryFailure } from './ports.ts';
import { fetchRelease, healRelease } from './image-fetch.ts';
import type { RunState, UpdaterParts } from './run-state.ts';
import { writeStateFiles } from './state-files.ts';

type Context = UpdaterParts & {
  run: RunState;
  record: (change: Change) => Promise<void>;
  /** Called at each sign that a step that takes long goes on. */
  alive: () => void;
};
type Executable = Exclude<Step, { kind: 'idle' }>;

/** One executor a step; a step without one does not compile. */
export type Executors = {
  [K in Executable['kind']]: (step: Extract<Executable, { kind: K }>, signal: AbortSignal) => Promise<void>;
};

export function createExecutors(context: Context): Executors {
  const { engine, run, clock, record } = context;
  return {
    write_journal: async () => {
      if (run.journal) await keepJournal(context, run.journal);
    },
    write_files: async ({ files }) => writeStateFiles(context.disk, context.dataDir, files),
    record: async ({ change }) => record(change),
    check_space: async ({ delayMs }, signal) => {
      await clock.sleep(delayMs, signal);
      run.attempts = { ...run.attempts, space: await checkSpace(context, signal) };
    },
    pull: async ({ delayMs, suspect }, signal) => {
      await clock.sleep(delayMs, signal);
      const { to } = operationOf(run);
      const bytes = Object.values(to.layers).reduce((sum, size) => sum + size, 0);
      run.meter.expect(bytes > 0 ? bytes : null);
      const answer = await fetchRelease(to, suspect, fetchParts(context, signal));
      run.attempts = {
        ...run.attempts,
        pull: answer.kind === 'ok' ? answer : failureAfter(run.attempts.pull, answer, context),
      };
    },
    discard: async ({ imageIds }) => discard(context, imageIds),
    heal: async ({ release }, signal) => {
      run.attempts = { ...run.attempts, healed: true };
      const damaged = operationOf(run)[release];
      if (damaged) await healRelease(damaged, fetchParts(context, signal));
    },
    up: async ({ delayMs }, signal) => {
      await clock.sleep(delayMs, signal);
      await bringUp(context, signal);
    },
    probe: async ({ delayMs }, signal) => {
      await clock.sleep(delayMs, signal);
      await sampleHealth(context, signal);
    },
    hold: async ({ imageIds }) => {
      for (const id of imageIds) await engine.hold(id);
      await engine.sync();
      tidied(run, 'hold', imageIds);
    },
    release_hold: async ({ imageIds }) => {
      for (const id of imageIds) await engine.releaseHold(id);
      tidied(run, 'release_hold', imageIds);
    },
    remove_images: async ({ imageIds }) => removeImages(context, imageIds),
    bring_up: async () => {
      const installed = run.journal?.installed;
      if (!installed) return;
      run.startedMs = clock.monotonic();
      await record({
        kind: 'begin',
        operation: { kind: 'bootstrap', trigger: 'boot', id: context.newId(), to: installed },
      });
    },
  };
}

/** Writes the journal; should that fail, then what is on disk may be either of the two, until one has been written. */
export async function keepJournal(
  { disk, dataDir, run }: UpdaterParts & { run: RunState },
  next: Journal,
): Promise<void> {
  run.journalInDoubt = true;
  await writeJournal(disk, dataDir, next);
  run.journalInDoubt = false;
}

/** Notes what was tried, whatever came of it, so that it is not tried again and again. */
function tidied(run: RunState, step: keyof Attempts['tidied'], imageIds: readonly string[]): void {
  const before = run.attempts.tidied;
  run.attempts = { ...run.attempts, tidied: { ...before, [step]: [...before[step], ...imageIds] } };
}

/** Once all are gone, and durably so, nothing is left that a fetch could take up. */
async function discard({ engine, run, logger, record }: Context, imageIds: readonly string[]): Promise<void> {
  const { pull } = run.attempts;
  const fetched = pull?.kind === 'failed' ? pull.fetched : {};
  let gone = true;
  for (const id of imageIds) {
    const answer = await engine.removeImage(id, { force: true });
    if (answer === 'removed') logger.event('image_removed', { image: fetched?.[id] ?? id });
    if (answer === 'in_use') gone = false;
  }
  await engine.sync();
  if (gone) await record({ kind: 'fetch_anew', imageIds });
  else tidied(run, 'remove_images', imageIds);
}

/** Images still in use stay on the list: a later run removes them. */
async function removeImages({ engine, run, logger, record }: Context, imageIds: readonly string[]): Promise<void> {
  const gone: string[] = [];
  for (const id of imageIds) {
    const answer = await engine.removeImage(id, { force: true });
    if (answer === 'removed') {
      logger.event('image_removed', { image: run.journal?.retired[id] ?? run.journal?.fetched[id] ?? id });
    }
    if (answer !== 'in_use') gone.push(id);
  }
  // An image whose removal is lost in a power cut may come back damaged, and would then be taken for a good one.
  await engine.sync();
  if (gone.length > 0) await record({ kind: 'forget_images', imageIds: gone });
  tidied(run, 'remove_images', imageIds);
}

/** Room for a layer while it is fetched and unpacked, as a multiple of its compressed size, and what is to stay free. */
const roomPerByte = 3;
const reserveBytes = 32 * 1024 * 1024;

async function checkSpace(context: Context, signal: AbortSignal): Promise<Attempts['space']> {
  const { engine, run } = context;
  const { to } = operationOf(run);
  const layers: Record<string, number> = {};
  const here = new Set(layersOfReleases(run.journal));
  for (const [service, image] of Object.entries(to.images)) {
    const answer = await engine.layers(to.digests[service] ?? image, signal);
    if (answer.kind === 'failed') return failureAfter(run.attempts.space, answer, context);
    if (answer.kind !== 'ok') continue;
    Object.assign(layers, answer.layers);
    if (await wasFetched(context, image)) for (const digest of Object.keys(answer.layers)) here.add(digest);
  }
  const missing = Object.entries(layers).filter(([digest]) => !here.has(digest));
  const needed = missing.reduce((sum, [, size]) => sum + size, 0) * roomPerByte + reserveBytes;
  const free = await engine.freeBytes();
  if (free === null || free >= needed) return { kind: 'ok', layers };
  const reason = `the release needs about ${mebibytes(needed)} MiB free, there are ${mebibytes(free)} MiB`;
  return failureAfter(
    run.attempts.space,
    { kind: 'failed', code: 'disk_space_low', reason, transient: false },
    context,
  );
}

/** Layers of the releases that are on this machine: the installed one and those that are kept. */
const layersOfReleases = (journal: Journal | null): string[] =>
  [journal?.installed, ...(journal?.kept ?? []).map(({ release }) => release)].flatMap((release) =>
    Object.keys(release?.layers ?? {}),
  );

/** Whether an earlier try of the release has fetched an image that is still here. */
async function wasFetched({ engine, run }: Context, image: string): Promise<boolean> {
  const ids = Object.entries(run.journal?.fetched ?? {}).filter(([, reference]) => reference === image);
  const found = await Promise.all(ids.map(([id]) => engine.imageId(id)));
  return found.some((id) => id !== null);
}

async function bringUp(context: Context, signal: AbortSignal): Promise<void> {
  const { engine, run, clock, logger } = context;
  const release = pinned(run);
  const services = Object.keys(release.imageIds);
  logger.event('docker_restart', { services });
  const baseline = restartBaseline(await engine.containers(), services);
  const answer = await engine.up(signal);
  if (answer.kind === 'failed') {
    const failure: RegistryFailure = { ...answer, code: 'engine_failed', transient: answer.hung !== true };
    run.attempts = { ...run.attempts, up: failureAfter(run.attempts.up, failure, context) };
    return;
  }
  // Before the switch it is the release that ran anyway that was brought up again.
  if (run.journal?.operation?.switchedAt !== null) run.stoppedAtMs ??= answer.stoppedAtMs;
  await engine.sync();
  run.healthyAtMs = null;
  run.baseline = baseline;
  run.watch = startWatch(clock.monotonic());
  run.attempts = { ...run.attempts, up: { kind: 'ok' } };
}

async function sampleHealth({ engine, run, clock, probe }: Context, signal: AbortSignal): Promise<void> {
  const watched = run.watch;
  // Should the engine be away, then nothing is known of the time without it: the watch begins anew.
  run.watch = null;
  const [containers, answer] = await Promise.all([engine.containers(), probe(signal)]);
  run.watch = watched;
  if (!run.watch) return;
  const sample = { nowMs: clock.monotonic(), answer, containers, imageIds: pinned(run).imageIds };
  const { firstPassMs } = run.watch;
  run.watch = addSample(run.watch, sample, run.baseline);
  if (firstPassMs === null && run.watch.firstPassMs !== null) run.healthyAtMs = clock.now();
}

function failureAfter(
  before: StepFailure | { kind: 'ok' } | null,
  answer: RegistryFailure & { fetched?: Record<string, string>; unread?: readonly string[] },
  { logger }: Context,
): StepFailure {
  const earlier = before?.kind === 'failed' ? before : null;
  const failures = (earlier?.failures ?? 0) + 1;
  const { code, reason, transient, detail, unread } = answer;
  // An earlier try may have fetched what this one did not get to.
  const fetched = { ...earlier?.fetched, ...answer.fetched };
  if (detail !== undefined) logger.event('engine_failed', { step: code, detail });
  logger.event('update_retry', { code, reason, attempt: failures });
  return { kind: 'failed', failures, code, reason, transient, fetched, ...(unread ? { unread } : {}) };
}

const fetchParts = ({ engine, logger, clock, run, alive }: Context, signal: AbortSignal) => ({
  engine,
  logger,
  clock,
  signal,
  alive,
  onProgress: run.meter.update,
});

function operationOf(run: RunState) {
  const operation = run.journal?.operation;
  if (!operation) throw new Error('a step of an operation without an operation');
  return operation;
}

function pinned(run: RunState): Release {
  const release = run.journal && pinnedRelease(run.journal);
  if (!release) throw new Error('nothing is pinned to bring up');
  return release;
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);
