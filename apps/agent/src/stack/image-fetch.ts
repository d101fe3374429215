import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { Progress } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import { unlessSilent } from '../core/unless-silent.ts';
import {
  registrySilent,
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
  /** Called at each sign of progress. */
  alive: () => void;
  onProgress: (service: string, progress: PullProgress) => void;
  /** Ids of images that failed tries of any release have left, and that no release needs. */
  spare: readonly string[];
};

type FetchAnswer =
  | {
      kind: 'ok';
      imageIds: Record<string, string>;
      digests: Record<string, string>;
      /** True when an image of it is damaged: the engine cannot even make a container of it. */
      isDoubtful: boolean;
    }
  | (RegistryFailure & {
      fetched: Record<string, string>;
      /** Ids of images that the engine cannot use for lack of space, when nothing else failed. */
      unread?: readonly string[];
    });

/** Fetches all images of a release in parallel, pins each against pruning and makes them durable. */
export async function fetchRelease(release: Release, parts: FetchParts): Promise<FetchAnswer> {
  const { engine, spare, signal } = parts;
  const fetchImage = async ([service, image]: [string, string]) => {
    const reference = ownValue(release.digests, service) ?? image;
    const wanted = { service, reference, imageId: ownValue(release.imageIds, service) ?? null };
    return { service, image, answer: await fetchUsable(wanted, parts) };
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
  const isDoubtful = answers.some(({ answer }) => answer.kind === 'ok' && answer.isDoubtful);
  const failures = answers.map(({ answer }) => answer).filter((answer) => answer.kind === 'failed');
  const [failure] = failures;
  if (!failure) return { kind: 'ok', imageIds, digests, isDoubtful };
  const { imageId: _, unread: __, ...failureFacts } = failure;
  const unread = failures.flatMap((each) => (each.unread && each.imageId !== undefined ? [each.imageId] : []));
  return { ...failureFacts, fetched, ...(unread.length === failures.length ? { unread } : {}) };
}

const isNotStored = ({ answer }: { answer: UsableAnswer }): boolean =>
  answer.kind === 'failed' && answer.code === 'engine_storage_failed';

type WantedImage = {
  service: string;
  reference: string;
  /** Of an image that stays as installed: nothing is fetched while it is on this machine. Null: it must be fetched. */
  imageId: string | null;
};

/** `isDoubtful`: the engine cannot use it as it is. */
type UsableAnswer =
  | (Extract<PullAnswer, { kind: 'ok' }> & { isDoubtful: boolean })
  /** A failure may still leave an image on this machine. */
  | (RegistryFailure & { imageId?: string; /** The engine lacks the space to use it. */ unread?: true });

async function fetchUsable(wanted: WantedImage, parts: FetchParts): Promise<UsableAnswer> {
  const { service, reference } = wanted;
  for (const isLastTry of [false, true]) {
    const answer = await fetchOne(wanted, parts);
    if (answer.kind === 'failed') return answer;
    if (answer.kind === 'ok') {
      if (isLastTry) parts.logger.event('image_healed', { image: reference, from: 'registry' });
      const { imageId } = answer;
      const pin = await parts.engine.pinImage(imageId);
      if (pin === 'pinned' || pin === 'broken') return { ...answer, isDoubtful: pin === 'broken' };
      if (pin === 'unknown') {
        const reason = `there is not enough disk space to use the image of "${service}"`;
        return { kind: 'failed', code: 'disk_space_low', reason, transient: false, unread: true, imageId };
      }
    }
    // It cannot even be inspected, so it has no id. The registry has just offered it.
    if (isLastTry) break;
    parts.logger.event('images_damaged', { images: [reference] });
    await parts.engine.removeImage(reference, { force: true });
  }
  const reason = `the image of "${service}" is unusable after two fetches`;
  return { kind: 'failed', code: 'engine_storage_failed', reason, transient: true };
}

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
