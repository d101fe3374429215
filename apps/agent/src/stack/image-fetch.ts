import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { Progress } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import { unlessSilent } from '../core/unless-silent.ts';
import {
  registrySilent,
  type ImageCondition,
  type PullAnswer,
  type PullProgress,
  type RegistryFailure,
  type StackEngine,
} from './stack-ports.ts';

export type FetchParts = {
  engine: StackEngine;
  logger: AgentLogger;
  clock: Clock;
  signal: AbortSignal;
  /** Called at each sign of progress: when a pull advances, and between checks of images. */
  alive: () => void;
  onProgress: (service: string, progress: PullProgress) => void;
  /** Ids of images that failed tries of any release have left, and that no release needs. */
  spare: readonly string[];
};

type FetchAnswer =
  | { kind: 'ok'; imageIds: Record<string, string>; digests: Record<string, string> }
  | (RegistryFailure & {
      fetched: Record<string, string>;
      /** Ids of suspect images that could not be verified for lack of space, when nothing else failed. */
      unread?: readonly string[];
    });

/**
 * Fetches all images of a release in parallel, pins each against pruning and makes them durable. A pin also proves
 * that the engine can use the image: an image that a power cut damaged is removed and fetched again.
 * @param suspect true when the power may have been cut while these images were written: each one is then verified.
 */
export async function fetchRelease(release: Release, suspect: boolean, parts: FetchParts): Promise<FetchAnswer> {
  const { engine, spare, signal } = parts;
  const fetchImage = async ([service, image]: [string, string]) => {
    const reference = ownValue(release.digests, service) ?? image;
    const wanted = { service, reference, imageId: ownValue(release.imageIds, service) ?? null };
    return { service, image, answer: await fetchUsable(wanted, suspect, parts) };
  };
  let answers = await Promise.all(Object.entries(release.images).map(fetchImage));
  // Only when all pulls have ended: the engine keeps layers that a pull uses.
  if (answers.some(isNotStored) && (await engine.repairStorage(spare, signal))) {
    answers = await Promise.all(
      answers.map(async (each) => (isNotStored(each) ? fetchImage([each.service, each.image]) : each)),
    );
  }
  await engine.sync();
  const imageIds: Record<string, string> = {};
  const digests: Record<string, string> = {};
  const fetched: Record<string, string> = {};
  for (const { service, image, answer } of answers) {
    if (answer.imageId !== undefined) setOwnValue(fetched, answer.imageId, image);
    if (answer.kind !== 'ok') continue;
    setOwnValue(imageIds, service, answer.imageId);
    if (answer.digest !== null) setOwnValue(digests, service, answer.digest);
  }
  const failures = answers.map(({ answer }) => answer).filter((answer) => answer.kind === 'failed');
  const [failure] = failures;
  if (!failure) return { kind: 'ok', imageIds, digests };
  const { imageId: _, unread: __, ...failureFacts } = failure;
  const unread = failures.flatMap((each) => (each.unread && each.imageId !== undefined ? [each.imageId] : []));
  return { ...failureFacts, fetched, ...(suspect && unread.length === failures.length ? { unread } : {}) };
}

const isNotStored = ({ answer }: { answer: UsableAnswer }): boolean =>
  answer.kind === 'failed' && answer.code === 'engine_storage_failed';

/**
 * Verifies the images that are on this machine and re-pulls the damaged ones. An image that no registry offers now
 * stays: a damaged image may still run, and there is no other to fall back to.
 */
export async function repullDamaged(release: Release, parts: FetchParts): Promise<void> {
  for (const [service, imageId] of Object.entries(release.imageIds)) {
    const condition = await checkImage(imageId, true, parts);
    if (condition === 'whole' || condition === 'unknown') continue;
    const image = ownValue(release.images, service) ?? imageId;
    const reference = ownValue(release.digests, service) ?? image;
    if (condition === 'damaged') {
      if (!(await isAvailable(service, reference, parts))) continue;
      await discard(imageId, parts);
    }
    parts.logger.event('image_healed', { service, image });
    await fetchUsable({ service, reference, imageId: null }, false, parts);
  }
  await parts.engine.sync();
}

/** Asks the registry for the image; if the agent cannot ask it, a trial pull shows whether the engine can. */
async function isAvailable(service: string, reference: string, parts: FetchParts): Promise<boolean> {
  const { kind } = await parts.engine.layers(reference, parts.signal);
  parts.alive();
  if (kind === 'unknown') return (await fetchOne({ service, reference, imageId: null }, parts)).kind !== 'failed';
  return kind === 'ok';
}

/** Removes an image and everything based on it; otherwise the next pull would reuse its damaged layers. */
async function discard(imageId: string, { engine }: FetchParts): Promise<void> {
  await engine.unpinImage(imageId);
  await engine.removeImage(imageId, { force: true });
}

/** @param through whether to verify all its bytes; pinning an image that is already pinned checks nothing. */
async function checkImage(imageId: string, through: boolean, parts: FetchParts): Promise<ImageCondition | 'absent'> {
  const pin = await parts.engine.pinImage(imageId);
  if (pin !== 'pinned') return pin === 'broken' ? 'damaged' : pin;
  if (!through) return 'whole';
  const condition = await verifyWhole(imageId, parts);
  // An engine that stops half-way looks like a damaged image. Check twice: a removed image may not be available again.
  return condition === 'damaged' ? verifyWhole(imageId, parts) : condition;
}

async function verifyWhole(imageId: string, { engine, signal, alive }: FetchParts): Promise<ImageCondition> {
  alive();
  const condition = await engine.verifyImage(imageId, signal);
  alive();
  return condition;
}

/** The result of one fetch; a failure may still leave an image on this machine. */
type UsableAnswer =
  | Extract<PullAnswer, { kind: 'ok' }>
  | (RegistryFailure & { imageId?: string; /** Its condition is unknown. */ unread?: true });

type WantedImage = {
  service: string;
  reference: string;
  /** Of an image that stays as installed: nothing is fetched while it is on this machine. Null: it must be fetched. */
  imageId: string | null;
};

async function fetchUsable(wanted: WantedImage, suspect: boolean, parts: FetchParts): Promise<UsableAnswer> {
  const { service, reference } = wanted;
  let imageId: string | null = null;
  for (const isLastTry of [false, true]) {
    const answer = await fetchOne(wanted, parts);
    if (answer.kind === 'failed') return answer;
    imageId = answer.kind === 'ok' ? answer.imageId : null;
    const condition = answer.kind === 'ok' ? await checkImage(answer.imageId, suspect, parts) : 'damaged';
    if (answer.kind === 'ok' && condition === 'whole') return answer;
    if (condition === 'unknown') {
      const reason = `there is not enough disk space to verify the image of "${service}"`;
      return { kind: 'failed', code: 'disk_space_low', reason, transient: false, unread: true, ...named(imageId) };
    }
    if (isLastTry) break;
    parts.logger.event('image_healed', { service, image: reference });
    // The registry has just offered it, so it can be fetched again.
    await discard(imageId ?? reference, parts);
  }
  const reason = `the image of "${service}" is unusable after two fetches`;
  return { kind: 'failed', code: 'engine_storage_failed', reason, transient: true, ...named(imageId) };
}

const named = (imageId: string | null): { imageId?: string } => (imageId === null ? {} : { imageId });

const reportEveryMs = 1000;

async function fetchOne({ service, reference, imageId }: WantedImage, parts: FetchParts): Promise<PullAnswer> {
  const { engine, logger, clock, signal, alive } = parts;
  if (imageId !== null && (await engine.imageId(imageId)) !== null) {
    return { kind: 'ok', imageId, digest: reference.includes('@') ? reference : null };
  }
  let reportedMs = -Infinity;
  const onProgress = (progress: PullProgress): void => {
    alive();
    parts.onProgress(service, progress);
    const nowMs = clock.monotonic();
    if (nowMs - reportedMs < reportEveryMs) return;
    reportedMs = nowMs;
    logger.event('docker_pull', { service, image: reference, ...progress });
  };
  const pull = (onPull: typeof onProgress, until: AbortSignal) => engine.pull(reference, onPull, until);
  const answer = await unlessSilent(pull, { clock, signal, onProgress });
  return answer === 'silent' ? registrySilent : answer;
}

/** Adds up the progress of several pulls, weighted by bytes. It never decreases, even when a pull starts again. */
export type ProgressMeter = {
  /** Expected bytes, if the registry listed them before. */
  expect(totalBytes: number | null): void;
  update(service: string, progress: PullProgress): void;
  read(): Progress;
};

export function createProgressMeter(): ProgressMeter {
  let expected: number | null = null;
  let furthest = 0;
  const services = new Map<string, PullProgress>();
  return {
    expect: (totalBytes) => {
      expected = totalBytes;
      furthest = 0;
      services.clear();
    },
    update: (service, progress) => {
      services.set(service, progress);
    },
    read: () => {
      const parts = [...services.values()];
      const sum = parts.reduce((bytes, part) => bytes + part.doneBytes, 0);
      const announced = parts.reduce<number | null>(
        (bytes, part) => (bytes === null || part.totalBytes === null ? null : bytes + part.totalBytes),
        0,
      );
      // Each pull counts a shared layer, but it is fetched only once: subtract the duplicates.
      const shared = expected === null || announced === null ? 0 : Math.max(0, announced - expected);
      const done = Math.max(sum - shared, ...parts.map((part) => part.doneBytes), 0);
      const totalBytes = expected ?? (parts.length === 0 ? null : announced);
      furthest = Math.max(furthest, totalBytes === null ? done : Math.min(done, totalBytes));
      const percent = totalBytes === null ? null : totalBytes === 0 ? 100 : Math.floor((100 * furthest) / totalBytes);
      return { doneBytes: furthest, totalBytes, percent };
    },
  };
}
