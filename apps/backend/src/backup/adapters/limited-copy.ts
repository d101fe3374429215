import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { withoutSilence } from './limited-fetch.ts';

/** The content has another size than was said. */
class WrongSizeError extends Error {}

/** Passes a stream on whose size is known. It fails when there is more, or less, and ends it with itself. */
export function exactly(content: Readable, bytes: number): Readable {
  async function* counted(): AsyncGenerator<Buffer> {
    let done = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      done += chunk.length;
      if (done > bytes) throw new WrongSizeError('There is more than was said');
      yield chunk;
    }
    if (done < bytes) throw new WrongSizeError('There is less than was said');
  }
  const passed = Readable.from(counted(), { objectMode: false });
  // A generator that was never begun does not end what it reads.
  passed.once('close', () => content.destroy());
  return passed;
}

const silenceMs = 90_000;

/**
 * Writes a stream to a file that only its owner may read. The file has its name once it is complete; else nothing of it stays.
 * @throws WrongSizeError, the signal's reason, or the error of either side; also when nothing comes for 90 s.
 */
export async function copyExactly(
  content: Readable,
  to: string,
  { bytes, signal }: { bytes: number; signal: AbortSignal },
): Promise<void> {
  const temporary = `${to}.part`;
  const stop = (): void => void content.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    await rm(temporary, { force: true });
    await using file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    for await (const chunk of withoutSilence(exactly(content, bytes), silenceMs)) await file.writeFile(chunk as Buffer);
    await rename(temporary, to);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    content.destroy();
  }
}
