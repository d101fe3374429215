import { parseImageReference } from '@station/protocol/image-reference';
import type { PullAnswer } from '../../containers/ports.ts';

/** Compose's own time comes after it; layers that are complete by then stay, so the next try gets further. */
const fetchTimeoutMs = 4 * 60_000;

/**
 * Fetches what `docker compose up` could not: images of the private registry that no release names, as the proxy's. Compose knows nothing of the
 * agent's credentials, and they are not to be told to a program.
 * @param images as Compose resolves them.
 * @returns the first that could not be fetched; null: none.
 */
export async function fetchMissing(
  images: readonly string[],
  parts: {
    /** Whose credentials the agent has. */
    registry: string;
    imageId(reference: string): Promise<string | null>;
    pull(reference: string, signal: AbortSignal): Promise<PullAnswer>;
    signal: AbortSignal;
  },
): Promise<Extract<PullAnswer, { kind: 'failed' }> | null> {
  const { registry, signal } = parts;
  const timeout = AbortSignal.timeout(fetchTimeoutMs);
  // What the release pins is named by its id, which is no reference to fetch by.
  const own = images.filter((image) => parseImageReference(image)?.registry === registry);
  for (const image of own) {
    if ((await parts.imageId(image)) !== null) continue;
    try {
      const answer = await parts.pull(image, AbortSignal.any([signal, timeout]));
      if (answer.kind === 'failed') return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!timeout.aborted) throw error;
      const reason = `fetching ${image} did not come to an end`;
      return { kind: 'failed', code: 'registry_unavailable', reason, transient: true };
    }
  }
  return null;
}
