import type { Clock } from '@station/kit/clock';
import { parseImageReference } from '@station/protocol/image-reference';
import { unlessSilent } from '../../core/unless-silent.ts';
import { registrySilent, type PullAnswer, type PullProgress } from '../../stack/ports.ts';

type Failure = Extract<PullAnswer, { kind: 'failed' }>;

export type MissingImagesParts = {
  /** Whose credentials the agent has. */
  registry: string;
  imageId(reference: string): Promise<string | null>;
  pull(reference: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<PullAnswer>;
  /** With all that only this project has standing on it, and runs not. */
  removeImage(reference: string): Promise<unknown>;
  clock: Clock;
  /** Called at each sign that the work goes on: on a slow line it takes long. */
  alive: () => void;
  signal: AbortSignal;
};

/**
 * Fetches what `docker compose up` could not: images of the private registry that no release names, as the proxy's. Compose knows nothing of the
 * agent's credentials, and they are not to be told to a program.
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

/** Of what can be fetched by its name; without a tag it is the newest, as for Docker. What a release pins is named by its id. */
const referenceOf = (image: string) =>
  image.startsWith('sha256:') ? null : (parseImageReference(image) ?? parseImageReference(`${image}:latest`));

/** One that a power cut broke would be taken up again as it is: it is removed first. The registry has just answered for it. */
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
  const reason = `${reference} cannot be used after it was fetched twice`;
  return { kind: 'failed', code: 'engine_failed', reason, transient: true };
}
