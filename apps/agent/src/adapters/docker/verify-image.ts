import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ImageCondition } from '../../stack/ports.ts';
import type { EngineApi } from './engine-api.ts';

const ImageSize = Type.Object({ Size: Type.Number() });

/** Archives are a little larger than the files in them (tar rounds each up and gives it a header). */
const archivePerByte = 1.25;
/** What stays free for everything else on the disk while an image is read through. */
const reserveBytes = 32 * 1024 * 1024;

export type VerifierParts = {
  api: Pick<EngineApi, 'call' | 'drain'>;
  /** Bytes free where the engine keeps its data; null when unknown. */
  freeBytes: () => Promise<number | null>;
};

/**
 * Reads images through by having the engine hand them out (Engine API, ImageGet): it checks each layer against its digest, and
 * refuses or breaks off when one is wrong. It first writes the whole image to its own folder, unpacked, so that a lack of room looks
 * like damage: an image for which there is no room is not read, and nothing is known of it. One at a time, for the same reason.
 */
export function createImageVerifier({ api, freeBytes }: VerifierParts) {
  let last: Promise<unknown> = Promise.resolve();

  const hasRoom = async (path: string): Promise<boolean> => {
    const { body } = await api.call('GET', `${path}/json`);
    // One that is too damaged to be described has no size.
    const size = Value.Check(ImageSize, body) ? body.Size : 0;
    const free = await freeBytes();
    return free === null || free >= size * archivePerByte + reserveBytes;
  };

  const verify = async (imageId: string, signal: AbortSignal): Promise<ImageCondition> => {
    signal.throwIfAborted();
    const path = `/images/${encodeURIComponent(imageId)}`;
    if (!(await hasRoom(path))) return 'unknown';
    const { status, complete } = await api.drain('GET', `${path}/get`, { signal });
    if (status === 200 && complete) return 'whole';
    // Somebody else may have taken the room meanwhile.
    return (await hasRoom(path)) ? 'damaged' : 'unknown';
  };

  return (imageId: string, signal: AbortSignal): Promise<ImageCondition> => {
    const turn = last.then(() => verify(imageId, signal));
    last = turn.catch(() => undefined);
    return turn;
  };
}
