import { createHash } from 'node:crypto';

/** SHA-256 of a stream in hex. @throws the error of the stream. */
export async function hashFile(content: AsyncIterable<unknown>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
