import type { Clock } from '@station/kit/clock';
import type { Report } from '@station/kit/report';
import type { Release } from '@station/protocol/release';
import type { PullAnswer, PullProgress, RegistryFailure, StackEngine } from './ports.ts';

export type FetchParts = {
  engine: StackEngine;
  report: Report;
  clock: Clock;
  signal: AbortSignal;
  /** Called at each sign that the work goes on: when a pull makes progress, and between looks at images. */
  alive: () => void;
  onProgress: (service: string, progress: PullProgress) => void;
};

export type FetchAnswer =
  | { kind: 'ok'; imageIds: Record<string, string>; digests: Record<string, string> }
  | (RegistryFailure & { fetched: Record<string, string> });

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
    if (answer.kind !== 'ok') continue;
    imageIds[service] = answer.imageId;
    fetched[answer.imageId] = image;
    if (answer.digest !== null) digests[service] = answer.digest;
  }
  const failure = answers.map(({ answer }) => answer).find((answer) => answer.kind === 'failed');
  return failure ? { ...failure, fetched } : { kind: 'ok', imageIds, digests };
}

/** Looks through images that are on this machine already, and fetches the broken ones again. */
export async function healRelease(release: Release, parts: FetchParts): Promise<void> {
  for (const [service, imageId] of Object.entries(release.imageIds)) {
    if (!(await isDamaged(imageId, parts))) continue;
    const image = release.images[service] ?? imageId;
    parts.report.event('image_healed', { service, image });
    // What still stands on an image keeps its damaged layers, and the next pull would take them up again.
    await parts.engine.releaseHold(imageId);
    await parts.engine.removeImage(imageId, { force: true });
    await fetchUsable(service, release.digests[service] ?? image, false, parts);
  }
  await parts.engine.sync();
}

/** An image that is held already is not looked at by holding it. */
async function isDamaged(imageId: string, parts: FetchParts): Promise<boolean> {
  return (await parts.engine.hold(imageId)) !== 'held' || !(await isWhole(imageId, parts));
}

/** An engine that breaks off in the middle answers like a damaged image, and an image once removed may not be had again: read twice. */
const isWhole = async (imageId: string, parts: FetchParts): Promise<boolean> =>
  (await look(imageId, parts)) || (await look(imageId, parts));

async function look(imageId: string, { engine, signal, alive }: FetchParts): Promise<boolean> {
  alive();
  const whole = await engine.verifyImage(imageId, signal);
  alive();
  return whole;
}

async function fetchUsable(
  service: string,
  reference: string,
  suspect: boolean,
  parts: FetchParts,
): Promise<Exclude<PullAnswer, { kind: 'broken' }>> {
  const { engine, report } = parts;
  const first = await fetchOne(service, reference, parts);
  if (first.kind === 'failed') return first;
  if (first.kind === 'ok' && (await isUsable(first.imageId, suspect, parts))) return first;
  report.event('image_healed', { service, image: reference });
  if (first.kind === 'ok') await engine.releaseHold(first.imageId);
  await engine.removeImage(first.kind === 'ok' ? first.imageId : reference, { force: true });
  const second = await fetchOne(service, reference, parts);
  if (second.kind === 'failed') return second;
  if (second.kind === 'ok' && (await isUsable(second.imageId, suspect, parts))) return second;
  const reason = `the image of "${service}" cannot be used after it was fetched twice`;
  return { kind: 'failed', code: 'engine_failed', reason, transient: true };
}

async function isUsable(imageId: string, suspect: boolean, parts: FetchParts): Promise<boolean> {
  if ((await parts.engine.hold(imageId)) !== 'held') return false;
  return !suspect || isWhole(imageId, parts);
}

const reportEveryMs = 1000;
/** A pull that makes no progress for so long is broken off: its connection is dead, and nobody says so. */
const stalledAfterMs = 5 * 60_000;
const lookEveryMs = 30_000;

async function fetchOne(service: string, reference: string, parts: FetchParts): Promise<PullAnswer> {
  const { engine, report, clock, signal, alive, onProgress } = parts;
  const stalled = new AbortController();
  const ended = new AbortController();
  let reportedMs = -Infinity;
  let progressMs = clock.monotonic();
  const watchProgress = async (): Promise<void> => {
    while (clock.monotonic() - progressMs < stalledAfterMs) await clock.sleep(lookEveryMs, ended.signal);
    stalled.abort();
  };
  const watching = watchProgress().catch(() => undefined);
  try {
    return await engine.pull(
      reference,
      (progress) => {
        alive();
        onProgress(service, progress);
        progressMs = clock.monotonic();
        if (progressMs - reportedMs < reportEveryMs) return;
        reportedMs = progressMs;
        report.event('docker_pull', { service, image: reference, ...progress });
      },
      AbortSignal.any([signal, stalled.signal]),
    );
  } catch (error) {
    if (!stalled.signal.aborted || signal.aborted) throw error;
    return { kind: 'failed', code: 'registry_unavailable', reason: 'the registry fell silent', transient: true };
  } finally {
    ended.abort();
    await watching;
  }
}
