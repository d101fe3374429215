import type { Clock } from '@station/kit/clock';
import { parseImageReference } from '@station/protocol/image-reference';
import { unlessSilent } from '../../../core/unless-silent.ts';
import { type PullAnswer, type PullProgress, registrySilent } from '../../stack-ports.ts';
import type { Compose } from './compose.ts';

export type Failure = Extract<PullAnswer, { kind: 'failed' }>;

/** The reference of an image that can be fetched by name; without a tag `latest`, as in Docker. Pinned images have ids. */
const referenceOf = (image: string) =>
  image.startsWith('sha256:') ? null : (parseImageReference(image) ?? parseImageReference(`${image}:latest`));

/** What the project names; images of the installed release have ids. */
export const namedImages = async (compose: Compose, signal: AbortSignal): Promise<string[]> =>
  (await compose.describe(signal)).images.filter((image) => referenceOf(image) !== null);

type MissingImagesParts = {
  /** Whose credentials the agent has. */
  registry: string;
  imageId(reference: string): Promise<string | null>;
  pull(reference: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<PullAnswer>;
  /** Removes an image and its stopped containers of this project. */
  removeImage(reference: string): Promise<unknown>;
  clock: Clock;
  /** Called at each sign of progress: on a slow connection the work takes long. */
  alive: () => void;
  signal: AbortSignal;
};

/**
 * Fetches what `docker compose up` cannot: images of the private registry outside any release, such as the proxy's. Compose does not have
 * the agent's credentials, and a program must not get them.
 * @param images as Compose resolves them.
 * @returns the first that could not be fetched; null: none.
 */
export async function fetchMissing(images: readonly string[], parts: MissingImagesParts): Promise<Failure | null> {
  for (const image of images) {
    const reference = referenceOf(image);
    if (reference?.registry !== parts.registry) continue;
    if ((await parts.imageId(reference.text)) !== null) continue;
    const failure = await fetchUsable(reference.text, parts);
    if (failure) return failure;
  }
  return null;
}

/** Re-pulls a damaged image: it is removed first, or the pull would reuse its layers. The registry has just offered it. */
async function fetchUsable(reference: string, parts: MissingImagesParts): Promise<Failure | null> {
  for (const isLastTry of [false, true]) {
    parts.alive();
    const watched = await unlessSilent<PullProgress, PullAnswer>(
      (onProgress, signal) => parts.pull(reference, onProgress, signal),
      { ...parts, onProgress: parts.alive },
    );
    const answer = watched === 'silent' ? registrySilent : watched;
    if (answer.kind !== 'broken') return answer.kind === 'failed' ? answer : null;
    if (!isLastTry) await parts.removeImage(reference);
  }
  const reason = `${reference} is unusable after two fetches`;
  return { kind: 'failed', code: 'engine_failed', reason, transient: true };
}
