import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { Progress } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
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
  /** Called at each sign that the work goes on: when a pull makes progress, and between looks at images. */
  alive: () => void;
  onProgress: (service: string, progress: PullProgress) => void;
};

type FetchAnswer =
  | { kind: 'ok'; imageIds: Record<string, string>; digests: Record<string, string> }
  | (RegistryFailure & {
      fetched: Record<string, string>;
      /** Ids of suspect images that there is no room to read through, where nothing else stands in the way of the release. */
      unread?: readonly string[];
    });

/**
 * Fetches all images of a release side by side, pins each against pruning and makes them durable. A pin is also the proof
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
export async function repullDamaged(release: Release, parts: FetchParts): Promise<void> {
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
  await engine.unpinImage(imageId);
  await engine.removeImage(imageId, { force: true });
}

/** @param through whether it is read through; an image that has its pin already is not looked at by pinning it. */
async function look(imageId: string, through: boolean, parts: FetchParts): Promise<ImageCondition | 'absent'> {
  const pin = await parts.engine.pinImage(imageId);
  if (pin !== 'pinned') return pin === 'broken' ? 'damaged' : pin;
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
  const answer = await unlessSilent(pull, { clock, signal, onProgress });
  return answer === 'silent' ? registrySilent : answer;
}

/** Adds up the progress of several pulls, weighted by bytes. It never goes back, also when one of them starts over. */
export type ProgressMeter = {
  /** Expected bytes, when the registry told them before. */
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
      const told = parts.reduce<number | null>(
        (bytes, part) => (bytes === null || part.totalBytes === null ? null : bytes + part.totalBytes),
        0,
      );
      // A layer that images share is expected once, and each of their pulls counts it: as much is not to be fetched at all.
      const shared = expected === null || told === null ? 0 : Math.max(0, told - expected);
      const done = Math.max(sum - shared, ...parts.map((part) => part.doneBytes), 0);
      const totalBytes = expected ?? (parts.length === 0 ? null : told);
      furthest = Math.max(furthest, totalBytes === null ? done : Math.min(done, totalBytes));
      const percent = totalBytes === null ? null : totalBytes === 0 ? 100 : Math.floor((100 * furthest) / totalBytes);
      return { doneBytes: furthest, totalBytes, percent };
    },
  };
}
