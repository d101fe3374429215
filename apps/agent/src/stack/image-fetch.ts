import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { Release } from '@station/protocol/release';
import type { ImageCondition, PullAnswer, PullProgress, RegistryFailure, StackEngine } from './ports.ts';
import { pullUnlessSilent } from './silent-pull.ts';

export type FetchParts = {
  engine: StackEngine;
  logger: AgentLogger;
  clock: Clock;
  signal: AbortSignal;
  /** Called at each sign that the work goes on: when a pull makes progress, and between looks at images. */
  alive: () => void;
  onProgress: (service: string, progress: PullProgress) => void;
};

export type FetchAnswer =
  | { kind: 'ok'; imageIds: Record<string, string>; digests: Record<string, string> }
  | (RegistryFailure & {
      fetched: Record<string, string>;
      /** Ids of suspect images that there is no room to read through, where nothing else stands in the way of the release. */
      unread?: readonly string[];
    });

/**
 * Fetches all images of a release side by side, holds each against pruning and makes them durable. Holding is also the proof
 * that the engine can use an image: one that a power cut broke is removed and fetched again.
 * @param suspect true when the power may have been cut while these images were being written: each is then read through.
 */
export async function fetchRelease(release: Release, suspect: boolean, parts: FetchParts): Promise<FetchAnswer> {
  const services = Object.entries(release.images);
  const answers = await Promise.all(
    services.map(async ([service, image]) => {
      const reference = release.digests[service] ?? image;
      return { service, image, answer: await fetchUsable(service, reference, suspect, parts) };
    }),
  );
  await parts.engine.sync();
  const imageIds: Record<string, string> = {};
  const digests: Record<string, string> = {};
  const fetched: Record<string, string> = {};
  for (const { service, image, answer } of answers) {
    if (answer.imageId !== undefined) fetched[answer.imageId] = image;
    if (answer.kind !== 'ok') continue;
    imageIds[service] = answer.imageId;
    if (answer.digest !== null) digests[service] = answer.digest;
  }
  const failures = answers.map(({ answer }) => answer).filter((answer) => answer.kind === 'failed');
  const [failure] = failures;
  if (!failure) return { kind: 'ok', imageIds, digests };
  const { imageId: _, unread: __, ...told } = failure;
  const unread = failures.flatMap((each) => (each.unread && each.imageId !== undefined ? [each.imageId] : []));
  return { ...told, fetched, ...(suspect && unread.length === failures.length ? { unread } : {}) };
}

/**
 * Looks through images that are on this machine already, and fetches the broken ones again. One that can be had nowhere at the moment
 * stays as it is: damaged it may still run, and it is all there is to go back to.
 */
export async function healRelease(release: Release, parts: FetchParts): Promise<void> {
  for (const [service, imageId] of Object.entries(release.imageIds)) {
    const condition = await look(imageId, true, parts);
    if (condition === 'whole' || condition === 'unknown') continue;
    const image = release.images[service] ?? imageId;
    const reference = release.digests[service] ?? image;
    if (condition === 'damaged') {
      if (!(await canBeHad(service, reference, parts))) continue;
      await discard(imageId, parts);
    }
    parts.logger.event('image_healed', { service, image });
    await fetchUsable(service, reference, false, parts);
  }
  await parts.engine.sync();
}

/** What the registry says; where the agent cannot ask it, a pull of what is here already tells whether the engine can. */
async function canBeHad(service: string, reference: string, parts: FetchParts): Promise<boolean> {
  const { kind } = await parts.engine.layers(reference, parts.signal);
  parts.alive();
  if (kind === 'unknown') return (await fetchOne(service, reference, parts)).kind !== 'failed';
  return kind === 'ok';
}

/** Removes an image with all that stands on it: that keeps its damaged layers, and the next pull would take them up again. */
async function discard(imageId: string, { engine }: FetchParts): Promise<void> {
  await engine.releaseHold(imageId);
  await engine.removeImage(imageId, { force: true });
}

/** @param through whether it is read through; an image that is held already is not looked at by holding it. */
async function look(imageId: string, through: boolean, parts: FetchParts): Promise<ImageCondition | 'absent'> {
  const hold = await parts.engine.hold(imageId);
  if (hold !== 'held') return hold === 'broken' ? 'damaged' : hold;
  if (!through) return 'whole';
  const condition = await readThrough(imageId, parts);
  // An engine that breaks off in the middle answers like a damaged image, and an image once removed may not be had again.
  return condition === 'damaged' ? readThrough(imageId, parts) : condition;
}

async function readThrough(imageId: string, { engine, signal, alive }: FetchParts): Promise<ImageCondition> {
  alive();
  const condition = await engine.verifyImage(imageId, signal);
  alive();
  return condition;
}

/** What a failure leaves on this machine all the same. */
type UsableAnswer =
  | Extract<PullAnswer, { kind: 'ok' }>
  | (RegistryFailure & { imageId?: string; /** Nothing is known of it. */ unread?: true });

async function fetchUsable(
  service: string,
  reference: string,
  suspect: boolean,
  parts: FetchParts,
): Promise<UsableAnswer> {
  let imageId: string | null = null;
  for (const isLastTry of [false, true]) {
    const answer = await fetchOne(service, reference, parts);
    if (answer.kind === 'failed') return answer;
    imageId = answer.kind === 'ok' ? answer.imageId : null;
    const condition = answer.kind === 'ok' ? await look(answer.imageId, suspect, parts) : 'damaged';
    if (answer.kind === 'ok' && condition === 'whole') return answer;
    if (condition === 'unknown') {
      const reason = `there is no room to make sure that the image of "${service}" is whole`;
      return { kind: 'failed', code: 'disk_space_low', reason, transient: false, unread: true, ...named(imageId) };
    }
    if (isLastTry) break;
    parts.logger.event('image_healed', { service, image: reference });
    // The registry has just answered for it.
    await discard(imageId ?? reference, parts);
  }
  const reason = `the image of "${service}" cannot be used after it was fetched twice`;
  return { kind: 'failed', code: 'engine_failed', reason, transient: true, ...named(imageId) };
}

const named = (imageId: string | null): { imageId?: string } => (imageId === null ? {} : { imageId });

const reportEveryMs = 1000;

async function fetchOne(service: string, reference: string, parts: FetchParts): Promise<PullAnswer> {
  const { engine, logger, clock, signal, alive } = parts;
  let reportedMs = -Infinity;
  const onProgress = (progress: PullProgress): void => {
    alive();
    parts.onProgress(service, progress);
    const nowMs = clock.monotonic();
    if (nowMs - reportedMs < reportEveryMs) return;
    reportedMs = nowMs;
    logger.event('docker_pull', { service, image: reference, ...progress });
  };
  const pull = (told: typeof onProgress, until: AbortSignal) => engine.pull(reference, told, until);
  return pullUnlessSilent(pull, { clock, signal, onProgress });
}
