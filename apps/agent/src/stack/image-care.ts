import { ownValue, setOwnValue } from '@station/protocol/own-value';
import {
  describeUnhealed,
  imageReferences,
  referencesOf,
  type Unhealed,
  uncheckedImages,
  words,
} from './image-care-decide.ts';
import { imagesOf, wantedImages } from './operation-decide.ts';
import type { ImageCondition } from './stack-ports.ts';
import { failureAfter, note, operationOf, type StepContext } from './step-context.ts';

/*
 * How damaged images are found and made again: `checkImages` and `checkNextImage` find, record what is to be done in the journal, and
 * `rebuild` does it.
 */

/** Checks images that something may be wrong with. If one is damaged, all others of the stack are checked before anything is removed. */
export async function checkImages(
  context: StepContext,
  imageIds: readonly string[],
  signal: AbortSignal,
  isIdle = false,
): Promise<void> {
  const { keeper } = context;
  const { needed, spare } = await imagesOfStack(context, signal);
  const found = await checkEach(context, imageIds, { isIdle, signal });
  if ([...found.values()].some((condition) => condition === 'damaged')) {
    const others = unchecked(context, Object.keys({ ...spare, ...needed }), [...found.keys()]);
    for (const [id, condition] of await checkEach(context, others, { isIdle: false, signal })) {
      // Images that somebody removed are missed only by what needs them.
      if (condition !== 'absent') found.set(id, condition);
    }
  }
  noteFound(context, found);
  await keeper.record({ kind: 'images_checked', whole: withCondition(found, 'whole'), isDone: false });
  const damaged = [...withCondition(found, 'damaged'), ...withCondition(found, 'absent')];
  if (damaged.length > 0) await heal(context, damaged, { needed, spare }, signal);
}

/** One call for each: on a slow card all of them take longer than the agent may be silent. */
async function checkEach(
  { engine, alive }: StepContext,
  imageIds: readonly string[],
  options: { isIdle: boolean; signal: AbortSignal },
): Promise<Map<string, ImageCondition>> {
  const found = new Map<string, ImageCondition>();
  for (const id of imageIds) {
    alive();
    for (const [one, condition] of await engine.checkImages([id], options)) found.set(one, condition);
  }
  alive();
  return found;
}

/** Checks the next image of the stack, or ends the check of this boot. Each is a step of its own: requests need not wait for all of them. */
export async function checkNextImage(context: StepContext, signal: AbortSignal): Promise<void> {
  const { engine, keeper } = context;
  const { run } = keeper;
  const named = Object.keys(await engine.namedImages(signal));
  const [next] = unchecked(context, [...wantedImages(keeper.journal()), ...named], run.images.tried);
  if (next === undefined) {
    const isDone = describeUnhealed(run.images.unhealed) === null;
    run.images = { ...run.images, tried: [] };
    return keeper.record({ kind: 'images_checked', whole: [], isDone });
  }
  if ((await engine.imageId(next)) !== null) return checkImages(context, [next], signal, true);
  run.images = { ...run.images, tried: [...run.images.tried, next] };
}

const unchecked = ({ keeper, bootId }: StepContext, ids: readonly string[], tried: readonly string[]): string[] =>
  uncheckedImages(ids, { journal: keeper.journal(), bootId, tried });

const withCondition = (found: ReadonlyMap<string, ImageCondition>, wanted: ImageCondition): string[] =>
  [...found].flatMap(([id, condition]) => (condition === wanted ? [id] : []));

/** Id → reference. `spare`: left by releases that nobody needs any more. */
type StackImages = Record<'needed' | 'spare', Record<string, string>>;

async function imagesOfStack({ engine, keeper }: StepContext, signal: AbortSignal): Promise<StackImages> {
  const journal = keeper.journal();
  const { pull } = keeper.run.attempts;
  const pulled = pull?.kind === 'ok' && journal.operation ? referencesOf({ ...journal.operation.to, ...pull }) : {};
  const needed = { ...(await engine.namedImages(signal)), ...imageReferences(journal), ...pulled };
  const spare = Object.entries({ ...journal.retired, ...journal.fetched }).filter(([id]) => !Object.hasOwn(needed, id));
  return { needed, spare: Object.fromEntries(spare) };
}

function noteFound(context: StepContext, found: ReadonlyMap<string, ImageCondition>): void {
  const { run } = context.keeper;
  const unread = withCondition(found, 'unknown');
  const isStill = (id: string, why: string): boolean =>
    !found.has(id) || (why === 'stays_damaged' && found.get(id) === 'damaged');
  const unhealed = Object.fromEntries(Object.entries(run.images.unhealed).filter(([id, { why }]) => isStill(id, why)));
  for (const id of unread) setOwnValue(unhealed, id, { image: id, why: 'unread' });
  run.images = { unhealed, tried: [...run.images.tried, ...found.keys()] };
  // A fetch cannot go on with them: its own images are fetched again when there is never room to check them.
  if (unread.length === 0 || run.attempts.pull?.kind !== 'ok') return;
  const reason = 'there is not enough disk space to check the fetched images';
  const fetched = imagesOf({ images: operationOf(context).to.images, imageIds: run.attempts.pull.imageIds });
  const failure = { kind: 'failed', code: 'disk_space_low', reason, transient: false, unread, fetched } as const;
  note(context, { pull: failureAfter(null, failure, context) });
}

/** Removes damaged images that nobody needs, and plans how the others are made again. */
async function heal(
  context: StepContext,
  damaged: readonly string[],
  { needed, spare }: StackImages,
  signal: AbortSignal,
): Promise<void> {
  const { engine, keeper, logger } = context;
  const nameOf = (id: string): string => ownValue({ ...spare, ...needed }, id) ?? id;
  logger.event('images_damaged', { images: damaged.map(nameOf) });
  for (const id of damaged) if (Object.hasOwn(spare, id)) await engine.removeImage(id, { force: true });
  // What was in vain once in this boot only stops the stack again. And the archive of a plan is needed until it is carried out.
  const { unhealed } = keeper.run.images;
  const curable = damaged.filter((id) => !Object.hasOwn(spare, id) && ownValue(unhealed, id)?.why !== 'stays_damaged');
  if (curable.length === 0 || keeper.journal().rebuilding) return;
  const { rebuilding, refused } = await engine.planRebuild(curable, needed, signal);
  for (const { reason, imageIds } of refused) {
    noteUnhealed(
      context,
      imageIds.map((id) => [id, { image: nameOf(id), why: reason }]),
    );
    logger.event('images_not_healed', { images: imageIds.map(nameOf), reason });
  }
  if (rebuilding !== null) await keeper.record({ kind: 'rebuild', rebuilding });
}

function noteUnhealed({ keeper: { run } }: StepContext, more: [id: string, Unhealed[string]][]): void {
  run.images = { ...run.images, unhealed: { ...run.images.unhealed, ...Object.fromEntries(more) } };
}

/** Makes images again as the journal says. While a registry is silent, the journal keeps it, and the stack waits. */
export async function rebuild(context: StepContext, signal: AbortSignal): Promise<void> {
  const { engine, keeper, logger } = context;
  const { rebuilding } = keeper.journal();
  if (!rebuilding) return;
  const { saved, references } = rebuilding;
  const images = Object.values(references);
  const answer = await engine.rebuildImages(rebuilding, signal);
  if (answer.kind === 'rebuilt') {
    const healed = Object.keys(references);
    const left = Object.entries(keeper.run.images.unhealed).filter(([id]) => !healed.includes(id));
    keeper.run.images = { ...keeper.run.images, unhealed: Object.fromEntries(left) };
    for (const [id, image] of Object.entries(references)) {
      logger.event('image_healed', { image, from: saved.includes(id) ? 'disk' : 'registry' });
    }
    return keeper.record({ kind: 'rebuilt', imageIds: healed });
  }
  const { reason } = answer;
  noteUnhealed(
    context,
    Object.entries(references).map(([id, image]) => [id, { image, why: reason }]),
  );
  logger.event('images_not_healed', { images, reason });
  if (reason !== 'needs_registry') return keeper.record({ kind: 'rebuild_failed' });
  const failure = { kind: 'failed', code: 'image_damaged', reason: words[reason], transient: true } as const;
  note(context, { rebuild: failureAfter(keeper.run.attempts.rebuild, failure, context) });
}
