import type { Release } from '@station/protocol/release';
import { ownValue } from '@station/protocol/own-value';
import { addParts, addSample, partsToLookAt, restartBaseline, startWatch } from './health-decide.ts';
import { checkImages, checkNextImage, rebuild } from './image-care.ts';
import { fetchRelease, type FetchParts } from './image-fetch.ts';
import type { Journal } from './journal.ts';
import { releaseToRun, wantedImages } from './operation-decide.ts';
import { untilFree } from './proxy-service.ts';
import type { RegistryFailure, StackEngine } from './stack-ports.ts';
import { surfaceAfterRevert, surfaceFault, surfaceOf } from './surface-decide.ts';
import type { Surface, SurfacePart, SurfaceProbe } from './surface-ports.ts';
import type { Step } from './stack-decide.ts';
import type { Attempts, Watch } from './stack-facts.ts';
import { writeStateFiles } from './state-files.ts';
import { failureAfter, note, operationOf, type StepContext } from './step-context.ts';

type Executable = Exclude<Step, { kind: 'idle' }>;
type Executor<K extends Executable['kind']> = (
  context: StepContext,
  step: Extract<Executable, { kind: K }>,
  signal: AbortSignal,
) => Promise<void>;

/** Executes one step. */
export function apply(context: StepContext, step: Executable, signal: AbortSignal): Promise<void> {
  return executors[step.kind](context, step as never, signal);
}

/** One executor for each step; a missing one does not compile. */
const executors: { readonly [K in Executable['kind']]: Executor<K> } = {
  write_journal: ({ keeper }) => keeper.rewrite(),
  write_files: ({ disk, dataDir }, { files }) => writeStateFiles(disk, dataDir, files),
  record: ({ keeper }, { change }) => keeper.record(change),
  bring_up: beginBringUp,
  check_space: async (context, { delayMs }, signal) => {
    await context.clock.sleep(delayMs, signal);
    const space = await checkSpace(context, signal);
    note(context, { space });
  },
  pull: async (context, { delayMs, suspect }, signal) => {
    await context.clock.sleep(delayMs, signal);
    await pull(context, suspect, signal);
  },
  discard: (context, { imageIds }) => discard(context, imageIds),
  check_images: (context, { imageIds }, signal) => checkImages(context, imageIds, signal),
  check_next_image: (context, _, signal) => checkNextImage(context, signal),
  rebuild: async (context, { delayMs }, signal) => {
    await context.clock.sleep(delayMs, signal);
    await rebuild(context, signal);
  },
  learn_surface: learnSurface,
  up: async (context, { delayMs }, signal) => {
    await context.clock.sleep(delayMs, signal);
    await bringUp(context, signal);
  },
  probe: async (context, { delayMs }, signal) => {
    await context.clock.sleep(delayMs, signal);
    await sampleHealth(context, signal);
  },
  pin_images: async (context, { imageIds }) => {
    for (const id of imageIds) await context.engine.pinImage(id);
    await context.engine.sync();
    noteTidied(context, 'pin_images', imageIds);
  },
  unpin_images: async (context, { imageIds }) => {
    for (const id of imageIds) await context.engine.unpinImage(id);
    noteTidied(context, 'unpin_images', imageIds);
  },
  remove_images: (context, { imageIds }) => removeImages(context, imageIds),
};

async function beginBringUp({ keeper, clock, newId }: StepContext): Promise<void> {
  const { installed } = keeper.journal();
  if (!installed) return;
  keeper.run.startedMs = clock.monotonic();
  await keeper.record({
    kind: 'begin',
    operation: { kind: 'bootstrap', trigger: 'boot', id: newId(), to: installed },
  });
}

async function pull(context: StepContext, suspect: boolean, signal: AbortSignal): Promise<void> {
  const { run } = context.keeper;
  const { to } = operationOf(context);
  const bytes = Object.values(to.layers).reduce((sum, size) => sum + size, 0);
  run.meter.expect(bytes > 0 ? bytes : null);
  const answer = await fetchRelease(to, fetchParts(context, signal));
  if (answer.kind !== 'ok') {
    const { unread, ...failure } = answer;
    const told = suspect && unread ? { ...failure, unread } : failure;
    return note(context, { pull: failureAfter(run.attempts.pull, told, context) });
  }
  await rememberImages(context, { ...to, digests: answer.digests });
  note(context, { pull: { ...answer, isDoubtful: suspect || answer.isDoubtful } });
}

/** With the releases that are here already: those of an older agent were never noted. */
async function rememberImages({ keeper, seenImages }: StepContext, fetched: Release): Promise<void> {
  const { installed, kept } = keeper.journal();
  await seenImages?.remember([...kept.map(({ release }) => release), ...(installed ? [installed] : []), fetched]);
}

/** Records what was tried, with any result, so that it is not repeated at once. */
function noteTidied(context: StepContext, step: keyof Attempts['tidied'], imageIds: readonly string[]): void {
  const before = context.keeper.run.attempts.tidied;
  note(context, { tidied: { ...before, [step]: [...before[step], ...imageIds] } });
}

/** Once all are durably removed, a fetch cannot reuse any damaged layer. */
async function discard(context: StepContext, imageIds: readonly string[]): Promise<void> {
  const { engine, logger, keeper } = context;
  const { pull } = keeper.run.attempts;
  const fetched = pull?.kind === 'failed' ? pull.fetched : {};
  let gone = true;
  for (const id of imageIds) {
    const answer = await engine.removeImage(id, { force: true });
    if (answer === 'removed') logger.event('image_removed', { image: ownValue(fetched, id) ?? id });
    if (answer === 'in_use') gone = false;
  }
  await engine.sync();
  if (gone) await keeper.record({ kind: 'fetch_anew', imageIds });
  else noteTidied(context, 'remove_images', imageIds);
}

/** Images still in use stay on the list: a later run removes them. */
async function removeImages(context: StepContext, imageIds: readonly string[]): Promise<void> {
  const { engine, logger, keeper } = context;
  const gone: string[] = [];
  for (const id of imageIds) {
    const answer = await engine.removeImage(id, { force: true });
    if (answer === 'removed') {
      const { retired, fetched } = keeper.journal();
      logger.event('image_removed', { image: ownValue(retired, id) ?? ownValue(fetched, id) ?? id });
    }
    if (answer !== 'in_use') gone.push(id);
  }
  // A power cut may undo the removal and leave the image damaged; a later check would take it for a good one.
  await engine.sync();
  if (gone.length > 0) await keeper.record({ kind: 'forget_images', imageIds: gone });
  noteTidied(context, 'remove_images', imageIds);
}

/** The space to keep free. */
const reserveBytes = 32 * 1024 * 1024;

async function checkSpace(context: StepContext, signal: AbortSignal): Promise<Attempts['space']> {
  const { engine, keeper } = context;
  const { run } = keeper;
  const { to } = operationOf(context);
  const layers: Record<string, number> = {};
  const here = new Set(layersOfReleases(keeper.journal()));
  for (const [service, image] of Object.entries(to.images)) {
    if (await isHere(engine, ownValue(to.imageIds, service))) continue;
    const answer = await engine.layers(ownValue(to.digests, service) ?? image, signal);
    if (answer.kind === 'failed') return failureAfter(run.attempts.space, answer, context);
    if (answer.kind !== 'ok') continue;
    Object.assign(layers, answer.layers);
    if (await wasFetched(context, image)) for (const digest of Object.keys(answer.layers)) here.add(digest);
  }
  const missing = Object.entries(layers).filter(([digest]) => !here.has(digest));
  const bytes = missing.reduce((sum, [, size]) => sum + size, 0);
  const needed = bytes * (await engine.roomPerByte()) + reserveBytes;
  const free = await engine.freeBytes();
  if (free === null || free >= needed) return { kind: 'ok', layers };
  const reason = `the release needs about ${mebibytes(needed)} MiB free, there are ${mebibytes(free)} MiB`;
  return failureAfter(
    run.attempts.space,
    { kind: 'failed', code: 'disk_space_low', reason, transient: false },
    context,
  );
}

/** Whether an image that stays as installed is on this machine. */
const isHere = async (engine: StackEngine, imageId: string | undefined): Promise<boolean> =>
  imageId !== undefined && (await engine.imageId(imageId)) !== null;

/** Layers of the releases that are on this machine: the installed one and those that are kept. */
const layersOfReleases = ({ installed, kept }: Journal): string[] =>
  [installed, ...kept.map(({ release }) => release)].flatMap((release) => Object.keys(release?.layers ?? {}));

/** Whether an earlier try has fetched an image of the release that is still on this machine. */
async function wasFetched({ engine, keeper }: StepContext, image: string): Promise<boolean> {
  const ids = Object.entries(keeper.journal().fetched).filter(([, reference]) => reference === image);
  const found = await Promise.all(ids.map(([id]) => engine.imageId(id)));
  return found.some((id) => id !== null);
}

async function bringUp(context: StepContext, signal: AbortSignal): Promise<void> {
  const { engine, keeper, clock, logger } = context;
  const { run } = keeper;
  const { running } = await engine.services();
  const expected = Object.fromEntries(
    Object.entries(runningRelease(context).imageIds).filter(([service]) => running.includes(service)),
  );
  const services = Object.keys(expected);
  logger.event('docker_restart', { services });
  const baseline = restartBaseline(await engine.containers(), services);
  // `up` would start the proxy while its port is taken, and a good release would look broken.
  await untilFree(context.lock, context, signal);
  const answer = await engine.up(signal);
  if (answer.kind === 'failed') {
    const failure: RegistryFailure = { ...answer, code: 'engine_failed', transient: answer.hung !== true };
    return note(context, { up: failureAfter(run.attempts.up, failure, context) });
  }
  // Before the switch the installed release was brought up again, so there is no downtime to record.
  if (run.journal?.operation?.switchedAt !== null) run.stoppedAtMs ??= answer.stoppedAtMs;
  await engine.sync();
  run.healthyAtMs = null;
  run.baseline = baseline;
  run.expected = expected;
  const { operation } = keeper.journal();
  const isNew = operation !== null && releaseToRun(keeper.journal()) === operation.to;
  const required = isNew ? operation.surface : operation && surfaceAfterRevert(operation);
  run.watch = startWatch(clock.monotonic(), required ?? null);
  note(context, { up: { kind: 'ok' } });
}

async function sampleHealth(context: StepContext, signal: AbortSignal): Promise<void> {
  const { engine, clock, probe } = context;
  const { run } = context.keeper;
  const watched = run.watch;
  // Nothing is known of the time in which the engine did not answer, so the watch begins again.
  run.watch = null;
  const [containers, answer] = await Promise.all([engine.containers(), probe(signal)]);
  run.watch = watched;
  if (!run.watch) return;
  const sample = { nowMs: clock.monotonic(), answer, containers, imageIds: run.expected };
  const { firstPassMs } = run.watch;
  run.watch = addSample(run.watch, sample, run.baseline);
  if (firstPassMs === null && run.watch.firstPassMs !== null) run.healthyAtMs = clock.now();
  run.watch = await lookAtParts(context, run.watch, signal);
}

/** Looks at what the release does not show yet, with what was seen of the one before. */
async function lookAtParts({ keeper, surface }: StepContext, watch: Watch, signal: AbortSignal): Promise<Watch> {
  const before = keeper.journal().operation?.surface;
  const parts = partsToLookAt(watch);
  if (before === undefined || parts.length === 0) return watch;
  const found = await Promise.all(
    parts.map(async (part) => [part, await faultNow(surface, part, before, signal)] as const),
  );
  return addParts(watch, new Map(found));
}

const faultNow = async <Part extends SurfacePart>(
  { look }: SurfaceProbe,
  part: Part,
  before: Surface,
  signal: AbortSignal,
): Promise<string | null> => surfaceFault(part, before, await look[part](signal));

async function learnSurface(context: StepContext, _step: Step, signal: AbortSignal): Promise<void> {
  const { look } = context.surface;
  const [page, socket, setup, logIn, devices] = await Promise.all([
    look.page(signal),
    look.socket(signal),
    look.setup(signal),
    look.logIn(signal),
    look.devices(signal),
  ]);
  note(context, { surface: surfaceOf({ page, socket, setup, logIn, devices }) });
}

function fetchParts({ engine, logger, clock, keeper, alive }: StepContext, signal: AbortSignal): FetchParts {
  const journal = keeper.journal();
  const wanted = wantedImages(journal);
  const spare = Object.keys({ ...journal.fetched, ...journal.retired }).filter((id) => !wanted.has(id));
  return { engine, logger, clock, signal, alive, spare, onProgress: keeper.run.meter.update };
}

function runningRelease({ keeper }: StepContext): Release {
  const release = releaseToRun(keeper.journal());
  if (!release) throw new Error('there is no release to bring up');
  return release;
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);
