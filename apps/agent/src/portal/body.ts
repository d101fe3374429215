import type { IncomingMessage } from 'node:http';

/** What is read and thrown away of a body that is too large, so that the sender gets to read the answer. */
const mostBytesDiscarded = 1_048_576;

/**
 * A request's body; null when it has more than `limit` bytes.
 * @throws when the sender goes away or falls silent before the end (the server's time limits end its connection).
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else if (size > mostBytesDiscarded) return null;
  }
  return size > limit ? null : Buffer.concat(chunks);
}
